"""csv and jsonl to tables. One scan finds columns, types, gaps and rows; the cache keeps them.

A column of whole numbers is i32, of other numbers f32; lists of one length are arrays; what is no
number is text, for `:hash` and `map`. Law: a value that does not fit is told with file and line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..diagnostics import problem
from ..experiment.protocols import Header, Options
from . import files, index, scanning
from .pieces import one, pieces
from .records import RecordTable, kept, record_type

if TYPE_CHECKING:
    import numpy as np


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
    found = index.facts(
        "columns", _given(kind, paths, options), lambda: _scan(kind, paths, options)
    )
    fields = {name: (dtype, tuple(shape)) for name, dtype, shape in found["columns"]}
    return {"count": found["count"], "fields": fields, "gaps": found["gaps"], "paths": paths}


def _given(kind: str, paths: Sequence[Path], options: Options) -> tuple[Any, ...]:
    return kind, index.stamp(paths), options.get("separator"), options.get("header")


def _paths(kind: str, options: Options) -> tuple[Path, ...]:
    return tuple(files.paths_of(options["arguments"], options["base"]))


def _scan(kind: str, paths: Sequence[Path], options: Options) -> dict[str, Any]:
    """What the columns are; their numbers go to the spool."""
    with index.filled("spool", _given(kind, paths, options)) as spool:
        found = scanning.scan(pieces(kind, paths, options), spool)
    if not found["count"]:
        raise problem("E-DATA-SMALL", f"{paths[0].name} has no rows", file_read=paths[0].name)
    return found


class TextTable(RecordTable):
    """Numbers as records; texts where they are written."""

    def __init__(self, kind: str, options: Options) -> None:
        import numpy as np

        from .rows import FileRows, Joined

        header, paths = _header(kind, options), _paths(kind, options)
        given = _given(kind, paths, options)
        dtype = record_type(header, (scanning.AT, scanning.SIZE))

        def made() -> Iterator[np.ndarray]:
            if not index.place("spool", given).is_file():  # the cache lost it
                _scan(kind, paths, options)
            with open(index.place("spool", given), "rb") as spool:
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
            target[...] = found.reshape(target.shape)
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
