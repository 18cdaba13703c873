"""A plan's work over memory, before any code is loaded."""

from __future__ import annotations

from collections.abc import Mapping

from sexpgpu_core.plan.lifetimes import ends
from sexpgpu_core.plan.plan import Buffer, Plan, Region

from .calls.source import MOVES
from .loader import CodeUnit
from .loops import call_works, driver_unit
from .memory import Memory, Words
from .native.unit import native_unit
from .work import Places, Span, Work

OWN = (Region.INPUT, Region.SCALAR, Region.OUTPUT)
"""Regions that each program has for itself; the others are the session's."""


CELL = 4096
"""Words that a cell of `fill` writes."""


def poison_unit() -> CodeUnit:
    return native_unit("poison", MOVES, ("fill",), {"T": "i64", "U": "i64"})


class Draft:
    """`works` in the plan's order. `errors`: two words a call, (code, row). `gate`: the work that
    decides whether to commit, where there is something to commit. `checked`: transient buffers are
    filled with NaN at the end of their lives."""

    def __init__(
        self, plan: Plan, persistent: Memory, transient: Memory, checked: bool = False
    ) -> None:
        self.plan = plan
        self._ends = ends(plan) if checked else {}
        own = {r: Memory(plan.bytes.get(r, 0)) for r in OWN}
        self.memory: Mapping[Region, Memory] = {
            Region.PERSISTENT: persistent,
            Region.TRANSIENT: transient,
            **own,
        }
        self.places = Places(plan, {r: m.address for r, m in self.memory.items()})
        self.errors = Words(2 * len(plan.calls))
        self.works = [w for i in range(len(plan.calls)) for w in self._call(i) if w.cells > 0]
        self.gate = self._gate() if plan.commit < len(plan.calls) else None

    def _call(self, number: int) -> list[Work]:
        works = call_works(self.plan.calls[number], self.places, number)
        works += [self._poison(buffer, number) for buffer in self._ends.get(number, ())]
        for work in works:
            work.commit = number >= self.plan.commit
        return works

    def _poison(self, buffer: Buffer, number: int) -> Work:
        """All bits set: NaN in every float dtype, and an index that is out of range."""
        start, size = self.places.address(buffer.id), buffer.bytes
        words = [start, size // 8, self.places.constant((-1,), "i64")]
        spans = (Span(start, start + size, True),)
        cells = -(-size // (8 * CELL))
        return Work(poison_unit(), "fill", words, cells, 1e-6, spans, call=number)

    def _gate(self) -> Work:
        verdict = self.plan.verdict
        address = 0 if verdict is None else self.places.address(verdict)
        words = [0, 0, address, self.errors.address, len(self.plan.calls)]
        return Work(driver_unit(), "gate", words, 1, 1e-7)
