"""Texts to token ids and back: bytes, or the distinct characters of a whole text in order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..diagnostics import problem

if TYPE_CHECKING:
    import numpy as np

    from .rows import Rows


class Encoding:
    """A tokenizer. `characters`: the distinct ones in order, or None where tokens are bytes."""

    characters: str | None = None

    def encode(self, text: str) -> list[int]:
        """Token ids of a text. Raises E-USAGE-VALUE for a character that the text has not."""
        if self.characters is None:
            return list(text.encode())
        rank = {character: at for at, character in enumerate(self.characters)}
        unknown = [character for character in text if character not in rank]
        if unknown:
            told = f"the text that was trained on has no character {unknown[0]!r}"
            raise problem("E-USAGE-VALUE", told, hint="a prompt of its characters")
        return [rank[character] for character in text]

    def decode(self, tokens: Iterable[int]) -> str:
        """Text of token ids."""
        if self.characters is None:
            return bytes(int(t) for t in tokens).decode("utf-8", errors="replace")
        return "".join(self.characters[int(t)] for t in tokens)


def rank_type(characters: str) -> Any:
    """The least dtype that holds the rank of each character."""
    import numpy as np

    count = len(characters)
    return np.uint8 if count <= 256 else np.uint16 if count <= 65536 else np.uint32


def ranks(points: np.ndarray, characters: str) -> np.ndarray:
    """Each code point's rank among the sorted distinct characters, through a table."""
    import numpy as np

    small = rank_type(characters)
    if not characters:
        return points.astype(small)
    known = np.frombuffer(characters.encode("utf-32-le"), np.uint32)
    table = np.zeros(int(known[-1]) + 1, small)
    table[known] = np.arange(len(known))
    found: np.ndarray = table[points]
    return found


def ranked(points: Iterable[np.ndarray], count: int, given: Any, characters: str) -> Rows:
    """Code points, a part at a time, to ranks among the characters: a file of the cache that is
    made once for `given`, and whose rows are read by position."""
    import numpy as np

    from . import index
    from .rows import FileRows

    path, dtype = index.place("ranks", given), np.dtype(rank_type(characters))
    if not path.is_file() or path.stat().st_size != count * dtype.itemsize:
        with index.filled("ranks", given) as into:
            for part in points:
                into.write(ranks(part, characters).tobytes())
    return FileRows(path, dtype, count)
