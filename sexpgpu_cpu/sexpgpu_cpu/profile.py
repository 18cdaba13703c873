"""Where a program's time goes: each piece of work timed alone on the caller's thread."""

from __future__ import annotations

import time

from sexpgpu_core.records import NamedTuple

from .driver import RECORD
from .program import CpuProgram


class RecordTime(NamedTuple):
    """`call`: its number in the plan. Least of several runs, all operands in cache as a step
    leaves them; the sum is below a step's time where memory is the limit."""

    call: int
    name: str
    cells: int
    seconds: float


def record_times(program: CpuProgram, repeats: int = 5) -> list[RecordTime]:
    """In the plan's order. Runs every record, commit included: the session's values change."""
    found = []
    for record, works in program.table.order:
        best = min(_once(program, record) for _ in range(repeats))
        share = best / len(works)
        found += [RecordTime(w.call, w.name, w.cells, share) for w in works]
    return found


def _once(program: CpuProgram, record: int) -> float:
    start = time.perf_counter()
    program.run_record(program.table.table.at(RECORD * record))
    return time.perf_counter() - start
