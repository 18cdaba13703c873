"""Pictures of an .npz to one PNG, side by side: `grid.py pictures.npz grid.png [COLUMNS]`.

Its first array, (n h w) or (n h w 1) from 0 to 1, dark on light.
"""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np

SCALE = 2
"""Pixels of the PNG, on a side, for one of a picture."""
GAP = 2


def grid(pictures: Any, columns: int) -> Any:
    """Bytes (H W) of all pictures, row by row, white between."""
    n, h, w = pictures.shape[:3]
    rows = -(-n // columns)
    cells = np.zeros((rows * columns, h + GAP, w + GAP), np.float32)
    cells[:n, :h, :w] = pictures.reshape(n, h, w)
    sheet = cells.reshape(rows, columns, h + GAP, w + GAP).swapaxes(1, 2)
    ink = np.clip(sheet.reshape(rows * (h + GAP), columns * (w + GAP)), 0, 1)[:-GAP, :-GAP]
    return np.rint(255 * (1 - ink)).astype(np.uint8).repeat(SCALE, 0).repeat(SCALE, 1)


def png(grey: Any) -> bytes:
    """Bytes (H W) as a PNG of grey values (ISO/IEC 15948)."""
    height, width = grey.shape
    lines = b"".join(b"\0" + line.tobytes() for line in grey)
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


def main() -> None:
    source, target, *more = sys.argv[1:]
    with np.load(source) as found:
        pictures = found[found.files[0]]
    columns = int(more[0]) if more else 16
    Path(target).write_bytes(png(grid(pictures, columns)))


if __name__ == "__main__":
    main()
