"""csv and jsonl to tables. One scan finds columns, types, gaps and rows; the cache keeps them.

A column of whole numbers is i32, of other numbers f32; lists of one length are arrays; what is no
number is text, for `:hash` and `map`. Law: a value that does not fit is told with file and line.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..diagnostics import Problem, problem
from ..experiment.protocols import Header, Options
from . import files, index
from .columns import TEXT

if TYPE_CHECKING:
    import numpy as np

Row = tuple[Path, int, Mapping[str, Any]]
"""A file, a line of it, and the values by column; a value that is not there is None."""


def csv_header(options: Options) -> Header:
    """Columns of `(csv PATH ... [:header nil] [:separator ","])`, by name or number."""
    return _header("csv", options)


def jsonl_header(options: Options) -> Header:
    """Keys of the objects of `(jsonl PATH ...)`."""
    return _header("jsonl", options)


def _header(kind: str, options: Options) -> Header:
    paths = _paths(kind, options)
    given = (kind, index.stamp(paths), options.get("separator"), options.get("header"))
    found = index.facts("rows", given, lambda: _facts(_scan(kind, paths, options)))
    fields = {name: (dtype, tuple(shape)) for name, dtype, shape in found["columns"]}
    return {"count": found["count"], "fields": fields, "gaps": found["gaps"], "paths": paths}


def _paths(kind: str, options: Options) -> tuple[Path, ...]:
    if not options["arguments"]:
        raise problem("E-OPTION", f"({kind} ...) needs a path", kind=kind)
    return tuple(files.paths_of(options["arguments"], options["base"]))


class Scan:
    """Values by column as they are read, and where a column first lacks one."""

    def __init__(self) -> None:
        self.values: dict[str, list[Any]] = {}
        self.gaps: dict[str, str] = {}
        self.count = 0

    def add(self, row: Row) -> None:
        path, line, values = row
        for name, value in values.items():
            if name not in self.values:
                self.values[name] = [None] * self.count
                if self.count:
                    self.gaps[name] = "an earlier line"
            self.values[name].append(value)
        for name, column in self.values.items():
            if len(column) == self.count:
                column.append(None)
            if column[-1] is None and name not in self.gaps:
                self.gaps[name] = f"{path.name}:{line}"
        self.count += 1


def _scan(kind: str, paths: Sequence[Path], options: Options) -> Scan:
    found = Scan()
    for path in paths:
        read = _csv_rows(path, options) if kind == "csv" else _json_rows(path)
        for row in read:
            found.add(row)
    if not found.count:
        raise problem("E-DATA-SMALL", f"{paths[0].name} has no rows", file_read=paths[0].name)
    return found


def _csv_rows(path: Path, options: Options) -> Iterator[Row]:
    separator = options.get("separator") or ","
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        reader = csv.reader(file, delimiter=separator)
        names: list[str] | None = None
        for cells in reader:
            if not cells:
                continue
            if names is None:
                named = options.get("header", True) not in (None, False)
                names = cells if named else [str(i) for i in range(len(cells))]
                if named:
                    continue
            if len(cells) != len(names):
                told = f"{path.name}:{reader.line_num} has {len(cells)} cells, not {len(names)}"
                raise problem("E-DATA-FORMAT", told, file_read=path.name, row=reader.line_num)
            yield path, reader.line_num, {n: _cell(c) for n, c in zip(names, cells)}


def _cell(text: str) -> Any:
    """A number where it is one, None where there is nothing, else the text."""
    for make in (int, float):
        try:
            return make(text)
        except ValueError:
            continue
    return text if text.strip() else None


def _json_rows(path: Path) -> Iterator[Row]:
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                found = json.loads(line)
            except ValueError as wrong:
                told = f"{path.name}:{number} is no JSON: {wrong}"
                raise problem("E-DATA-FORMAT", told, file_read=path.name, row=number) from wrong
            if not isinstance(found, dict):
                told = f"{path.name}:{number} is no object"
                raise problem("E-DATA-FORMAT", told, file_read=path.name, row=number)
            yield path, number, found


def _facts(scan: Scan) -> dict[str, Any]:
    columns = []
    for name, values in scan.values.items():
        dtype, shape = column_type(name, values, name in scan.gaps)
        columns.append([name, dtype, list(shape)])
    return {"count": scan.count, "columns": columns, "gaps": scan.gaps}


def column_type(name: str, values: Sequence[Any], gaps: bool) -> tuple[str, tuple[int, ...]]:
    """The dtype and shape of a column's values."""
    there = [value for value in values if value is not None]
    if any(isinstance(value, (str, dict)) for value in there):
        return TEXT, ()
    shapes = {shape_of(value) for value in there}
    if len(shapes) > 1:
        first = shape_of(there[0])
        at = next(i for i, v in enumerate(values) if v is not None and shape_of(v) != first)
        raise problem(
            "E-DATA-TYPE",
            f"{name} has {list(first)} numbers in the first row and "
            f"{list(shape_of(values[at]))} in row {at + 1:,}",
            hint="every row wants one shape: pad the lists",
            field=name,
            row=at + 1,
        )
    flat = [leaf for value in there for leaf in _leaves(value)]
    if not flat or any(isinstance(leaf, str) for leaf in flat):
        return TEXT, ()
    if all(isinstance(leaf, bool) for leaf in flat) and not gaps:
        return "bool", shapes.pop()
    whole = all(isinstance(leaf, int) for leaf in flat) and not gaps
    widest = max(max(flat), -1 - min(flat)) if whole else 0
    dtype = "f32" if not whole or widest >= 2**63 else "i32" if widest < 2**31 else "i64"
    return dtype, shapes.pop()


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of nested lists, by their first elements."""
    shape = []
    while isinstance(value, list):
        shape.append(len(value))
        value = value[0] if value else None
    return tuple(shape)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for part in value:
            yield from _leaves(part)
    else:
        yield value


class TextTable:
    """Columns in memory: arrays of numbers, lists of texts."""

    def __init__(self, kind: str, options: Options) -> None:
        scan = _scan(kind, _paths(kind, options), options)
        self._count = scan.count
        self._texts: dict[str, list[str]] = {}
        self.arrays: dict[str, np.ndarray] = {}
        for name, values in scan.values.items():
            dtype, shape = column_type(name, values, name in scan.gaps)
            if dtype == TEXT:
                self._texts[name] = ["" if v is None else _text(v) for v in values]
            else:
                self.arrays[name] = _array(name, values, dtype, shape)

    def __len__(self) -> int:
        return self._count

    def read(self, indices: Any, out: Mapping[str, np.ndarray]) -> None:
        for name, target in out.items():
            target[...] = self.arrays[name][indices]

    def texts(self, name: str, places: Sequence[int]) -> list[str]:
        """The texts of a column; of a column of numbers as they are written."""
        if name in self._texts:
            return [self._texts[name][int(place)] for place in places]
        return [str(self.arrays[name][int(place)]) for place in places]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _array(name: str, values: Sequence[Any], dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    import numpy as np

    from ..ir.types import numpy_dtype

    gap: Any = np.nan
    if shape:
        gap = np.full(shape, np.nan).tolist()
    filled = [gap if value is None else value for value in values]
    try:
        return np.array(filled, numpy_dtype(dtype)).reshape(len(values), *shape)
    except (ValueError, OverflowError) as wrong:
        raise _ragged(name, str(wrong)) from wrong


def _ragged(name: str, why: str) -> Problem:
    return problem("E-DATA-TYPE", f"{name} has rows of unlike shape: {why}", field=name)


class CsvTable(TextTable):
    """The rows of csv files."""

    def __init__(self, options: Options) -> None:
        super().__init__("csv", options)


class JsonTable(TextTable):
    """The objects of jsonl files."""

    def __init__(self, options: Options) -> None:
        super().__init__("jsonl", options)
