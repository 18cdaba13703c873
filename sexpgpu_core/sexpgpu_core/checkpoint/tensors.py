"""Named arrays to a safetensors file and back. The same arrays always give the same bytes.

Format: huggingface/safetensors, README "Format": u64 length, JSON header, data, little endian.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..ir.types import WIDTH, numpy_dtype

if TYPE_CHECKING:
    import numpy as np

_NAMES = {dtype: "BOOL" if dtype == "bool" else dtype.upper() for dtype in WIDTH}
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}
_NUMPY = {
    "float64": "f64",
    "float32": "f32",
    "bfloat16": "bf16",
    "float16": "f16",
    "bool": "bool",
    **{f"int{n}": f"i{n}" for n in (8, 16, 32, 64)},
    **{f"uint{n}": f"u{n}" for n in (8, 16, 32, 64)},
}
_CHUNK = 1 << 24


def dtype_of(array: np.ndarray) -> str:
    """The graph's name of an array's dtype."""
    return _NUMPY[array.dtype.name]


def chunks(names: list[str], read: Callable[[str], np.ndarray]) -> Iterator[Any]:
    """The file in pieces, names sorted. `read` is asked for each twice: for its type, for bytes."""
    entries: dict[str, Any] = {}
    offset = 0
    for name in sorted(names):
        array = read(name)
        end = offset + array.nbytes
        entries[name] = {
            "dtype": _NAMES[dtype_of(array)],
            "shape": list(array.shape),
            "data_offsets": [offset, end],
        }
        offset = end
    header = json.dumps(entries, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    yield struct.pack("<Q", len(header)) + header
    for name in sorted(names):
        yield from _bytes(read(name))


def _bytes(array: np.ndarray) -> Iterator[Any]:
    import numpy as np

    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    for start in range(0, len(flat), _CHUNK):
        yield flat[start : start + _CHUNK].data


def header(path: Path) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Dtype and shape of each array of a file. Raises ValueError where it is no such file."""
    with open(path, "rb") as file:
        found: Mapping[str, Any] = json.loads(file.read(_length(file)))
    return {
        name: (_DTYPES[entry["dtype"]], tuple(entry["shape"]))
        for name, entry in found.items()
        if name != "__metadata__"
    }


def _length(file: BinaryIO) -> int:
    """Bytes of the header. ValueError where the file is not as long."""
    head = file.read(8)
    (length,) = struct.unpack("<Q", head) if len(head) == 8 else (0,)
    if 8 + length > os.fstat(file.fileno()).st_size:
        raise ValueError("the header is cut short")
    return int(length)


def load_one(path: Path, name: str) -> np.ndarray:
    """One array of a file. Raises KeyError, and ValueError where it is cut short."""
    import numpy as np

    with open(path, "rb") as file:
        length = _length(file)
        entry = json.loads(file.read(length))[name]
        start, end = entry["data_offsets"]
        file.seek(8 + length + start)
        data = file.read(end - start)
    if len(data) != end - start:
        raise ValueError(f"{path.name} is cut short")
    dtype = numpy_dtype(_DTYPES[entry["dtype"]])
    array: np.ndarray = np.frombuffer(data, dtype).reshape(entry["shape"]).copy()
    return array


def load(path: Path) -> dict[str, np.ndarray]:
    """All arrays of a file, as copies. Raises ValueError where it is no safetensors file."""
    import numpy as np

    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data) if len(data) >= 8 else (len(data),)
    if 8 + length > len(data):
        raise ValueError(f"{path.name} is cut short")
    header: Mapping[str, Any] = json.loads(data[8 : 8 + length])
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        dtype = numpy_dtype(_DTYPES[entry["dtype"]])
        start, end = (8 + length + at for at in entry["data_offsets"])
        arrays[name] = np.frombuffer(data[start:end], dtype).reshape(entry["shape"]).copy()
    return arrays
