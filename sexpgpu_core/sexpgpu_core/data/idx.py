"""MNIST's idx files, .gz too, to a table. Format: LeCun's page of MNIST, "the IDX file format"."""

from __future__ import annotations

import struct
import zlib
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from ..diagnostics import Problem, problem
from ..experiment.protocols import Header, Options
from ..ir.types import WIDTH
from . import files
from .arrays import ArrayTable, Facts, joined, named_files, table_header

if TYPE_CHECKING:
    import numpy as np

_DTYPES = {8: "u8", 9: "i8", 11: "i16", 12: "i32", 13: "f32", 14: "f64"}
_FIELDS = ("image", "label")


def header(options: Options) -> Header:
    """Fields of `(idx :image PATH :label PATH)`, from the first bytes of each file."""
    read = named_files(options, _FIELDS)
    found = {name: joined(name, [_facts(p) for p in paths]) for name, paths in read.items()}
    counts = {name: shape[0] for name, (_, shape) in found.items()}
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise problem("E-DATA-FORMAT", f"fields have unlike numbers of examples: {told}", **counts)
    return table_header(found, [path for paths in read.values() for path in paths])


def _facts(path: Path) -> Facts:
    try:
        with files.open_bytes(path) as file:
            start = file.read(4)
            if len(start) < 4 or start[:2] != b"\0\0" or start[2] not in _DTYPES:
                raise _malformed(path, "it does not begin with an idx header")
            sizes = file.read(4 * start[3])
            if not start[3] or len(sizes) < 4 * start[3]:
                raise _malformed(path, f"its header ends before its {start[3]} sizes")
            dtype, shape = _DTYPES[start[2]], struct.unpack(f">{start[3]}I", sizes)
    except (OSError, EOFError, zlib.error) as wrong:
        raise _malformed(path, str(wrong)) from wrong
    if path.suffix != ".gz":
        _fits(path, path.stat().st_size - 4 - len(sizes), prod(shape) * WIDTH[dtype])
    return dtype, shape


def _fits(path: Path, there: int, wanted: int) -> None:
    """Raises E-DATA-FORMAT where a file has other than the bytes that its header says."""
    if there != wanted:
        told = f"it holds {there} bytes of data where its header says {wanted}"
        raise _malformed(path, told)


def _malformed(path: Path, why: str) -> Problem:
    return problem("E-DATA-FORMAT", f"{path.name} is no idx file: {why}", file_read=path.name)


class IdxTable(ArrayTable):
    """The files' arrays, in memory."""

    def __init__(self, options: Options) -> None:
        import numpy as np

        found = named_files(options, _FIELDS)
        arrays = {name: np.concatenate([_read(p) for p in ps]) for name, ps in found.items()}
        super().__init__(arrays, header(options))


def _read(path: Path) -> np.ndarray:
    import numpy as np

    dtype, shape = _facts(path)
    try:
        with files.open_bytes(path) as file:
            data = file.read()
    except (OSError, EOFError, zlib.error) as wrong:
        raise _malformed(path, str(wrong)) from wrong
    code = f">{dtype[0]}{int(dtype[1:]) // 8}"
    body = data[4 + 4 * len(shape) :]
    _fits(path, len(body), prod(shape) * WIDTH[dtype])
    return np.frombuffer(body, code).reshape(shape).astype(np.dtype(code).newbyteorder("="))
