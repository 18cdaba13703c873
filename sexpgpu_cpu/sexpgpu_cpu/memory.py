"""Memory with addresses: regions of the arena, and arrays of words for tables and blocks."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import struct
from typing import Any

HUGE = 2 << 20
"""Regions from this size on ask for huge pages: fewer misses in walks over the arena."""
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
"""Not Python's default: shared memory is a child's too after a fork, and has no huge pages."""


class Memory:
    """Zeroed bytes at a page boundary, freed when nothing refers to them."""

    def __init__(self, size: int) -> None:
        self.size = max(size, 64)
        self.map = mmap.mmap(-1, self.size, flags=PRIVATE)
        if self.size >= HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError, ValueError):
                self.map.madvise(mmap.MADV_HUGEPAGE)
        self._holder = ctypes.c_char.from_buffer(self.map)
        self.address = ctypes.addressof(self._holder)

    def array(self, dtype: Any, shape: tuple[int, ...], offset: int = 0) -> Any:
        """A NumPy view; it keeps the memory alive."""
        import numpy as np

        return np.ndarray(shape, dtype, self.map, offset)

    def fill(self, offset: int, size: int, byte: int) -> None:
        ctypes.memset(self.address + offset, byte, size)


class Words(Memory):
    """Eight-byte words, by index."""

    def __init__(self, count: int) -> None:
        super().__init__(8 * count)
        self.words = (ctypes.c_int64 * max(count, 8)).from_buffer(self.map)

    def __setitem__(self, index: int, value: int) -> None:
        self.words[index] = value

    def __getitem__(self, index: int) -> int:
        return int(self.words[index])

    def write(self, index: int, values: list[int]) -> None:
        """Consecutive words."""
        struct.pack_into(f"<{len(values)}q", self.map, 8 * index, *values)

    def at(self, index: int) -> int:
        """A word's address."""
        return self.address + 8 * index
