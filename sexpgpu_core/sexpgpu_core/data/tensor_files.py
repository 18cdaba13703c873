"""safetensors files to a table: axis 0 of each tensor counts examples; rows stay in the file."""

from __future__ import annotations

import json
import struct
from math import prod
from pathlib import Path
from typing import Any

from ..diagnostics import Problem, problem
from ..experiment.protocols import Header, Options
from ..ir.types import WIDTH, numpy_dtype
from . import files
from .arrays import FileTable, table_header

_DTYPES = {
    "F64": "f64", "F32": "f32", "F16": "f16", "BF16": "bf16", "I64": "i64", "I32": "i32",
    "I16": "i16", "I8": "i8", "U64": "u64", "U32": "u32", "U16": "u16", "U8": "u8", "BOOL": "bool",
}  # fmt: skip
Place = tuple[str, tuple[int, ...], int]
"""dtype, shape and offset in the file."""


def header(options: Options) -> Header:
    """Fields of `(safetensors PATH)`: its tensors by their names."""
    path = _single(options)
    found = {name: (dtype, shape) for name, (dtype, shape, _) in places(path).items()}
    return table_header(found, [path])


def _single(options: Options) -> Path:
    found = files.paths_of(options["arguments"], options["base"])
    if len(found) != 1:
        told = f"(safetensors ...) takes one file, not {len(found)}"
        raise problem("E-OPTION-VALUE", told, kind="safetensors")
    return found[0]


def places(path: Path) -> dict[str, Place]:
    """Where each tensor lies. Raises E-DATA-FORMAT."""
    try:
        with open(path, "rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            if size > path.stat().st_size:
                raise _malformed(path, "its header is longer than the file")
            said = json.loads(file.read(size))
    except (struct.error, ValueError, RecursionError) as wrong:
        raise _malformed(path, f"its header is no JSON: {wrong}") from wrong
    if not isinstance(said, dict):
        raise _malformed(path, "its header is no object")
    said.pop("__metadata__", None)
    room = path.stat().st_size - 8 - size
    found = {name: _place(path, name, tensor, room) for name, tensor in said.items()}
    if not found:
        raise _malformed(path, "it holds no tensor")
    return {name: (dtype, shape, 8 + size + at) for name, (dtype, shape, at) in found.items()}


def _place(path: Path, name: str, said: Any, room: int) -> Place:
    """What the header says of a tensor, held to the bytes that there are. Raises E-DATA-FORMAT."""
    try:
        dtype, shape = _DTYPES[said["dtype"]], tuple(int(n) for n in said["shape"])
        begin, end = (int(n) for n in said["data_offsets"])
    except (KeyError, TypeError, ValueError) as wrong:
        told = f"its header does not say a dtype, a shape and offsets of {name} that are known"
        raise _malformed(path, told) from wrong
    if min(shape, default=0) < 0 or end - begin != prod(shape) * WIDTH[dtype]:
        told = f"{name} is {dtype} {list(shape)}, and has {end - begin:,} bytes"
        raise _malformed(path, told)
    if begin < 0 or end > room:
        raise _malformed(path, "it ends before its last tensor")
    return dtype, shape, begin


def _malformed(path: Path, why: str) -> Problem:
    told = f"{path.name} is no safetensors file: {why}"
    return problem("E-DATA-FORMAT", told, file_read=path.name)


class SafetensorsTable(FileTable):
    """Rows of the tensors."""

    def __init__(self, options: Options) -> None:
        from .rows import FileRows

        path = _single(options)
        arrays: dict[str, Any] = {
            name: FileRows(path, numpy_dtype(dtype), shape[0], shape[1:], offset)
            for name, (dtype, shape, offset) in places(path).items()
            if shape
        }
        super().__init__(arrays, header(options))
