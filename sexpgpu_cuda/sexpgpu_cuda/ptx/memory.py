"""Memory by address: allocations, the spans a launch may touch, typed reads and writes.

Every access is checked: inside a span, writable where it is written, aligned to its size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .faults import PtxFault

Array = Any
NONE = np.zeros(1, bool)
UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


class Span(NamedTuple):
    """Bytes [start, stop) that a launch may read, and write if `written`."""

    start: int
    stop: int
    written: bool = True


class Allocation:
    """Bytes from an address on. `array`: uint8, owned by whoever made it."""

    def __init__(self, start: int, array: Array) -> None:
        self.start = start
        self.stop = start + array.nbytes
        room = -(-array.nbytes // 8) * 8
        if room != array.nbytes or array.ctypes.data % 8:
            raise PtxFault("width", "an allocation is a whole number of aligned words")
        self.views = {bits: array.view(kind) for bits, kind in UNSIGNED.items()}


class Spans:
    """Disjoint spans, for looking many addresses up at once."""

    def __init__(self, spans: Iterable[Span]) -> None:
        joined: list[list[int]] = []
        for start, stop, _ in sorted(spans):
            if joined and start <= joined[-1][1]:
                joined[-1][1] = max(joined[-1][1], stop)
            else:
                joined.append([start, stop])
        self.pairs = joined
        self.starts = np.array([s for s, _ in joined], np.uint64)
        self.stops = np.array([s for _, s in joined], np.uint64)

    def outside(self, addresses: Array, size: int) -> Array:
        """Which accesses of `size` bytes are not inside one span."""
        if not addresses.size:
            return NONE
        low, high = int(addresses.min()), int(addresses.max()) + size
        if any(start <= low and high <= stop for start, stop in self.pairs):
            return NONE
        if not len(self.starts):
            return np.ones(addresses.shape, bool)
        at = np.searchsorted(self.starts, addresses, side="right")
        found = np.maximum(at, 1) - 1
        ends = addresses + np.uint64(size)
        bad: Array = (at == 0) | (ends > self.stops[found])
        return bad


class Memory:
    """The global memory of a launch: allocations, of which it may touch spans."""

    def __init__(self, allocations: Sequence[Allocation], spans: Sequence[Span]) -> None:
        self.allocations = list(allocations)
        self.readable = Spans(spans)
        self.writable = Spans([s for s in spans if s.written])

    def check(self, addresses: Array, size: int, written: bool) -> None:
        """Bounds of all first, then alignment."""
        bad = (self.writable if written else self.readable).outside(addresses, size)
        if bad.any():
            doing = "write" if written else "read"
            raise PtxFault(
                "bounds",
                f"{int(bad.sum())} of {bad.size} threads {doing} {size} bytes outside, "
                f"the first at {int(addresses[bad][0]):#x}",
            )
        aligned(addresses, size)

    def parts(self, addresses: Array) -> list[tuple[Allocation, Any]]:
        """Allocations that an access touches, and which of its addresses: usually all in one."""
        low, high = int(addresses.min()), int(addresses.max())
        found: list[tuple[Allocation, Any]] = []
        for a in self.allocations:
            if a.start <= low and high < a.stop:
                return [(a, slice(None))]
            chosen = (addresses >= np.uint64(a.start)) & (addresses < np.uint64(a.stop))
            if chosen.any():
                found.append((a, chosen))
        return found

    def read(self, addresses: Array, bits: int, count: int = 1) -> list[Array]:
        """Words side by side from each address on, the first ones first."""
        made = [np.zeros(len(addresses), UNSIGNED[bits]) for _ in range(count)]
        for a, chosen in self.parts(addresses):
            index = _words(a, addresses[chosen], bits)
            for k, values in enumerate(made):
                values[chosen] = a.views[bits][index + k]
        return made

    def write(self, addresses: Array, values: Sequence[Array], bits: int) -> None:
        for a, chosen in self.parts(addresses):
            index = _words(a, addresses[chosen], bits)
            for k, value in enumerate(values):
                a.views[bits][index + k] = value[chosen].astype(UNSIGNED[bits], copy=False)


def _words(a: Allocation, addresses: Array, bits: int) -> Array:
    """Which words of an allocation lie at addresses."""
    return ((addresses - np.uint64(a.start)) >> np.uint64(SHIFT[bits])).view(np.int64)


SHIFT = {8: 0, 16: 1, 32: 2, 64: 3}


def aligned(addresses: Array, size: int) -> None:
    """Every address is a multiple of the whole access's size, a power of two."""
    odd = addresses & np.uint64(size - 1) != 0
    if odd.any():
        raise PtxFault("alignment", f"{int(addresses[odd][0]):#x} is no multiple of {size}")


class BlockMemory:
    """Shared memory of the blocks of a wave, poisoned: all bits set, NaN in every float."""

    def __init__(self, blocks: int, size: int) -> None:
        self.size = size
        self.row = -(-max(size, 1) // 8) * 8
        self.views: dict[int, Array] = {}
        raw = np.full(blocks * self.row, 0xFF, np.uint8)
        self.views = {bits: raw.view(kind) for bits, kind in UNSIGNED.items()}

    def check(self, addresses: Array, size: int) -> None:
        bad = addresses + np.uint64(size) > np.uint64(self.size)
        if bad.any():
            raise PtxFault("bounds", f"shared byte {int(addresses[bad][0])} of {self.size}")
        aligned(addresses, size)

    def place(self, addresses: Array, block: Array) -> Array:
        """Bytes from the start of all blocks' memory."""
        return addresses.astype(np.int64) + block.astype(np.int64) * self.row

    def read(self, place: Array, bits: int, count: int = 1) -> list[Array]:
        index, view = place >> SHIFT[bits], self.views[bits]
        return [view[index + k] for k in range(count)]

    def write(self, place: Array, values: Sequence[Array], bits: int) -> None:
        index, view = place >> SHIFT[bits], self.views[bits]
        for k, value in enumerate(values):
            view[index + k] = value.astype(UNSIGNED[bits], copy=False)
