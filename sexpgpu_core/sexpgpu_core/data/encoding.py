"""Texts to token ids and back: core's tokenizers `:bytes` and `:chars`, and what has any."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..diagnostics import problem

if TYPE_CHECKING:
    import numpy as np

    from ..experiment.protocols import Options
    from .rows import Rows
    from .tokenized import Chosen


def is_chars(options: Options) -> bool:
    """Whether a source's tokens are characters."""
    return bool(options.get("tokenizer") == ":chars")


def tabled(options: Options) -> Chosen | None:
    """The tokenizer of a source; None of `:bytes` and `:chars`, whose tokens need no table."""
    if options.get("tokenizer") in (None, True, ":bytes", ":chars"):
        return None
    from . import tokenized

    return tokenized.chosen(options)


class Bytes:
    """The tokenizer `:bytes`: a token a byte."""

    def __init__(self, options: Any = None) -> None:
        del options

    def encode(self, data: bytes) -> list[int]:
        """Its bytes."""
        return list(data)

    def decode(self, ids: Iterable[int]) -> bytes:
        """Bytes of ids."""
        return bytes(ids)


class Characters:
    """The tokenizer `:chars`: the rank of each character among those of a whole text."""

    def __init__(self, options: Any) -> None:
        self._known: str = options["characters"]

    def encode(self, data: bytes) -> list[int]:
        """Ranks. Raises E-USAGE-VALUE for a character that the text has not."""
        text = data.decode("utf-8", errors="replace")
        rank = {character: at for at, character in enumerate(self._known)}
        unknown = [character for character in text if character not in rank]
        if unknown:
            told = f"the text that was trained on has no character {unknown[0]!r}"
            raise problem("E-USAGE-VALUE", told, hint="a prompt of its characters")
        return [rank[character] for character in text]

    def decode(self, ids: Iterable[int]) -> bytes:
        """UTF-8 of ranks."""
        return "".join(self._known[at] for at in ids).encode("utf-8", errors="replace")


class Encoding:
    """What reads a text: encodes and decodes others as it did that one. `coder`: its tokenizer
    (experiment.protocols.Tokenizer)."""

    coder: Any = Bytes()

    def encode(self, text: str) -> list[int]:
        """Token ids of a text. Raises E-USAGE-VALUE for what the tokenizer cannot encode."""
        return [int(token) for token in self.coder.encode(text.encode("utf-8", errors="replace"))]

    def decode(self, tokens: Iterable[int]) -> str:
        """Text of token ids."""
        data: bytes = self.coder.decode([int(token) for token in tokens])
        return data.decode("utf-8", errors="replace")


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
