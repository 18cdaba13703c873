"""parquet files and Arrow's (what `datasets` saves) to tables, read by pyarrow a batch at a time.

Numbers and bools are arrays, lists of one length have their axis, texts are for `:hash` and `map`.
What files say of themselves is remembered: a check needs pyarrow once. Rows are made records once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..diagnostics import Problem, problem
from ..experiment.protocols import Header, Options
from ..records import NamedTuple
from . import files, index, rows
from .arrays import index_dtype
from .columns import TEXT
from .records import RecordTable, kept, put, record_type

if TYPE_CHECKING:
    import numpy as np

_DTYPES = {
    "bool": "bool", "halffloat": "f16", "float": "f32", "double": "f32",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "u8", "uint16": "u16", "uint32": "i32", "uint64": "i64",
}  # fmt: skip
_TEXTS = ("string", "large_string", "string_view")
_BATCH = 8192
"""Rows of a parquet file that are in memory together."""


def parquet_header(options: Options) -> Header:
    """Columns of `(parquet PATH ...)`."""
    return _header("parquet", options)


def arrow_header(options: Options) -> Header:
    """Columns of `(arrow PATH ...)`: files of Arrow, or the streams that `datasets` writes."""
    return _header("arrow", options)


def _header(kind: str, options: Options) -> Header:
    paths = _paths(kind, options)
    names = tuple(path.name for path in paths)  # what is told of gaps has them
    given = kind, names, index.content(paths) or index.stamp(paths)
    found = index.facts("columnar", given, lambda: _facts(kind, paths))
    fields = {name: (dtype, tuple(shape)) for name, dtype, shape in found["columns"]}
    return {"count": found["count"], "fields": fields, "gaps": found["gaps"], "paths": paths}


def _paths(kind: str, options: Options) -> tuple[Path, ...]:
    return tuple(files.paths_of(options["arguments"], options["base"]))


class _Said(NamedTuple):
    """What a file says: its schema, its rows, where columns lack values, and its first rows."""

    schema: Any
    rows: int
    gaps: dict[str, str]
    first: Any


def _facts(kind: str, paths: Sequence[Path]) -> dict[str, Any]:
    found = [_read(kind, path, _OF[kind][0]) for path in paths]
    schema = found[0].schema
    for path, said in zip(paths, found):
        if not said.schema.equals(schema):
            told = f"{path.name} has other columns than {paths[0].name}"
            raise problem("E-DATA-FORMAT", told, file_read=path.name)
    count = sum(said.rows for said in found)
    if not count:
        raise problem("E-DATA-SMALL", f"{paths[0].name} has no rows", file_read=paths[0].name)
    gaps: dict[str, str] = {}
    for said in found:
        gaps = {**said.gaps, **gaps}
    first = next(said.first for said in found if said.rows)
    columns = [
        [name, *_type(name, schema.field(name).type, first.column(name)[0].as_py(), name in gaps)]
        for name in schema.names
    ]
    return {"count": count, "columns": columns, "gaps": gaps}


def _type(name: str, kind: Any, value: Any, gap: bool) -> tuple[str, list[int]]:
    """dtype and shape of a column; `value`: its first."""
    shape, inner = [], kind
    while inner.__class__.__name__ in ("ListType", "LargeListType", "FixedSizeListType"):
        if not isinstance(value, list):
            raise problem("E-DATA-TYPE", f"column {name} has no value in the first row", field=name)
        shape.append(len(value))
        inner, value = inner.value_type, value[0] if value else None
    word = str(inner)
    if word in _TEXTS or inner.__class__.__name__ == "DictionaryType":
        return TEXT, []
    if word not in _DTYPES:
        told = f"column {name} holds {kind}, which no tensor takes"
        raise problem("E-DATA-TYPE", told, hint="write it as numbers or texts", field=name)
    # whole numbers are i32 as everywhere, unless (fields ...) declares a wider dtype
    return ("f32" if gap else index_dtype(_DTYPES[word], len(shape))), shape


def _read(kind: str, path: Path, work: Any) -> Any:
    """work(path). Raises E-DATA-EXTRA without pyarrow, E-DATA-FORMAT."""
    try:
        import pyarrow
    except ImportError:
        raise problem(
            "E-DATA-EXTRA",
            f"({kind} ...) needs pyarrow",
            hint='python -m pip install "sexpgpu[arrow]"',
            extra="sexpgpu[arrow]",
        ) from None
    try:
        return work(path)
    except (pyarrow.ArrowException, OSError) as wrong:
        told = f"{path.name} is no {kind} file: {wrong}"
        raise problem("E-DATA-FORMAT", told, file_read=path.name) from wrong


def _parquet_said(path: Path) -> _Said:
    """By the footer; of the rows only the first is read."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        meta, gaps = file.metadata, dict[str, str]()
        for group in range(meta.num_row_groups):
            for column in (meta.row_group(group).column(i) for i in range(meta.num_columns)):
                said = column.statistics
                if said is not None and said.null_count:
                    where = f"row group {group + 1} of {path.name}"
                    gaps.setdefault(column.path_in_schema.partition(".")[0], where)
        first = next(file.iter_batches(batch_size=1), None)
        return _Said(file.schema_arrow, meta.num_rows, gaps, first)


def _parquet_batches(path: Path) -> Iterator[Any]:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        yield from file.iter_batches(batch_size=_BATCH, use_threads=False)


