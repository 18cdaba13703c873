"""The examples and small files of what they read."""

from __future__ import annotations

import gzip
import random
import struct

import numpy as np
import pytest
from e2e_program import EXAMPLES, Folder

NAMES = sorted(path.stem for path in EXAMPLES.glob("*.lisp"))


def idx(numbers: bytes, *sizes: int) -> bytes:
    """An idx file of bytes, gzipped."""
    head = bytes((0, 0, 8, len(sizes))) + struct.pack(f">{len(sizes)}I", *sizes)
    return gzip.compress(head + numbers)


def graph() -> dict[str, np.ndarray]:
    """Cora's arrays, of 24 papers in a ring."""
    one = np.arange(24, dtype="i4")
    ring = np.stack((one, (one + 1) % 24), axis=1)
    return {
        "features": np.eye(24, 30, dtype="u1") + np.eye(24, 30, k=3, dtype="u1"),
        "edges": np.concatenate((ring, ring[:, ::-1])),
        "labels": one % 7,
        "split": (one % 4).astype("u1"),
    }


def write_examples(folder: Folder) -> None:
    """Into a folder, with what they read made small."""
    (folder.path / "data").mkdir()
    made = random.Random(1)
    folder.write("data/images-idx3-ubyte.gz", idx(made.randbytes(400 * 784), 400, 28, 28))
    folder.write("data/labels-idx1-ubyte.gz", idx(bytes(i % 10 for i in range(400)), 400))
    for name in ("cora", "pubmed"):
        np.savez(folder.path / "data" / f"{name}.npz", **graph())
    lines = ("".join(made.choices("abcdefgh", k=made.randint(2, 9))) for _ in range(1500))
    folder.write("data/names.txt", "\n".join(lines) + "\n")
    for name in NAMES:
        folder.write(f"{name}.lisp", (EXAMPLES / f"{name}.lisp").read_bytes())


def small(name: str) -> tuple[str, ...]:
    """Flags that make an example small, and independent of other libraries' data."""
    if name == "digits":
        pytest.importorskip("sklearn")
    text = ("-s", "text=letters.txt", "-s", "context=16")
    text = text if name.endswith(("chars", "mlm")) else ()
    return ("--variant", "smoke", *text)
