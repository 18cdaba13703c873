"""csv and jsonl files to a spool of columns, in one scan and in memory that no file makes larger.

Rows are taken in pieces. Of each piece the spool holds the numbers of every column, and where each
row lies in its file; what a column is over all pieces is a JSON value. Needs no NumPy.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Sequence
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

from ..diagnostics import Problem, problem
from ..records import NamedTuple
from .columns import TEXT

AT, SIZE = "%at", "%size"
"""Columns of the spool: where a row lies in all files, one after the other, and its bytes."""

_CODES = {"bool": "b", "whole": "q", "float": "d"}
_SHAPE = tuple[int, ...]


class Piece(NamedTuple):
    """Rows of one file: values by column, the line where each ends, its place and bytes.

    `cells`: values are what is written in cells, and numbers where they read as such."""

    path: Path
    cells: bool
    columns: dict[str, list[Any]]
    lines: Sequence[int]
    places: Sequence[int]
    sizes: Sequence[int]


class Column:
    """What a column is, by the pieces so far. `kind`: bool, whole, float, or text for good."""

    def __init__(self, name: str) -> None:
        self.name, self.kind = name, ""
        self.shape: _SHAPE = ()
        self.gap: tuple[Path, int] | None = None  # the first line without a value
        self.first: tuple[int, _SHAPE] | None = None  # the row that gave the shape
        self.least = self.most = 0
        self.wrong: Problem | None = None  # of its shape, if it is no text in the end

    def said(self) -> list[Any]:
        """Name, dtype and shape. Raises what was wrong with a column of numbers."""
        if self.kind != TEXT and self.wrong is not None:
            raise self.wrong
        if self.kind in ("", TEXT):
            return [self.name, TEXT, []]
        return [self.name, self._dtype(), list(self.shape)]

    def _dtype(self) -> str:
        if self.kind == "float" or self.gap is not None:
            return "f32"
        if self.kind == "bool":
            return "bool"
        return "i32" if self.least >= -(2**31) and self.most < 2**31 else "i64"

    def take(self, values: Sequence[Any], count: int, piece: Piece) -> array[Any] | None:
        """The numbers of a piece that `count` rows came before, NaN where there is none."""
        if self.kind == TEXT and self.gap is not None:
            return None
        if piece.cells:
            read = _numbers(values) if self.kind != TEXT else None
            if read is not None:
                self._shaped((), count)
                return self._noted(*read)
            values = [_cell(v) for v in values]
        there = [v for v in values if v is not None]
        if len(there) < len(values) and self.gap is None:
            self.gap = piece.path, piece.lines[values.index(None)]
        if not there or self.kind == TEXT:
            return None
        if any(v.__class__ in (str, dict) for v in there):
            self.kind = TEXT
            return None
        return self._leaves(values, count)

    def _shaped(self, shape: _SHAPE, row: int) -> bool:
        """Whether a row has the shape of the first; the first other one is remembered."""
        if self.first is None:
            self.first, self.shape = (row, shape), shape
        if shape == self.shape:
            return True
        told = (
            f"{self.name} has {list(self.shape)} numbers in row {self.first[0] + 1:,} and "
            f"{list(shape)} in row {row + 1:,}"
        )
        self._fails(told, row)
        return False

    def _fails(self, told: str, row: int) -> None:
        if self.wrong is None:
            hint = "every row wants one shape: pad the lists"
            self.wrong = problem("E-DATA-TYPE", told, hint=hint, field=self.name, row=row + 1)

    def _leaves(self, values: Sequence[Any], count: int) -> array[Any] | None:
        first = next(v for v in values if v is not None)
        shape = self.shape if self.first is not None else shape_of(first)
        flat: list[Any] = []
        width = prod(shape)
        for at, value in enumerate(values):
            before = len(flat)
            if value is None:
                flat += [None] * width
            elif not self._shaped(shape_of(value), count + at):
                self._text_instead(value)
                return None
            else:
                _flatten(value, flat)
                if len(flat) - before != width or not _regular(value, shape):
                    self._fails(f"{self.name} is ragged in row {count + at + 1:,}", count + at)
                    self._text_instead(value)
                    return None
        kinds = set(map(type, flat)) - {type(None)}
        if str in kinds or not kinds:
            self.kind = TEXT
            return None
        gaps = len(flat) and None in flat
        if gaps or float in kinds:
            nan = float("nan")
            return self._noted("float", array("d", [nan if v is None else v for v in flat]))
        return self._whole(flat, "bool" if kinds == {bool} else "whole")

    def _text_instead(self, value: Any) -> None:
        """Lists of texts may be of any length."""
        flat: list[Any] = []
        _flatten(value, flat)
        if any(v.__class__ in (str, dict) for v in flat):
            self.kind = TEXT

    def _whole(self, flat: Sequence[int], kind: str) -> array[Any]:
        try:
            return self._noted(kind, array(_CODES[kind], flat))
        except OverflowError:
            return self._noted("float", array("d", flat))

    def _noted(self, kind: str, found: array[Any]) -> array[Any]:
        order = ("", "bool", "whole", "float")
        self.kind = max(self.kind, kind, key=order.index)
        if kind == "whole":
            self.least, self.most = min(self.least, min(found)), max(self.most, max(found))
        return found


def _numbers(cells: Sequence[str]) -> tuple[str, array[Any]] | None:
    """All cells of csv as numbers, where each is one."""
    for kind, make in (("whole", int), ("float", float)):
        try:
            return kind, array(_CODES[kind], map(make, cells))
        except (ValueError, OverflowError):
            continue
    return None


def _cell(text: str) -> Any:
    """A number where it is one, None where there is nothing, else the text."""
    for make in (int, float):
        try:
            return make(text)
        except ValueError:
            continue
    return text if text.strip() else None


def shape_of(value: Any) -> _SHAPE:
    """The shape of nested lists, by their first elements."""
    shape = []
    while isinstance(value, list):
        shape.append(len(value))
        value = value[0] if value else None
    return tuple(shape)


def _flatten(value: Any, into: list[Any]) -> None:
    if value.__class__ is not list:
        into.append(value)
        return
    for part in value:
        _flatten(part, into)


def _regular(value: Any, shape: _SHAPE) -> bool:
    """Whether every list of every depth is as long as the first."""
    if len(shape) <= 1:
        return not shape or not any(v.__class__ is list for v in value)
    return all(v.__class__ is list and len(v) == shape[1] and _regular(v, shape[1:]) for v in value)


# The scan -------------------------------------------------------------------------------------


def scan(pieces: Iterable[Piece], into: BinaryIO) -> dict[str, Any]:
    """Columns, gaps, columns that have no value at all, and the number of rows; `into`: the spool,
    its directory last."""
    known: dict[str, Column] = {}
    first: tuple[Path, int] | None = None
    directory: list[list[Any]] = []
    count = 0
    for piece in pieces:
        rows, laid = len(piece.lines), {}
        for name, values in piece.columns.items():
            if name not in known:
                known[name] = Column(name)
                known[name].gap = first
            numbers = known[name].take(values, count, piece)
            if numbers is not None:
                laid[name] = _laid(numbers, into)
        for name, column in known.items():
            if name not in piece.columns and column.gap is None:
                column.gap = piece.path, piece.lines[0]
        for name, places in ((AT, piece.places), (SIZE, piece.sizes)):
            laid[name] = _laid(array("q", places), into)
        directory.append([rows, laid])
        count += rows
        first = first or (piece.path, piece.lines[0])
    end = into.tell()
    into.write(json.dumps(directory).encode())
    into.write(end.to_bytes(8, "little"))
    gaps = {name: column.gap for name, column in known.items() if column.gap is not None}
    empty = [name for name, column in known.items() if not column.kind]
    columns = [column.said() for column in known.values()]
    return {"count": count, "columns": columns, "gaps": gaps, "empty": empty}


def _laid(numbers: array[Any], into: BinaryIO) -> list[Any]:
    at = into.tell()
    into.write(memoryview(numbers))
    return [numbers.typecode, at, len(numbers)]


def directory(spool: BinaryIO) -> list[list[Any]]:
    """Of each piece its rows, and type, place and count of each column of it."""
    end = spool.seek(-8, 2)
    start = int.from_bytes(spool.read(8), "little")
    spool.seek(start)
    found: list[list[Any]] = json.loads(spool.read(end - start))
    return found
