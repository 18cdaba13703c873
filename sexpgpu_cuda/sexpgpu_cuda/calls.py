"""Calls of a plan to records: kernels, library calls, loops. What is not here is refused."""

from __future__ import annotations

import math
from collections.abc import Callable

from sexpgpu_core.diagnostics import problem
from sexpgpu_core.ir.types import WIDTH
from sexpgpu_core.kernels.kernel import Call, KernelCall, NodeCall, Repeat
from sexpgpu_core.plan.plan import Plan, Region

from . import (
    alignments,
    attention,
    extrema,
    factors,
    indexing,
    libraries,
    moves,
    pools,
    products,
    scatters,
    sequences,
    sorting,
    spectra,
)
from .frame import Frame
from .kernels import applied, launched
from .work import Loop, Places, Record

LIBRARY: dict[str, Callable[[Frame], None]] = {
    **products.ROWS,
    **attention.ROWS,
    **libraries.ROWS,
    **indexing.ROWS,
    **scatters.ROWS,
    **extrema.ROWS,
    **sequences.ROWS,
    **sorting.ROWS,
    **alignments.ROWS,
    **pools.ROWS,
    **factors.ROWS,
    **spectra.ROWS,
    **moves.ROWS,
}


def call_records(call: Call, places: Places, number: int, commit: bool) -> list[Record]:
    """The records of any call. Raises E-DEVICE-OPERATION for a node that is not taken."""
    if isinstance(call, KernelCall):
        return [*launched(applied(call, places), places, number, commit)]
    if isinstance(call, Repeat):
        return [_loop(call, places, number)]
    return _node(call, places, number, commit)


def _node(call: NodeCall, places: Places, number: int, commit: bool) -> list[Record]:
    operation = call.node.operation
    lower = LIBRARY.get(operation)
    if lower is None:
        raise problem(
            "E-DEVICE-OPERATION",
            f"cuda has no {operation}",
            hint="`--device cpu` has it",
            operation=operation,
            device="cuda",
        )
    frame = Frame(call, places, number)
    frame.commit = commit
    lower(frame)
    return frame.records


def _loop(call: Repeat, places: Places, number: int) -> Loop:
    first = BodyPlaces(call, places, 0, [])
    ahead = _body(call.plan, first, number)
    behind = _body(call.plan, BodyPlaces(call, places, 1, first.given), number)
    test = 0 if call.test is None else places.address(call.test)
    return Loop(ahead, behind, call.limit, test, number)


def _body(plan: Plan, places: Places, number: int) -> tuple[Record, ...]:
    found: list[Record] = []
    for call in plan.calls:
        found += call_records(call, places, number, False)
    return tuple(found)


class BodyPlaces(Places):
    """Addresses in a trip of a loop's body. `given`: addresses of the room that calls asked for,
    in order; the second trip is given the same again."""

    def __init__(self, call: Repeat, around: Places, trip: int, given: list[int]) -> None:
        super().__init__(call.plan, around.regions, around.rooms, around.gate, around.errors)
        self.kept, self.words = around.kept, around.words
        self.libraries, self.refused = around.libraries, around.refused
        self.given = given
        self._around = around
        self._at = 0 if trip else -1
        self._room = around.address(call.room)
        self._bound = {b.name: b for b in call.bound}
        self._trip = trip
        self._constants = {n: self._data(v) for n, v in call.plan.constants.items()}

    def address(self, storage: int) -> int:
        buffer = self.plan.buffers[storage]
        if buffer.region is Region.BOUND:
            bound = self._bound[buffer.name]
            elements = bound.offset + self._trip * bound.step
            return self._around.address(bound.storage) + elements * WIDTH[buffer.type.dtype]
        if buffer.region is Region.INPUT:
            return self._constants[storage]
        return self._room + buffer.offset

    def multiple(self, storage: int) -> int:
        buffer = self.plan.buffers[storage]
        if buffer.region is not Region.BOUND:
            return super().multiple(storage)
        bound, width = self._bound[buffer.name], WIDTH[buffer.type.dtype]
        start = self._around.multiple(bound.storage)
        return math.gcd(start, bound.offset * width, bound.step * width)

    def extra(self, size: int) -> int:
        return self._again(lambda: self._around.extra(size))

    def block(self, count: int) -> int:
        return self._again(lambda: self._around.block(count))

    def _data(self, values: object) -> int:
        """Address of a table's data."""
        import numpy as np

        array = np.ascontiguousarray(values)
        address = self._again(lambda: self._around.extra(max(array.nbytes, 1)))
        self.rooms.write(address, array)
        return address

    def _again(self, made: Callable[[], int]) -> int:
        if self._at < 0:
            self.given.append(made())
            return self.given[-1]
        self._at += 1
        return self.given[self._at - 1]
