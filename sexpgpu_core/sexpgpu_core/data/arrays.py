"""NumPy's .npy and .npz files to tables. Headers (format versions 1 to 3) need no NumPy."""

from __future__ import annotations

import ast
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ..diagnostics import Problem, problem
from ..experiment.protocols import Header, Options
from ..ir.types import WIDTH
from . import files, rows

if TYPE_CHECKING:
    import numpy as np

_DTYPES = {
    **{f"f{n}": f"f{8 * n}" for n in (2, 4, 8)},
    **{f"i{n}": f"i{8 * n}" for n in (1, 2, 4, 8)},
    **{f"u{n}": f"u{8 * n}" for n in (1, 2, 4, 8)},
    "b1": "bool",
}
_BROKEN = (zipfile.BadZipFile, OSError, EOFError, zlib.error)
"""What reading a damaged archive raises."""
_MEASURED = frozenset(("u8", "i8", "u16", "i16"))
Facts = tuple[str, tuple[int, ...]]


def index_dtype(dtype: str, rank: int) -> str:
    """i32 for what must be an index: one integer an example, or integers of 32 bits and more.

    Small integers with axes are measurements (pixels) and keep their dtype (R26).
    """
    if dtype[0] in "iu" and (rank == 0 or dtype not in _MEASURED):
        return "i32"
    return dtype


def array_facts(file: IO[bytes], name: str, size: int) -> Facts:
    """dtype and shape from the header of a .npy file of `size` bytes. Raises E-DATA-FORMAT."""
    start = file.read(8)
    if len(start) < 8 or start[:6] != b"\x93NUMPY":
        raise problem("E-DATA-FORMAT", f"{name} is no .npy array", file_read=name)
    wide = "<H" if start[6] == 1 else "<I"
    try:
        (length,) = struct.unpack(wide, file.read(struct.calcsize(wide)))
        described: dict[str, Any] = ast.literal_eval(file.read(length).decode("latin1"))
        dtype = _DTYPES[described["descr"].lstrip("<>|=")]
        shape = tuple(int(n) for n in described["shape"])
    except (ValueError, SyntaxError, KeyError, TypeError, AttributeError, struct.error) as wrong:
        raise problem(
            "E-DATA-FORMAT", f"{name} holds no numbers that a tensor takes", file_read=name
        ) from wrong
    wanted, there = prod(shape) * WIDTH[dtype], size - file.tell()
    if there < wanted:
        told = f"{name} ends early: {there:,} bytes of numbers where its header says {wanted:,}"
        raise problem("E-DATA-FORMAT", told, file_read=name)
    return dtype, shape


def table_header(arrays: Mapping[str, Facts], paths: Sequence[Path]) -> Header:
    """Axis 0 of every array counts examples. `arrays` has the whole shapes, for `(whole)`.

    Where axes 0 differ the count is None: such data is only `(whole)`.
    """
    counts = {shape[0] if shape else -1 for _, shape in arrays.values()}
    fields = {
        name: (index_dtype(dtype, len(shape) - 1), shape[1:])
        for name, (dtype, shape) in arrays.items()
    }
    whole = {
        name: (index_dtype(dtype, len(shape) - 1), shape) for name, (dtype, shape) in arrays.items()
    }
    one = len(counts) == 1 and -1 not in counts
    count = counts.pop() if one else None
    return {"count": count, "fields": fields, "arrays": whole, "paths": tuple(paths)}


def npz_header(options: Options) -> Header:
    """Fields of `(npz PATH)`: the file's arrays by their names."""
    path = _single(options)
    try:
        with zipfile.ZipFile(path) as archive:
            found = {}
            for name in sorted(archive.namelist()):
                size = archive.getinfo(name).file_size
                with archive.open(name) as file:
                    facts = array_facts(file, f"{path.name}/{name}", size)
                found[name.removesuffix(".npy")] = facts
    except _BROKEN as wrong:
        raise _broken(path, wrong) from wrong
    if not found:
        raise problem("E-DATA-FORMAT", f"{path.name} holds no array", file_read=path.name)
    return table_header(found, [path])


def _broken(path: Path, wrong: Exception) -> Problem:
    told = f"{path.name} is no .npz file: {wrong}"
    return problem("E-DATA-FORMAT", told, file_read=path.name)


def _single(options: Options) -> Path:
    found = files.paths_of(options["arguments"], options["base"])
    if len(found) != 1:
        raise problem("E-OPTION-VALUE", f"(npz ...) takes one file, not {len(found)}", kind="npz")
    return found[0]


