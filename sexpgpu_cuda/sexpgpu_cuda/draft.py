"""A plan's records over device memory, before any code is made: the program's one list."""

from __future__ import annotations

from sexpgpu_core.plan.lifetimes import ends
from sexpgpu_core.plan.plan import Buffer, Plan, Region

from .calls import call_records
from .gate import gate_launch
from .providers import WHOLE, Libraries
from .rooms import Room, Rooms
from .work import Fill, Places, Record

OWN = (Region.INPUT, Region.SCALAR, Region.OUTPUT)
"""Regions that each program has for itself; the others are the session's."""


class Draft:
    """`records` in order, the gate before the first commit and, where memory is `poisoned`, a
    record at the end of each transient buffer's life. `errors`: a word a call, then the gate's
    word; `halt`: address of the session's word."""

    def __init__(
        self,
        plan: Plan,
        rooms: Rooms,
        persistent: Room,
        transient: Room,
        halt: int,
        poisoned: bool = False,
        libraries: Libraries = WHOLE,
    ) -> None:
        self.plan = plan
        self.regions = {Region.PERSISTENT: persistent, Region.TRANSIENT: transient}
        self.regions.update({r: rooms.room(plan.bytes.get(r, 0)) for r in OWN})
        self.calls = max(len(plan.calls), 1)
        self.errors = rooms.room(8 * (self.calls + 1))
        self.gate = self.errors.address + 8 * self.calls
        addresses = {r: m.address for r, m in self.regions.items()}
        words = (self.gate, self.errors.address, halt)
        self.places = Places(plan, addresses, rooms, *words, libraries)
        self._ends = ends(plan) if poisoned else {}
        self.records: list[Record] = [Fill(self.errors.address, 8 * self.calls)]
        if poisoned:
            self.records.append(Fill(transient.address, transient.size))
        for number in range(len(plan.calls)):
            if number == plan.commit:
                self.records.append(gate_launch(self.places, self.calls))
            self.records += self._call(number)
        self.commits = plan.commit < len(plan.calls)

    def _call(self, number: int) -> list[Record]:
        call, commit = self.plan.calls[number], number >= self.plan.commit
        records = call_records(call, self.places, number, commit)
        return [*records, *(self._poison(b, number) for b in self._ends.get(number, ()))]

    def _poison(self, buffer: Buffer, number: int) -> Fill:
        """All bits set: NaN in every float dtype, and an index that is out of range."""
        return Fill(self.places.address(buffer.id), buffer.bytes, call=number)
