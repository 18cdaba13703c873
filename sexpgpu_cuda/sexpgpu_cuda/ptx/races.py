"""Shadow memory: which thread touched each byte, and in which interval between barriers.

A race: two threads touch a byte, one writes it, and no barrier of their block lies between them.
Threads of different blocks are never ordered within a launch. Atomics race with nothing atomic.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .faults import PtxFault

Array = Any
NOBODY, MANY, ATOMIC = -1, -2, -3


class Shadow:
    """Of `size` bytes. Threads are numbered over the whole launch; `block` is threads of one."""

    def __init__(self, size: int, block: int) -> None:
        self.block = block
        self.writer = np.full(size, NOBODY, np.int64)
        self.written = np.zeros(size, np.int32)
        self.reader = np.full(size, NOBODY, np.int64)
        self.read = np.zeros(size, np.int32)
        self.readers = np.full(size, NOBODY, np.int64)  # the block of all readers, or MANY

    def reads(self, place: Array, size: int, thread: Array, interval: Array) -> None:
        at, who, when = _spread(place, size, thread, interval)
        self._ordered(at, who, when, "reads what")
        known, blocks = self.reader[at], who // self.block
        again = (known == who) | (known == NOBODY) | (self.read[at] != when)
        groups = self.readers[at]
        self.readers[at] = np.where((groups == blocks) | (groups == NOBODY), blocks, MANY)
        self.reader[at] = np.where(again, who, MANY)
        self.read[at] = when
        order = np.argsort(at, kind="stable")
        same = at[order][1:] == at[order][:-1]
        twice = order[1:][same & (who[order][1:] != who[order][:-1])]
        self.reader[at[twice]] = MANY
        apart = order[1:][same & (blocks[order][1:] != blocks[order][:-1])]
        self.readers[at[apart]] = MANY

    def writes(self, place: Array, size: int, thread: Array, interval: Array) -> None:
        at, who, when = _spread(place, size, thread, interval)
        order = np.argsort(at, kind="stable")
        twice = at[order][1:] == at[order][:-1]
        if twice.any():
            _race(int(at[order][1:][twice][0]), "two threads write", who[order][1:][twice][0])
        self._ordered(at, who, when, "writes what")
        reader, blocks = self.reader[at], self.readers[at]
        others = (reader != NOBODY) & (reader != who) & (self.read[at] == when)
        apart = (blocks != NOBODY) & (blocks != who // self.block)
        bad = others | apart
        if bad.any():
            _race(int(at[bad][0]), "writes what another thread reads", who[bad][0])
        self.writer[at] = who
        self.written[at] = when

    def atomics(self, place: Array, size: int, thread: Array, interval: Array) -> None:
        at, who, when = _spread(place, size, thread, interval)
        self._ordered(at, np.where(self.writer[at] == ATOMIC, ATOMIC, who), when, "changes what")
        self.writer[at] = ATOMIC
        self.written[at] = when

    def _ordered(self, at: Array, who: Array, when: Array, doing: str) -> None:
        writer = self.writer[at]
        apart = writer // self.block != who // self.block
        bad = (writer != NOBODY) & (writer != who) & (apart | (self.written[at] == when))
        bad &= (writer != ATOMIC) | (who != ATOMIC)
        if bad.any():
            _race(int(at[bad][0]), f"{doing} another thread writes", who[bad][0])


def _spread(place: Array, size: int, thread: Array, interval: Array) -> tuple[Array, ...]:
    """Byte by byte."""
    at = (np.asarray(place, np.int64)[:, None] + np.arange(size)).ravel()
    return at, np.repeat(thread, size), np.repeat(interval, size)


def _race(byte: int, what: str, thread: Any) -> None:
    raise PtxFault("race", f"thread {int(thread)} {what} (byte {byte})")
