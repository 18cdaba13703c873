"""A stream to windows that cross no document's end: filled, or several documents packed (R40).

What a window holds is said by its pieces: where each begins in the stream and how long it is.
Law: with `:short :pad` every token of a document is in some window of it and in no other's.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..diagnostics import Problem, problem
from ..experiment.declarations import Windows
from ..ir.types import Type
from . import rows, split
from .windows import is_set

if TYPE_CHECKING:
    import numpy as np

_SCANNED = 1 << 24
"""Tokens that are looked at together for the ends of documents."""


def fields(windows: Windows, dtype: str, streams: bool) -> dict[str, Type]:
    """Types of one window."""
    n = (windows.size,)
    found = {"tokens": Type(dtype, n), "weights": Type("f32", n)}
    if windows.pack:
        return {**found, "segments": Type("i32", n), "positions": Type("i32", n)}
    return {**found, "begins": Type("bool", ())} if streams else found


def borders(reader: Any, end: Any) -> np.ndarray:
    """Where documents begin, and last the length of the stream (D + 1).

    `end`: the token or text that ends a document, or True where the source knows.
    """
    import numpy as np

    if end is True or not is_set(end):
        if not hasattr(reader, "borders"):
            raise problem(
                "E-OPTION-VALUE",
                "(windows ... :documents t): this source does not know where documents end",
                hint="say the token that ends one, as :documents 50256",
            ).of("windows", "documents")
        return np.asarray(reader.borders(), np.int64)
    token, tokens = _token(reader, end), reader.tokens()
    found, length = [np.zeros(1, np.int64)], len(tokens)
    for start in range(0, length, _SCANNED):
        part = rows.rows_of(tokens, slice(start, min(start + _SCANNED, length)))
        found.append(np.flatnonzero(part == token) + (start + 1))
    if not any(len(part) for part in found[1:]):
        raise problem(
            "E-OPTION-VALUE",
            f":documents {end!r}: no token of the {length:,} is that, so that no document ends",
            hint="say the token that ends one; without :documents windows are cut anywhere",
            option="documents",
        ).of("windows", "documents")
    found.append(np.array([length], np.int64))
    return np.unique(np.concatenate(found))


def _token(reader: Any, end: Any) -> int:
    if isinstance(end, int):
        return end
    encoded: list[int] = []
    if isinstance(end, str) and hasattr(reader, "encode"):
        with suppress(Problem):  # the text has no such character
            encoded = reader.encode(end)
    if len(encoded) != 1:
        raise problem(
            "E-OPTION-VALUE",
            f":documents is t, a token or the text of one, not {end!r}",
            hint="a line each: :documents (string #\\Newline)",
        ).of("windows", "documents")
    return int(encoded[0])


def chosen(
    edges: np.ndarray, ranges: split.Ranges, seed: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Begins and lengths of a stage's documents: those that begin within its ranges of tokens.

    `seed`: documents are first put into the order of a hash; by position where it is None.
    """
    import numpy as np

    starts, lengths = edges[:-1], np.diff(edges)
    if seed is not None:
        rank = split.by_hash(len(starts), seed)(np.arange(len(starts)))
        starts, lengths = starts[rank], lengths[rank]
    begins = np.cumsum(lengths) - lengths
    inside = np.zeros(len(starts), bool)
    for low, high in ranges:
        inside |= (begins >= low) & (begins < high)
    inside &= lengths > 0
    return starts[inside], lengths[inside]


