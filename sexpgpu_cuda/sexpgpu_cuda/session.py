"""A session: the arena and the programs over it. Used by one thread."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from sexpgpu_core.device import HostValues, Unit
from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_core.plan.plan import Persistent, Plan, Region

from .draft import Draft
from .emulator import Emulator
from .memory import Arena
from .program import CudaProgram


class CudaSession(HostValues):
    """Owns every byte until `close()`. One TRANSIENT region, as large as the largest plan's.

    `kernels`: of each program, its distinct pieces of code and those that a cache had; `seconds`:
    what the others took.
    """

    def __init__(self, units: Sequence[Unit], persistent: Persistent) -> None:
        self._layout = persistent
        self.arena = Arena()
        self._persistent = self.arena.room(persistent.bytes)
        plans = {u.name: u.plan for u in units if u.plan is not None}
        largest = max((p.bytes.get(Region.TRANSIENT, 0) for p in plans.values()), default=0)
        self._transient = self.arena.room(largest)
        self._emulator = Emulator(self.arena, os.environ.get("SEXPGPU_CHECK") == "1")
        super().__init__({n: self._view(n) for n in persistent.offsets})
        self.kernels: dict[str, dict[str, int]] = {}
        self.seconds: dict[str, float] = {}
        self._programs: dict[str, CudaProgram] = {}
        for name, plan in plans.items():
            self._take(name, plan)

    def _take(self, name: str, plan: Plan) -> None:
        draft = Draft(plan, self.arena, self._persistent, self._transient)
        began, before = time.perf_counter(), set(self._emulator.made)
        keys = self._emulator.compile(draft.records)
        made = self._emulator.made - before
        self.kernels[name] = {"kernels": len(keys), "cached": len(keys - made)}
        self.seconds[name] = time.perf_counter() - began
        self._programs[name] = CudaProgram(name, draft, self._emulator)

    def add(self, unit: Unit) -> bool:
        """One more program; False where its transient bytes exceed the region's."""
        plan = unit.plan
        if plan is None or plan.bytes.get(Region.TRANSIENT, 0) > self._transient.size:
            return False
        self._take(unit.name, plan)
        return True

    def _view(self, name: str) -> Any:
        dtype, shape = self._layout.types[name]
        address = self._persistent.address + self._layout.offsets[name]
        return self.arena.array(address, numpy_dtype(dtype), shape)

    def program(self, name: str) -> CudaProgram:
        return self._programs[name]

    def close(self) -> None:
        """Memory is freed when nothing refers to it. Idempotent."""
