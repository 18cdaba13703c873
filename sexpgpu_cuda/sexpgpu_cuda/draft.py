"""A plan's records over device memory, before any code is made: the program's one list."""

from __future__ import annotations

from sexpgpu_core.plan.lifetimes import ends
from sexpgpu_core.plan.plan import Buffer, Plan, Region

from .calls import call_records
from .gate import gate_launch
from .memory import Arena, Memory
from .work import LibraryCall, Places, Record, Span

OWN = (Region.INPUT, Region.SCALAR, Region.OUTPUT)
"""Regions that each program has for itself; the others are the session's."""


class Draft:
    """`records` in order, the gate before the first commit and, at the end of each transient
    buffer's life, a record that poisons it. `gate`: memory of the gate's word; `errors`: a word a
    call."""

    def __init__(self, plan: Plan, arena: Arena, persistent: Memory, transient: Memory) -> None:
        self.plan = plan
        self.regions = {Region.PERSISTENT: persistent, Region.TRANSIENT: transient}
        self.regions.update({r: arena.room(plan.bytes.get(r, 0)) for r in OWN})
        self.gate, self.calls = arena.room(8), max(len(plan.calls), 1)
        self.errors = arena.room(8 * self.calls)
        addresses = {r: m.address for r, m in self.regions.items()}
        self.places = Places(plan, addresses, arena, self.gate.address, self.errors.address)
        self._ends = ends(plan)
        self.records: list[Record] = []
        for number in range(len(plan.calls)):
            if number == plan.commit:
                self.records.append(gate_launch(self.places, self.calls))
            self.records += self._call(number)
        self.commits = plan.commit < len(plan.calls)

    def _call(self, number: int) -> list[Record]:
        call, commit = self.plan.calls[number], number >= self.plan.commit
        records = call_records(call, self.places, number, commit)
        return [*records, *(self._poison(b, number) for b in self._ends.get(number, ()))]

    def _poison(self, buffer: Buffer, number: int) -> LibraryCall:
        """All bits set: NaN in every float dtype, and an index that is out of range."""
        start = self.places.address(buffer.id)
        span = Span(start, start + buffer.bytes, True)
        return LibraryCall("poison", poison, (start, buffer.bytes), (span,), number)


def poison(arena: Arena, address: int, size: int) -> None:
    arena.fill(address, size, 0xFF)