class Cut:
    """The windows of some documents. `pieces`: begin, length, of which window, offset in it."""

    def __init__(self, starts: np.ndarray, lengths: np.ndarray, windows: Windows) -> None:
        import numpy as np

        self.windows, self.documents = windows, len(starts)
        begin, length, first = _pieces(starts, lengths, windows)
        if windows.pack:
            self._row = _packed(length, windows.size)
        else:
            self._row = np.arange(len(begin))
        self._begin, self._length, self._first = begin, length, first
        self.count = int(self._row[-1]) + 1 if len(begin) else 0
        self._at = np.searchsorted(self._row, np.arange(self.count + 1))

    def read(self, reader: Any, places: np.ndarray, dtype: Any) -> dict[str, np.ndarray]:
        """The fields of windows."""
        import numpy as np

        shape = (len(places), self.windows.size)
        tokens = np.full(shape, self.windows.pad, dtype)
        weights = np.zeros(shape, np.float32)
        segments, positions = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        row, piece = self._of(places)
        at, source = self._offsets(row, piece), reader.tokens()
        own = reader.weights() if hasattr(reader, "weights") else None
        for size in np.unique(self._length[piece]):
            some = np.flatnonzero(self._length[piece] == size)
            where = (row[some][:, None], at[some][:, None] + np.arange(size))
            tokens[where] = rows.runs_of(source, self._begin[piece[some]], int(size))
            given = 1.0 if own is None else rows.runs_of(own, self._begin[piece[some]], int(size))
            weights[where] = given
            segments[where] = (piece[some] - self._at[places[row[some]]] + 1)[:, None]
            positions[where] = np.arange(size)
        if not self.windows.pack:
            begins = self._first[self._at[places]]
            return {"tokens": tokens, "weights": weights, "begins": begins}
        # a weight is of the next token: there is none where the next is of another document
        weights[:, :-1] = weights[:, 1:] if own is not None else weights[:, :-1]
        weights[:, -1] = 0
        weights[:, :-1] *= segments[:, 1:] == segments[:, :-1]
        return {
            "tokens": tokens,
            "weights": weights,
            "segments": segments,
            "positions": positions,
        }

    def _of(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Row of the batch and piece, for every piece of the windows."""
        import numpy as np

        first, counts = self._at[places], np.diff(self._at)[places]
        row = np.repeat(np.arange(len(places)), counts)
        inside = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        return row, first[row] + inside

    def _offsets(self, row: np.ndarray, piece: np.ndarray) -> np.ndarray:
        """Where in its row each piece begins."""
        import numpy as np

        ends = np.cumsum(self._length[piece])
        starts = ends - self._length[piece]
        new = np.r_[True, row[1:] != row[:-1]] if len(row) else np.zeros(0, bool)
        base = np.maximum.accumulate(np.where(new, starts, 0))
        offsets: np.ndarray = starts - base
        return offsets


def _pieces(
    starts: np.ndarray, lengths: np.ndarray, windows: Windows
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Begin, length and whether it is a document's first, of the windows of documents."""
    import numpy as np

    n, step = windows.size, windows.stride or windows.size
    counts = 1 + np.maximum(0, lengths - n + step - 1) // step
    last = lengths - (counts - 1) * step  # tokens in the last window, n at most
    least = _least(windows)
    counts = counts - (last < least)
    document = np.repeat(np.arange(len(starts)), counts)
    number = np.arange(len(document)) - np.repeat(np.cumsum(counts) - counts, counts)
    begin = starts[document] + number * step
    return begin, np.minimum(n, lengths[document] - number * step), number == 0


def _least(windows: Windows) -> int:
    """Tokens that a window must have."""
    short = windows.short
    if short in (None, "pad"):
        return 1
    return windows.size if short == "drop" else min(windows.size, int(short[1]))


def _packed(lengths: np.ndarray, size: int) -> np.ndarray:
    """The row of each piece: in order, a new row where the piece does not fit."""
    import numpy as np

    ends = np.cumsum(lengths)
    row, found, done = 0, np.empty(len(lengths), np.int64), 0
    while done < len(lengths):
        base = int(ends[done - 1]) if done else 0
        stop = int(np.searchsorted(ends, base + size, side="right"))
        found[done:stop] = row
        row, done = row + 1, stop
    return found


def refuse(windows: Windows, kind: str) -> Problem | None:
    """What does not go with documents."""
    if kind == "random":
        return problem(
            "E-OPTION-VALUE", ":order :random takes windows at any offset, in any document"
        )
    if windows.shift:
        return problem("E-OPTION-VALUE", ":shift moves windows over the ends of documents")
    return None
