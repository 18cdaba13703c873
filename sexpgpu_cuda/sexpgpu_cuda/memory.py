"""The emulated device's memory: bytes of the host under addresses of their own.

Regions lie apart, so that an access that leaves one is in none.
"""

from __future__ import annotations

from typing import Any

from .ptx.memory import Allocation

BASE = 0x7F00_0000_0000
GAP = 1 << 20
"""Addresses between regions that belong to nobody."""


class Memory:
    """A region of zeros at an address."""

    def __init__(self, address: int, size: int) -> None:
        import numpy as np

        self.address = address
        self.size = max(size, 8)
        self.bytes = np.zeros(-(-self.size // 8) * 8, np.uint8)
        self.allocation = Allocation(address, self.bytes)


class Arena:
    """All regions. An address is looked up in them."""

    def __init__(self) -> None:
        self.regions: list[Memory] = []
        self._next = BASE

    def room(self, size: int) -> Memory:
        """A new region, at a multiple of 256 bytes."""
        memory = Memory(self._next, size)
        self.regions.append(memory)
        self._next += -(-(memory.size + GAP) // GAP) * GAP
        return memory

    def find(self, address: int) -> Memory:
        for memory in self.regions:
            if memory.address <= address < memory.address + len(memory.bytes):
                return memory
        raise IndexError(f"no region at {address:#x}")

    def array(self, address: int, dtype: Any, shape: tuple[int, ...]) -> Any:
        """A NumPy view."""
        import numpy as np

        memory = self.find(address)
        raw: Any = memory.bytes
        return np.ndarray(shape, dtype, raw, address - memory.address)

    def strided(
        self, address: int, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> Any:
        """A view with strides in elements."""
        import numpy as np

        memory, kind = self.find(address), np.dtype(dtype)
        start = address - memory.address
        steps = tuple(s * kind.itemsize for s in strides)
        raw: Any = memory.bytes
        return np.ndarray(shape, kind, raw, start, steps)

    def bytes_at(self, address: int, size: int) -> Any:
        """A view of bytes, all of one region."""
        memory = self.find(address)
        start = address - memory.address
        if start + size > len(memory.bytes):
            raise IndexError(f"{size} bytes at {address:#x} leave their region")
        return memory.bytes[start : start + size]
