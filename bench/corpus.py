"""A text of 65 letters for the benches: as many as Shakespeare has, the same on every machine."""

from __future__ import annotations

import random
from pathlib import Path

LETTERS = "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def write(folder: Path, letters: int = 200_000) -> Path:
    """Write FOLDER/text.txt and return its path."""
    weights = [1 / (1 + i % 17) for i in range(len(LETTERS))]
    drawn = random.Random(1).choices(LETTERS, weights, k=letters)
    path = folder / "text.txt"
    path.write_text(LETTERS + "".join(drawn), encoding="utf-8")
    return path
