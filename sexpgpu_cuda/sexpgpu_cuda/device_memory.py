"""A GPU's memory in blocks: large ones of their own, small ones side by side in slabs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

SLAB = 2 << 20
ALIGN = 256


class Blocks:
    """`ask(doing, answer, **facts)` looks at the driver's answers."""

    def __init__(self, driver: Any, ask: Callable[..., Any]) -> None:
        self._d = driver
        self._ask = ask
        self._device: list[Any] = []
        self._host: list[int] = []
        self._next = self._end = 0

    def left(self) -> tuple[int, int]:
        """Bytes free and in all."""
        result, free, total = self._d.cuMemGetInfo()
        self._ask("asking for free memory", (result,))
        return int(free), int(total)

    def allocate(self, size: int) -> int:
        """Address of zeros, a multiple of 256."""
        size = -(-max(size, 1) // ALIGN) * ALIGN
        if size > SLAB // 4:
            return self._block(size)
        if self._next + size > self._end:
            self._next = self._block(SLAB)
            self._end = self._next + SLAB
        self._next += size
        return self._next - size

    def _block(self, size: int) -> int:
        answer = self._d.cuMemAlloc(size)
        facts = {}
        if answer[0] == self._d.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            free, total = self.left()
            facts = {"needed": size, "available": free, "of": total}
        pointer = self._ask(f"allocating {size / 1e9:.3f} GB", answer, **facts)
        self._device.append(pointer)
        self._ask("filling memory", self._d.cuMemsetD8(pointer, 0, size))
        return int(pointer)

    def pinned(self, size: int) -> Any:
        """Zeros of the host, page-locked."""
        import numpy as np

        room = max(size, 1)
        doing = f"locking {room / 1e9:.3f} GB of the host's memory"
        pointer = int(self._ask(doing, self._d.cuMemHostAlloc(room, 0)))
        self._host.append(pointer)
        raw: Any = (ctypes.c_uint8 * room).from_address(pointer)
        found = np.frombuffer(raw, np.uint8)
        found[...] = 0
        return found[:size]

    def close(self) -> None:
        for block in self._device:
            self._d.cuMemFree(block)
        for pointer in self._host:
            self._d.cuMemFreeHost(pointer)
        self._device, self._host = [], []
