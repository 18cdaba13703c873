"""What a source and a store must look like: the contracts of plug-ins that bring data or places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np

Header = Mapping[str, Any]
"""{"count": N or None, "fields": {name: (dtype, shape of one example)}} of a table;
{"tokens": T or None, "fields": {"tokens": (dtype, ())}, "vocab": V or None} of a stream.
Other keys ("classes", ...) are answers of `loader-info`. Made without numpy."""

Options = Mapping[str, Any]
"""A source's options by name, "arguments" (positional, a tuple) and "base" (the folder that
relative paths start from). Keywords are text with a colon. A reader is given "wide" where a field
is declared f64: what it reads as f32 then has more digits, if the source does."""


class Reader(Protocol):
    """A table. Safe from several threads; a pure function of the indices."""

    def __len__(self) -> int: ...

    def read(self, indices: Sequence[int], out: Mapping[str, np.ndarray]) -> None:
        """Fill the caller's arrays, one row an index, for the fields that are in `out`."""
        ...


class StreamReader(Protocol):
    """A stream: one long row."""

    def __len__(self) -> int: ...

    def tokens(self) -> np.ndarray:
        """All of it, as an array or a memory map; not to be written."""
        ...


class Tokenizer(Protocol):
    """Texts as bytes to ids and back. A pure function of the text, and of the files it is made of.

    A text is encoded whole, so that no id depends on how it is read. One that also has
    `encode_parts(parts: Iterator[bytes]) -> Iterator[Sequence[int]]` takes texts of any size by
    parts that are cut anywhere: the ids, one after the other, are those of `encode` of the whole.
    """

    def encode(self, data: bytes) -> Sequence[int]:
        """Ids, below the vocabulary, in order: a list or an array of integers."""
        ...

    def decode(self, ids: Sequence[int]) -> bytes: ...


class Sink(Protocol):
    """A receiver of events. It passes over kinds that it does not know."""

    def event(self, event: Mapping[str, Any]) -> None: ...
    def close(self) -> None: ...


class Store(Protocol):
    """Files below one URL. `put_last` is the commit.

    One that keeps what a killed put has left also has `unfinished(prefix: str = "") ->
    Sequence[tuple[str, str]]`, names with a word for each such put, and `abandon(name, word)`.
    """

    def put(self, name: str, file: str) -> None: ...
    def put_last(self, name: str, data: bytes) -> None: ...
    def get(self, name: str, file: str) -> None: ...
    def list(self, prefix: str = "") -> list[tuple[str, int]]: ...
    def delete(self, name: str) -> None: ...
