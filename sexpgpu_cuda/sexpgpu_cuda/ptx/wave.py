"""Threads that run together: their registers as arrays of bits, and which of them are active.

A register is an unsigned array of one element a thread, or of one element where all agree. What
nobody wrote reads as poison: all bits set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .memory import UNSIGNED, BlockMemory, Memory
from .races import Shadow
from .text import Entry

Array = Any
WARP = 32


class Shadows:
    """Of the global spans (by allocation) and of the wave's shared memory."""

    def __init__(self, memory: Memory, threads: int) -> None:
        self.of = {id(a): Shadow(a.stop - a.start, threads) for a in memory.allocations}


class Wave:
    """Blocks [first, first + count) of a launch, `threads` each. `active`: numbers of the threads
    that an instruction is for, or None where it is for all. `at`: the block where all threads
    are, or None where `pc` says it of each. `mates`: whom a shuffle of all reads, by its form."""

    def __init__(
        self,
        entry: Entry,
        memory: Memory,
        arguments: dict[str, Array],
        geometry: tuple[int, int, int, int],
        shadows: Shadows | None,
    ) -> None:
        """geometry: first block, blocks of the wave, threads of a block, blocks of the launch."""
        first, count, threads, grid = geometry
        self.entry = entry
        self.memory = memory
        self.arguments = arguments
        self.size = count * threads
        self.threads = threads
        self.everyone = np.arange(self.size)
        number = self.everyone
        self.block = number // threads
        self.thread = number % threads
        self.numbers = number + first * threads  # over the whole launch
        self.registers: dict[str, Array] = {
            "%tid.x": self.thread.astype(np.uint32),
            "%ctaid.x": (self.block + first).astype(np.uint32),
            "%ntid.x": np.array([threads], np.uint32),
            "%nctaid.x": np.array([grid], np.uint32),
            "%laneid": (self.thread % WARP).astype(np.uint32),
            **dict.fromkeys(("%tid.y", "%tid.z", "%ctaid.y", "%ctaid.z"), np.zeros(1, np.uint32)),
        }
        self.shared = BlockMemory(count, entry.shared_bytes)
        self.offsets = {s.name: s.offset for s in entry.shared}
        self.active: Array | None = None
        self.at: int | None = 0
        self.pc = np.zeros(self.size, np.int64)
        self.mates: dict[tuple[str, int, int], tuple[Array, Array]] = {}
        self.waiting = np.zeros(self.size, bool)
        self.interval = np.zeros(self.size, np.int32)
        self.shadows = shadows
        self.shared_shadow = Shadow(count * self.shared.row, threads) if shadows else None

    def of_active(self, values: Array) -> Array:
        """One element an active thread (or one for all)."""
        return values if self.active is None or len(values) == 1 else values[self.active]

    def read(self, name: str, bits: int) -> Array:
        """Bits of a register for the active threads."""
        found = self.registers.get(name)
        if found is None:
            return np.array([poison(bits)], UNSIGNED.get(bits, bool))
        return self.of_active(found)

    def write(self, name: str, values: Array) -> None:
        """`values`: unsigned (bool for predicates), one an active thread or one for all."""
        if name == "_":
            return
        if self.active is None:
            self.registers[name] = values
            return
        kind = values.dtype
        old = self.registers.get(name)
        if old is None:
            full = np.full(self.size, poison(1 if kind.kind == "b" else 8 * kind.itemsize), kind)
        elif len(old) == 1:
            full = np.full(self.size, old[0], kind)
        else:
            full = old.astype(kind)
        full[self.active] = values
        self.registers[name] = full

    def each(self, values: Array) -> Array:
        """An element for every active thread, also of what is one for all."""
        count = self.size if self.active is None else len(self.active)
        return values if len(values) == count else np.broadcast_to(values, (count,))

    def who(self) -> Array:
        """Numbers of the active threads within the wave."""
        return self.everyone if self.active is None else self.active


def poison(bits: int) -> int:
    return (1 << bits) - 1
