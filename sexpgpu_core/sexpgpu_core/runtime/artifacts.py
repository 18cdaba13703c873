"""What a pass saves of its output: `artifacts/PASS/step-N/NAME.npz`, or a sheet of pictures."""

from __future__ import annotations

import math
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..diagnostics import problem
from .job import PassFacts

if TYPE_CHECKING:
    import numpy as np

GAP = 2
"""Pixels between two pictures of a sheet."""


def save(folder: Path, facts: PassFacts, step: int, arrays: Mapping[str, Any]) -> list[str]:
    """The files written, by their paths in the run's folder. Raises E-RUN-WRITE."""
    output = facts.output
    if output is None or output.save is None:
        return []
    place = Path("artifacts", facts.name, f"step-{step:08d}")
    try:
        (folder / place).mkdir(parents=True, exist_ok=True)
        if output.save is True:
            name = place / f"{output.name}.npz"
            _whole(folder / name, lambda file: _npz(file, arrays))
            return [name.as_posix()]
        found = []
        for key, array in arrays.items():
            name, sheet = place / f"{key}.png", png(pictures(array, output.save[1]))
            _whole(folder / name, sheet)
            found.append(name.as_posix())
        return found
    except OSError as refused:
        raise problem("E-RUN-WRITE", f"{folder / place}: {refused.strerror}") from refused


def _whole(path: Path, content: Any) -> None:
    """Write a file so that it is there whole or not at all."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    with scratch.open("wb") as file:
        content(file) if callable(content) else file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(scratch, path)


def _npz(file: BinaryIO, arrays: Mapping[str, Any]) -> None:
    """A dtype that NumPy's format has no word for is written as f32."""
    import numpy as np

    np.savez(file, **{n: a.astype(np.float32) if a.dtype.isbuiltin != 1 else a
                      for n, a in arrays.items()})  # fmt: skip


def pictures(array: np.ndarray, columns: int | None) -> np.ndarray:
    """Pictures (n h w), (n h w 1) or (n h w 3), u8 or from 0 to 1, on one sheet of bytes."""
    import numpy as np

    if array.dtype != np.uint8:
        level = np.nan_to_num(array.astype(np.float32), nan=0.0)
        array = np.rint(255 * np.clip(level, 0, 1)).astype(np.uint8)
    n, h, w = array.shape[:3]
    deep = array.shape[3] if array.ndim == 4 else 1
    across = columns or max(1, math.ceil(math.sqrt(n)))
    down = max(1, -(-n // across))
    cells = np.full((down * across, h + GAP, w + GAP, deep), 255, np.uint8)
    cells[:n, :h, :w] = array.reshape(n, h, w, deep)
    rows = cells.reshape(down, across, h + GAP, w + GAP, deep).swapaxes(1, 2)
    sheet: np.ndarray = rows.reshape(down * (h + GAP), across * (w + GAP), deep)[:-GAP, :-GAP]
    return sheet


def png(sheet: np.ndarray) -> bytes:
    """Bytes (H W 1) or (H W 3) as a PNG (ISO/IEC 15948)."""
    height, width, deep = sheet.shape
    lines = b"".join(b"\0" + line.tobytes() for line in sheet)
    colour = 2 if deep == 3 else 0
    head = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
