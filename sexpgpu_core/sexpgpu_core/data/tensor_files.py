"""safetensors files to a table: axis 0 of each tensor counts examples; rows stay in the file."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..diagnostics import Problem, problem
from ..experiment.protocols import Header, Options
from ..ir.types import numpy_dtype
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
            said: dict[str, Any] = json.loads(file.read(size))
        said.pop("__metadata__", None)
        found = {n: _place(t, 8 + size) for n, t in said.items()}
    except (struct.error, ValueError, KeyError, AttributeError) as wrong:
        raise _malformed(path, str(wrong)) from wrong
    end = max((8 + size + t["data_offsets"][1] for t in said.values()), default=0)
    if end > path.stat().st_size:
        raise _malformed(path, "it ends before its last tensor")
    return found


def _place(said: Mapping[str, Any], start: int) -> Place:
    return _DTYPES[said["dtype"]], tuple(said["shape"]), start + said["data_offsets"][0]


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
