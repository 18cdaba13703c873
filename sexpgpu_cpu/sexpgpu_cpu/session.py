"""A session: the arena, the programs over it, the threads. Used by one thread."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from sexpgpu_core.device import HostValues, Unit
from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_core.plan.plan import Persistent, Plan, Region

from . import driver
from .cache import ObjectCache
from .draft import Draft
from .loader import Code, CodeUnit, load
from .loops import driver_unit
from .memory import Memory
from .pool import Pool
from .program import CpuProgram


class CpuSession(HostValues):
    """Owns every byte until `close()`. One TRANSIENT region, as large as the largest plan's.

    By program, for `compile` events: `kernels` counts its distinct pieces of code and those that
    a cache had, `seconds` is the time that the others took; what two programs share is the first
    one's.
    """

    def __init__(
        self,
        units: Sequence[Unit],
        persistent: Persistent,
        threads: int,
        cache: ObjectCache | None = None,
    ) -> None:
        self._layout = persistent
        self._persistent = Memory(persistent.bytes)
        plans = {u.name: u.plan for u in units if u.plan is not None}
        largest = max((p.bytes.get(Region.TRANSIENT, 0) for p in plans.values()), default=0)
        self._transient = Memory(largest)
        super().__init__({n: self._view(n) for n in persistent.offsets})
        self._checked = os.environ.get("SEXPGPU_CHECK") == "1"
        self._cache = cache or ObjectCache()
        drafts = {n: self._draft(p) for n, p in plans.items()}
        self.code = load([driver_unit(), *_needed(drafts)], self._cache, threads)
        self._entry = {n: self.code[driver_unit().key, n] for n in driver.EXPORTED}
        self.pool = Pool(threads, self._entry)
        # a session that nobody closes takes its threads along, before the memory that they read
        weakref.finalize(self, self.pool.close)
        self.kernels: dict[str, dict[str, int]] = {}
        self.seconds: dict[str, float] = {}
        self._programs: dict[str, CpuProgram] = {}
        self._take(drafts, self.code)

    def _draft(self, plan: Plan) -> Draft:
        return Draft(plan, self._persistent, self._transient, self._checked)

    def _take(self, drafts: Mapping[str, Draft], code: Code) -> None:
        """Make programs of drafts, whose code is loaded."""
        pieces = {n: {u.key for w in d.works for u in w.code()} for n, d in drafts.items()}
        self.kernels.update({n: _counts(keys, code) for n, keys in pieces.items()})
        self.seconds.update(_shares(pieces, code))
        poison, serial = self._transient if self._checked else None, self._entry["serial"]
        for name, draft in drafts.items():
            self._programs[name] = CpuProgram(name, draft, code, serial, self.pool, poison)

    def add(self, unit: Unit) -> bool:
        """One more program; False where its transient bytes exceed the region's."""
        plan = unit.plan
        if plan is None or plan.bytes.get(Region.TRANSIENT, 0) > self._transient.size:
            return False
        drafts = {unit.name: self._draft(plan)}
        self._take(drafts, load(_needed(drafts), self._cache))
        return True

    def _view(self, name: str) -> Any:
        dtype, shape = self._layout.types[name]
        return self._persistent.array(numpy_dtype(dtype), shape, self._layout.offsets[name])

    def program(self, name: str) -> CpuProgram:
        return self._programs[name]

    def close(self) -> None:
        """Stop the threads. Idempotent."""
        self.pool.close()


def _needed(drafts: Mapping[str, Draft]) -> list[CodeUnit]:
    return [u for d in drafts.values() for w in d.works for u in w.code()]


def _counts(keys: set[str], code: Code) -> dict[str, int]:
    return {"kernels": len(keys), "cached": len(keys - code.seconds.keys())}


def _shares(pieces: Mapping[str, set[str]], code: Code) -> dict[str, float]:
    """Seconds by program; a piece counts once."""
    left = dict(code.seconds)
    return {name: sum(left.pop(key, 0.0) for key in keys) for name, keys in pieces.items()}