def _arrow_said(path: Path) -> _Said:
    count, gaps, first, schema = 0, dict[str, str](), None, None
    for batch in _arrow_batches(path):
        schema = batch.schema
        for name in schema.names:
            if batch.column(name).null_count:
                gaps.setdefault(name, f"row {count + 1:,} of {path.name} or after it")
        first = batch.slice(0, 1) if first is None and batch.num_rows else first
        count += batch.num_rows
    return _Said(schema, count, gaps, first)


def _arrow_batches(path: Path) -> Iterator[Any]:
    """Batches of a file, or of a stream."""
    import pyarrow

    with pyarrow.OSFile(str(path), "rb") as source:
        try:
            file = pyarrow.ipc.open_file(source)
        except pyarrow.ArrowInvalid:
            source.seek(0)
            yield from pyarrow.ipc.open_stream(source)
            return
        for at in range(file.num_record_batches):
            yield file.get_batch(at)


_OF: dict[str, tuple[Any, Any]] = {
    "parquet": (_parquet_said, _parquet_batches),
    "arrow": (_arrow_said, _arrow_batches),
}
"""What a file says, and its batches."""


class ArrowTable(RecordTable):
    """Records of the numbers; texts one after the other in a file of the cache."""

    def __init__(self, kind: str, options: Options) -> None:
        import numpy as np

        header, self._paths = _header(kind, options), _paths(kind, options)
        self._kind = kind
        given = (kind, tuple(map(files.content_hash, self._paths)))
        self._texts = [name for name, (dtype, _) in header["fields"].items() if dtype == TEXT]
        wide = bool(options.get("wide"))
        dtype = record_type(header, (p for name in self._texts for p in _places(name)), wide)

        def made() -> Iterator[np.ndarray]:
            with index.filled("texts", given) as into:
                yield from self._pieces(dtype, into)

        records = kept(dtype, header["count"], (given, "f64") if wide else given, made)
        super().__init__(header, records)
        if self._texts:
            path = index.place("texts", given)
            self._text = rows.FileRows(path, np.uint8, path.stat().st_size)

    def texts(self, name: str, places: Sequence[int]) -> list[str]:
        """The texts of a column; of a column of numbers as they print."""
        if name in self._texts:
            return self._pieces_of_text(self._text, *_places(name), places)
        import numpy as np

        found = rows.rows_of(self._records, np.asarray(places, np.int64))
        return [str(value) for value in found[name].tolist()]

    def _pieces(self, dtype: np.dtype[Any], texts: BinaryIO) -> Iterator[np.ndarray]:
        import numpy as np

        for path in self._paths:
            for batch in self._batches(path):
                piece = np.empty(batch.num_rows, dtype)
                for name in batch.schema.names:
                    column = batch.column(name)
                    if name in self._texts:
                        at, size = _places(name)
                        piece[at], piece[size] = _written(column, texts)
                    else:
                        _fill(path, name, column, piece[name])
                yield piece

    def _batches(self, path: Path) -> Iterator[Any]:
        batches = iter(_OF[self._kind][1](path))
        while (batch := _read(self._kind, path, lambda _: next(batches, None))) is not None:
            yield batch


def _places(name: str) -> tuple[str, str]:
    """Columns of the records that say where a text lies."""
    return f"%at {name}", f"%size {name}"


def _written(column: Any, texts: BinaryIO) -> tuple[list[int], list[int]]:
    """Where the texts of a column were put, and their bytes."""
    at, size = [], []
    for value in column.to_pylist():
        data = b"" if value is None else str(value).encode()
        at.append(texts.tell())
        size.append(len(data))
        texts.write(data)
    return at, size


def _fill(path: Path, name: str, column: Any, target: np.ndarray) -> None:
    """A batch's numbers of a column. Raises E-DATA-TYPE for what does not fit the first row."""
    import numpy as np

    if column.null_count:
        gap: Any = np.full(target.shape[1:], np.nan).tolist() if target.ndim > 1 else np.nan
        if target.dtype.kind != "f":
            raise _unfit(path, name, "it has a row without a value; its footer says nothing of it")
        found = np.array([gap if v is None else v for v in column.to_pylist()], np.float64)
    else:
        for _ in target.shape[1:]:
            column = column.flatten()
        found = column.to_numpy(zero_copy_only=False)
    if found.size != target.size:
        raise _unfit(path, name, f"its lists are not all of shape {list(target.shape[1:])}")
    if target.dtype.kind in "iu" and found.size:
        bounds = np.iinfo(target.dtype)
        if found.min() < bounds.min or found.max() > bounds.max:
            told = f"{found.min()} to {found.max()} goes beyond an {target.dtype}"
            raise _unfit(path, name, told)
    put(name, target, found.reshape(target.shape))


def _unfit(path: Path, name: str, why: str) -> Problem:
    hint = "every row wants one shape and one dtype"
    return problem("E-DATA-TYPE", f"column {name} of {path.name}: {why}", hint=hint, field=name)


class ParquetTable(ArrowTable):
    """The rows of parquet files."""

    def __init__(self, options: Options) -> None:
        super().__init__("parquet", options)


class ArrowFileTable(ArrowTable):
    """The rows of Arrow's files and streams."""

    def __init__(self, options: Options) -> None:
        super().__init__("arrow", options)
