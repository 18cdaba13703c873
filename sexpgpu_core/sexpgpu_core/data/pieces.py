"""The rows of csv and jsonl files in pieces, with the line and the bytes that each row is of."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO

from ..diagnostics import problem
from ..experiment.protocols import Options
from .scanning import Piece

PIECE = 8192
"""Rows that are in memory together."""


Open = Callable[[Path], AbstractContextManager[BinaryIO]]


def pieces(kind: str, paths: Sequence[Path], options: Options, opened: Open) -> Iterator[Piece]:
    """Rows of files of a kind (csv, jsonl), file by file."""
    start = 0
    for path in paths:
        with opened(path) as file:
            lines = Lines(file, start)
            yield from _csv(path, lines, options) if kind == "csv" else _json(path, lines)
            start = lines.at


def head(kind: str, path: Path, options: Options, size: int) -> Iterator[Piece]:
    """The whole rows within the first bytes of a file."""
    with open(path, "rb") as file:
        lines = Lines(file, 0, size)
        yield from _csv(path, lines, options) if kind == "csv" else _json(path, lines)


def one(kind: str, text: str, column: str, names: Sequence[str], options: Options) -> str:
    """A cell, or the value of a key, in the text of one row, as it is written there."""
    if kind == "csv":
        return str(next(_reader([text], options))[names.index(column)])
    value = json.loads(text).get(column)
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


class Lines:
    """Lines of a file as text; `at`: the end of the last one, from the begin of all files.

    `most`: bytes after which there is no further line; it is `cut` then, and a row that goes on is
    not whole."""

    def __init__(self, file: BinaryIO, start: int, most: int | None = None) -> None:
        self._file, self.at, self._start = file, start, start
        self._most, self.cut = most, False

    def __iter__(self) -> Iterator[str]:
        for number, line in enumerate(self._file):
            if self._most is not None and number > 1 and self.at >= self._most:
                self.cut = True
                return
            text = line.decode("utf-8", errors="replace")
            first, self.at = self.at == self._start, self.at + len(line)
            yield text.removeprefix("\ufeff") if first else text


class _Rows:
    """Rows of one file until they are a piece."""

    def __init__(self, path: Path, cells: bool) -> None:
        self.path, self.cells = path, cells
        self.rows: list[Any] = []
        self.lines: list[int] = []
        self.places: list[int] = []
        self.sizes: list[int] = []

    def add(self, row: Any, line: int, place: int, end: int) -> bool:
        """Whether they are a piece now."""
        self.rows.append(row)
        self.lines.append(line)
        self.places.append(place)
        self.sizes.append(end - place)
        return len(self.rows) == PIECE

    def piece(self, columns: dict[str, list[Any]]) -> Piece:
        made = Piece(self.path, self.cells, columns, self.lines, self.places, self.sizes)
        self.__init__(self.path, self.cells)  # type: ignore[misc]
        return made


def _reader(lines: Iterable[str], options: Options) -> Any:
    """Raises E-OPTION-VALUE of a separator that ends cells or lines otherwise."""
    separator = options.get("separator") or ","
    if separator in '"\r\n':
        told = f":separator of csv is {separator!r}, which quotes or ends what it would part"
        raise problem("E-OPTION-VALUE", told, option="separator")
    return csv.reader(lines, delimiter=separator)


def _csv(path: Path, lines: Lines, options: Options) -> Iterator[Piece]:
    """Every row has as many cells as the first."""
    reader = _reader(_ended(lines), options)
    names: list[str] | None = None
    held, end = _Rows(path, True), lines.at
    for cells in _whole(path, reader):
        if lines.cut:
            break
        place, end = end, lines.at
        if not cells:
            continue
        if names is None:
            named = options.get("header", True) not in (None, False)
            names = _names(path, cells) if named else [str(i) for i in range(len(cells))]
            if named:
                continue
        if len(cells) != len(names):
            told = f"{path.name}:{reader.line_num} has {len(cells)} cells, not {len(names)}"
            raise problem("E-DATA-FORMAT", told, file_read=path.name, row=reader.line_num)
        if held.add(cells, reader.line_num, place, end):
            yield held.piece(_across(names, held.rows))
    if held.rows and names is not None:
        yield held.piece(_across(names, held.rows))


_END = "\x04"
"""A line behind the last: a row that holds it began with a quote that nothing closes."""


def _ended(lines: Lines) -> Iterator[str]:
    yield from lines
    if not lines.cut:
        yield _END


def _rows_of(path: Path, reader: Any) -> Iterator[list[str]]:
    before = 0
    for cells in reader:
        if cells == [_END]:
            return
        if cells and cells[-1].endswith(_END):
            told = f"{path.name}:{before + 1} opens a quote that the file does not close"
            raise problem("E-DATA-FORMAT", told, file_read=path.name, row=before + 1)
        before = reader.line_num
        yield cells


def _whole(path: Path, reader: Any) -> Iterator[list[str]]:
    try:
        yield from _rows_of(path, reader)
    except csv.Error as wrong:
        told = f"{path.name}:{reader.line_num} is no csv: {wrong}"
        raise problem("E-DATA-FORMAT", told, file_read=path.name, row=reader.line_num) from wrong


def _names(path: Path, cells: list[str]) -> list[str]:
    for at, name in enumerate(cells):
        if name in cells[:at]:
            told = f"{path.name} has two columns {name}"
            hint = "name them apart, or say :header nil and take columns by number"
            raise problem("E-DATA-FORMAT", told, hint=hint, file_read=path.name)
    return cells


def _across(names: Sequence[str], rows: Iterable[Sequence[str]]) -> dict[str, list[Any]]:
    return {name: list(column) for name, column in zip(names, zip(*rows))}


def _json(path: Path, lines: Lines) -> Iterator[Piece]:
    held, end = _Rows(path, False), lines.at
    for number, line in enumerate(lines, 1):
        place, end = end, lines.at
        if not line.strip():
            continue
        if held.add(_object(path, number, line), number, place, end):
            yield held.piece(_keyed(held.rows))
    if held.rows:
        yield held.piece(_keyed(held.rows))


def _object(path: Path, number: int, line: str) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as wrong:
        told = f"{path.name}:{number} is no JSON: {wrong}"
        raise problem("E-DATA-FORMAT", told, file_read=path.name, row=number) from wrong
    if not isinstance(found, dict):
        told = f"{path.name}:{number} is no object"
        raise problem("E-DATA-FORMAT", told, file_read=path.name, row=number)
    return found


def _keyed(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}
