"""csv and jsonl to tables. One scan finds columns, types, gaps and rows; the cache keeps them.

A column of whole numbers is i32, of other numbers f32; lists of one length are arrays; what is no
number is text, for `:hash` and `map`. Law: a value that does not fit is told with file and line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..diagnostics import problem
from ..experiment.protocols import Header, Options
from . import files, index, scanning
from .pieces import head, one, pieces
from .records import RecordTable, kept, put, record_type

if TYPE_CHECKING:
    import numpy as np


HEAD = 1 << 20
"""Bytes of a large file that say what its columns are, until it is scanned."""


def csv_header(options: Options) -> Header:
    """Columns of `(csv PATH ... [:header nil] [:separator ","])`, by name or number."""
    return _header("csv", options)


def jsonl_header(options: Options) -> Header:
    """Keys of the objects of `(jsonl PATH ...)`; with `:tokens` the stream of its texts."""
    if options.get("tokens"):
        from . import joined

        return joined.header(options)
    if options.get("tokenizer"):
        raise problem(
            "E-OPTION-VALUE",
            "(jsonl ...): :tokenizer without :tokens, which says what texts are",
            hint=":tokens ((prompt :weight 0) (answer :weight 1))",
            option="tokenizer",
        )
    return _header("jsonl", options)


def _header(kind: str, options: Options) -> Header:
    paths = _paths(kind, options)
    return _told(_indexed(kind, paths, options).facts, paths)


def _told(found: Mapping[str, Any], paths: Sequence[Path]) -> Header:
    """Facts as a header: places of gaps by the names that files have here."""
    fields = {name: (dtype, tuple(shape)) for name, dtype, shape in found["columns"]}
    gaps = {name: f"{paths[at].name}:{line}" for name, (at, line) in found["gaps"].items()}
    return {"count": found["count"], "fields": fields, "gaps": gaps, "paths": paths}


def _indexed(kind: str, paths: Sequence[Path], options: Options, needs: str = "") -> index.Index:
    return index.indexed(
        "columns",
        paths,
        (kind, options.get("separator") or ",", bool(options.get("header", True))),
        lambda reading: _scan(kind, paths, options, reading),
        before=lambda: _head(kind, paths, options),
        needs=needs,
    )


def _paths(kind: str, options: Options) -> tuple[Path, ...]:
    return tuple(files.paths_of(options["arguments"], options["base"]))


def _scan(
    kind: str, paths: Sequence[Path], options: Options, reading: index.Scan
) -> dict[str, Any]:
    """What the columns are; their numbers go to the spool."""
    read = pieces(kind, paths, options, reading.open)
    found = scanning.scan(read, reading.filled("spool"))
    if not found["count"]:
        raise problem("E-DATA-SMALL", f"{paths[0].name} has no rows", file_read=paths[0].name)
    return _numbered(found, paths)


def _numbered(found: Mapping[str, Any], paths: Sequence[Path]) -> dict[str, Any]:
    """With files of gaps by number, which their names do not change."""
    gaps = {name: (paths.index(path), line) for name, (path, line) in found["gaps"].items()}
    return {**found, "gaps": gaps}


def _head(kind: str, paths: Sequence[Path], options: Options) -> Header:
    """Columns as the first bytes have them; the scan of a run may find others. A column without a
    value is one of numbers."""
    found = scanning.scan(head(kind, paths[0], options, HEAD), BytesIO())
    empty = found["empty"]
    columns = [[n, "f32" if n in empty else dtype, shape] for n, dtype, shape in found["columns"]]
    header = _told(_numbered({**found, "columns": columns}, paths), paths)
    return {**header, "count": None, "paths": ()}


class TextTable(RecordTable):
    """Numbers as records; texts where they are written."""

    def __init__(self, kind: str, options: Options) -> None:
        import numpy as np

        from .rows import FileRows, Joined

        paths = _paths(kind, options)
        found, spooled = _indexed(kind, paths, options, "spool")
        header = _told(found, paths)
        wide = bool(options.get("wide"))
        dtype = record_type(header, (scanning.AT, scanning.SIZE), wide)
        given = (spooled, "f64") if wide else spooled

        def made() -> Iterator[np.ndarray]:
            with open(index.place("spool", spooled), "rb") as spool:
                yield from _pieces(spool, dtype)

        super().__init__(header, kept(dtype, header["count"], given, made))
        self._kind, self._options, self._names = kind, options, tuple(header["fields"])
        self._text = Joined([FileRows(path, np.uint8, path.stat().st_size) for path in paths])

    def texts(self, name: str, places: Sequence[int]) -> list[str]:
        """The texts of a column; of a column of numbers as they are written."""
        found = self._pieces_of_text(self._text, scanning.AT, scanning.SIZE, places)
        lines = (text.removeprefix("\ufeff") for text in found)
        return [one(self._kind, line, name, self._names, self._options) for line in lines]


def _pieces(spool: BinaryIO, dtype: np.dtype[Any]) -> Iterator[np.ndarray]:
    """The records of each piece of the spool."""
    import numpy as np

    for count, laid in scanning.directory(spool):
        piece = np.zeros(count, dtype)
        for name in dtype.names or ():
            target = piece[name]
            if name not in laid:
                target[...] = np.nan
                continue
            code, at, length = laid[name]
            spool.seek(at)
            found = np.frombuffer(spool.read(length * np.dtype(code).itemsize), code)
            if code == "q" and target.dtype.kind == "f":
                found = found.astype(np.float64)  # as a Python number becomes an f32
            put(name, target, found.reshape(target.shape))
        yield piece


class CsvTable(TextTable):
    """The rows of csv files."""

    def __init__(self, options: Options) -> None:
        super().__init__("csv", options)


def json_reader(options: Options) -> Any:
    """The objects of jsonl files, or with `:tokens` their texts."""
    if options.get("tokens"):
        from .joined import JoinedTexts

        return JoinedTexts(options)
    return JsonTable(options)


class JsonTable(TextTable):
    """The objects of jsonl files."""

    def __init__(self, options: Options) -> None:
        super().__init__("jsonl", options)
