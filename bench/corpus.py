"""Data for the benches, the same on every machine: a text of 65 letters, as many as Shakespeare
has, and pictures for want of the public ones."""

from __future__ import annotations

import random
import struct
from pathlib import Path

LETTERS = "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def write(folder: Path, letters: int = 200_000) -> Path:
    """Write FOLDER/text.txt and return its path."""
    weights = [1 / (1 + i % 17) for i in range(len(LETTERS))]
    drawn = random.Random(1).choices(LETTERS, weights, k=letters)
    path = folder / "text.txt"
    path.write_text(LETTERS + "".join(drawn), encoding="utf-8")
    return path


def pictures(folder: Path, count: int = 4_000) -> Path:
    """Write pictures and labels of MNIST's format, made at random, into FOLDER and return it."""
    made = random.Random(1)
    for name, numbers, sizes in (
        ("made-images-idx3-ubyte", made.randbytes(count * 784), (count, 28, 28)),
        ("made-labels-idx1-ubyte", bytes(i % 10 for i in range(count)), (count,)),
    ):
        head = bytes((0, 0, 8, len(sizes))) + struct.pack(f">{len(sizes)}I", *sizes)
        (folder / name).write_bytes(head + numbers)
    return folder
