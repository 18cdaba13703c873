"""Addresses: lifetimes to offsets in one region, best fit over a list of holes.

Law: two buffers that are alive in the same call never share a byte, but for an output that takes
the buffer of an elementwise input that dies in that call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..records import NamedTuple

ALIGN = 64
"""Bytes: a cache line, and the widest vector."""


class Lifetime(NamedTuple):
    """A storage's size and the calls between which it is alive, inclusive."""

    storage: int
    bytes: int
    first: int
    last: int


def aligned(size: int) -> int:
    """The next multiple of 64; an empty buffer has a line too, so that no two share an address."""
    return max(ALIGN, -(-size // ALIGN) * ALIGN)


class Holes:
    """Free spans below `top`, ascending and never touching; best fit, merged when given back."""

    __slots__ = ("spans", "top")

    def __init__(self) -> None:
        self.spans: list[tuple[int, int]] = []  # offset, size
        self.top = 0

    def take(self, size: int) -> int:
        """The smallest hole that fits; else the region grows, from its last hole if that touches
        the top."""
        best = -1
        for i, (_, room) in enumerate(self.spans):
            if room >= size and (best < 0 or room < self.spans[best][1]):
                best = i
        if best < 0:
            return self._grow(size)
        offset, room = self.spans[best]
        if room == size:
            del self.spans[best]
        else:
            self.spans[best] = (offset + size, room - size)
        return offset

    def _grow(self, size: int) -> int:
        offset = self.top
        if self.spans and sum(self.spans[-1]) == self.top:
            offset = self.spans.pop()[0]
        self.top = offset + size
        return offset

    def give(self, offset: int, size: int) -> None:
        """Give a span back."""
        spans = self.spans
        i = len(spans)
        while i > 0 and spans[i - 1][0] > offset:
            i -= 1
        if i < len(spans) and spans[i][0] == offset + size:
            size += spans[i][1]
            del spans[i]
        if i > 0 and sum(spans[i - 1]) == offset:
            spans[i - 1] = (spans[i - 1][0], spans[i - 1][1] + size)
        else:
            spans.insert(i, (offset, size))


def place(
    lifetimes: Sequence[Lifetime], successor: Mapping[int, int] | None = None
) -> tuple[dict[int, int], int]:
    """Offsets by storage, and the region's bytes.

    `successor`: storage -> the storage that takes over its buffer when it dies (in place).
    """
    heirs = dict(successor or {})
    starts: dict[int, list[Lifetime]] = {}
    ends: dict[int, list[Lifetime]] = {}
    for life in lifetimes:
        starts.setdefault(life.first, []).append(life)
        ends.setdefault(life.last, []).append(life)
    inherited = {heir: source for source, heir in heirs.items()}
    offsets: dict[int, int] = {}
    holes = Holes()
    for call in sorted(starts.keys() | ends.keys()):
        # Large ones first: they are the hardest to fit.
        for life in sorted(starts.get(call, ()), key=lambda x: (-x.bytes, x.storage)):
            source = inherited.get(life.storage)
            if source is None:
                offsets[life.storage] = holes.take(aligned(life.bytes))
            else:
                offsets[life.storage] = offsets[source]
        for life in ends.get(call, ()):
            if life.storage not in heirs:
                holes.give(offsets[life.storage], aligned(life.bytes))
    return offsets, holes.top


def stack(sizes: Mapping[str, int] | Mapping[int, int]) -> tuple[dict[object, int], int]:
    """Offsets one after another, for regions whose buffers live for ever; and the total."""
    offsets: dict[object, int] = {}
    top = 0
    for key, size in sizes.items():
        offsets[key] = top
        top += aligned(size)
    return offsets, top