def named_files(options: Options, unnamed: Sequence[str]) -> dict[str, list[Path]]:
    """Files by field: `:image PATH`, or positions, which take the names of `unnamed`."""
    written = dict(zip(unnamed, options["arguments"]))
    written.update({k: v for k, v in options.items() if k not in ("arguments", "base")})
    if not written:
        raise problem("E-OPTION", "give a field's name with its file, such as :image PATH")
    return {name: files.paths_of(value, options["base"]) for name, value in written.items()}


def joined(name: str, parts: Sequence[Facts]) -> Facts:
    """The facts of arrays laid end to end along axis 0. Raises E-DATA-FORMAT where they differ."""
    dtype, shape = parts[0]
    for other, theirs in parts[1:]:
        if other != dtype or theirs[1:] != shape[1:]:
            raise problem(
                "E-DATA-FORMAT",
                f"files of field {name} differ: {dtype} {shape[1:]} and {other} {theirs[1:]}",
                field=name,
            )
    return dtype, (sum(s[0] for _, s in parts), *shape[1:]) if shape else ()


def npy_header(options: Options) -> Header:
    """Fields of `(npy :image PATH :label PATH)` or `(npy PATH)`."""
    found, read = {}, named_files(options, ("x",))
    for name, paths in read.items():
        parts = []
        for path in paths:
            with open(path, "rb") as file:
                parts.append(array_facts(file, path.name, path.stat().st_size))
        found[name] = joined(name, parts)
    return table_header(found, [path for paths in read.values() for path in paths])


class ArrayTable:
    """A table over arrays in memory or memory maps; rows are copied out by index."""

    def __init__(self, arrays: Mapping[str, Any], header: Header) -> None:
        self.arrays = dict(arrays)
        self._count = header["count"] or 0
        for name, array in self.arrays.items():
            self._fits(name, array, header["arrays"][name][0])

    @staticmethod
    def _fits(name: str, array: np.ndarray, dtype: str) -> None:
        """An index kept wider than i32 must fit it."""
        if dtype != "i32" or array.size == 0 or array.dtype.itemsize < 4:
            return
        low, high = int(array.min()), int(array.max())
        if low < -(2**31) or high >= 2**31:
            raise problem(
                "E-DATA-TYPE",
                f"field {name} has {low} to {high}, beyond an i32",
                hint=f'declare it wider: (fields ({name} "{name}" :i64))',
                field=name,
            )

    def __len__(self) -> int:
        return int(self._count)

    def read(self, indices: Sequence[int], out: Mapping[str, np.ndarray]) -> None:
        for name, target in out.items():
            target[...] = self.arrays[name][indices]


class FileTable(ArrayTable):
    """A table over arrays that stay in their files, or in memory."""

    def read(self, indices: Any, out: Mapping[str, np.ndarray]) -> None:
        for name, target in out.items():
            found = rows.rows_of(self.arrays[name], indices)
            if target.dtype.name == "int32":
                ArrayTable._fits(name, found, "i32")
            target[...] = found

    @staticmethod
    def _fits(name: str, array: Any, dtype: str) -> None:
        """Whether an index fits an i32 is seen when it is read."""


class NpzTable(FileTable):
    """The arrays of one .npz file, in memory."""

    def __init__(self, options: Options) -> None:
        import numpy as np

        path = _single(options)
        try:
            with np.load(path, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
        except (*_BROKEN, ValueError) as wrong:
            raise _broken(path, wrong) from wrong
        super().__init__(arrays, npz_header(options))


class NpyTable(FileTable):
    """.npy files, whose rows stay in them."""

    def __init__(self, options: Options) -> None:
        found = named_files(options, ("x",))
        arrays: dict[str, Any] = {}
        for name, paths in found.items():
            parts = [_rows(path) for path in paths]
            arrays[name] = parts[0] if len(parts) == 1 else _joined(parts)
        super().__init__(arrays, npy_header(options))


def _rows(path: Path) -> Any:
    """The rows of a .npy file; an array in the order of Fortran is read whole."""
    import numpy as np

    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)  # its header alone
    except (ValueError, OSError) as wrong:
        raise rows.lost(path, str(wrong)) from wrong
    if mapped.ndim == 0 or not mapped.flags.c_contiguous:
        return np.array(mapped)
    offset = int(mapped.offset)
    return rows.FileRows(path, mapped.dtype, mapped.shape[0], mapped.shape[1:], offset)


def _joined(parts: Sequence[Any]) -> Any:
    import numpy as np

    if all(isinstance(part, rows.FileRows) for part in parts):
        return rows.Joined(parts)
    return np.concatenate([rows.rows_of(part, slice(None)) for part in parts])
