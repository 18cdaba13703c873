"""Data for the benches, the same on every machine: a text of 65 letters, as many as Shakespeare
has, and pictures, names and a graph for want of the public ones."""

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


def names(folder: Path, count: int = 4_000) -> Path:
    """Write FOLDER/names.txt, lines of 2 to 15 letters, and return its path."""
    made = random.Random(1)
    lines = ("".join(made.choices(LETTERS[-26:], k=made.randint(2, 15))) for _ in range(count))
    path = folder / "names.txt"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def graph(folder: Path, nodes: int = 2_708, words: int = 1_433) -> Path:
    """Write an .npz of Cora's arrays, made at random, into FOLDER and return its path."""
    import numpy as np

    made = np.random.default_rng(1)
    labels = np.arange(nodes) % 7
    ends = made.integers(0, nodes, (2 * nodes, 2))
    path = folder / "graph.npz"
    np.savez(
        path,
        features=(made.random((nodes, words)) < 0.012).astype("u1"),
        edges=np.concatenate((ends, ends[:, ::-1])).astype("i4"),
        labels=labels.astype("i4"),
        split=np.select([np.arange(nodes) < at for at in (140, 640, 1640)], [1, 2, 3], 0).astype(
            "u1"
        ),
    )
    return path
