"""What must hold of a plan before a device trusts it. One that fails is our bug."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence

from ..kernels.kernel import KernelCall, Storage
from .inplace import may_share
from .order import Touch
from .plan import Buffer, Plan, Region


class PlanError(AssertionError):
    """A plan that would corrupt memory."""


def verify_plan(plan: Plan, calls: Sequence[Touch], storages: Sequence[Storage]) -> None:
    """Raises PlanError: a read before its write, a commit out of place, a persistent value read
    after it was written, overlapping lifetimes. `calls`: what each of the plan's touches."""
    _check_commit(plan, calls)
    _check_order(plan, calls)
    _check_overlap(plan, calls, storages)


def _check_commit(plan: Plan, calls: Sequence[Touch]) -> None:
    for i, (_, writes) in enumerate(calls):
        regions = [plan.buffers[s].region for s in writes]
        if Region.PERSISTENT in regions and i < plan.commit:
            raise PlanError(f"{plan.name}: call {i} writes persistent memory before the commit")
        if Region.INPUT in regions or Region.SCALAR in regions:
            raise PlanError(f"{plan.name}: call {i} writes an input")
    if plan.commit < len(plan.calls) and plan.verdict is not None:
        region = plan.buffers[plan.verdict].region
        if region not in (Region.OUTPUT, Region.TRANSIENT):
            raise PlanError(f"{plan.name}: the verdict stands in {region.value} memory")


def _check_order(plan: Plan, calls: Sequence[Touch]) -> None:
    """Temps are written before they are read, if there is an element to write; a donated value
    has no reader after its writer."""
    written: set[int] = set()
    for i, (reads, writes) in enumerate(calls):
        for s in reads - writes:
            region = plan.buffers[s].region
            made = s in written or plan.buffers[s].type.size == 0
            if region in (Region.TRANSIENT, Region.OUTPUT) and not made:
                raise PlanError(f"{plan.name}: call {i} reads buffer {s} before it is written")
            if region is Region.PERSISTENT and s in written and not _averages(plan, writes):
                name = plan.buffers[s].name
                raise PlanError(f"{plan.name}: call {i} reads {name} after it was committed")
        written |= writes


def _averages(plan: Plan, writes: set[int]) -> bool:
    """Whether the call makes an EMA, the one value that is made of a new parameter (45.1)."""
    return any(plan.buffers[s].name.startswith("ema:") for s in writes)


Span = tuple[int, int, int]
"""(first byte, byte after the last, buffer)."""


def _check_overlap(plan: Plan, calls: Sequence[Touch], storages: Sequence[Storage]) -> None:
    transient = [b for b in plan.buffers if b.region is Region.TRANSIENT and _touched(calls, b)]
    if any(b.offset + b.bytes > plan.bytes[Region.TRANSIENT] for b in transient):
        raise PlanError(f"{plan.name}: a buffer reaches beyond the region")
    alive: list[Span] = []  # ascending
    ends: dict[int, list[Span]] = {}  # by the last call
    now = 0
    for new in sorted(transient, key=lambda b: b.first):
        for call in range(now, new.first):
            for span in ends.pop(call, ()):
                del alive[bisect_left(alive, span)]
        now = new.first
        mine = (new.offset, new.offset + new.bytes, new.id)
        for other in _sharing(alive, mine):
            if not _in_place(plan, storages, plan.buffers[other], new):
                raise PlanError(f"{plan.name}: buffers {other} and {new.id} share bytes")
        insort(alive, mine)
        ends.setdefault(new.last, []).append(mine)


def _sharing(alive: list[Span], new: Span) -> Iterator[int]:
    """Buffers that share a byte with a new one. Of those alive none shares a part of another (in
    place it is all), so that only neighbours can."""
    start, stop, _ = new
    at = bisect_left(alive, new)
    for low, _, buffer in alive[at:]:
        if low >= stop:
            break
        yield buffer
    for _, high, buffer in reversed(alive[:at]):
        if high <= start:
            break
        yield buffer


def _touched(calls: Sequence[Touch], buffer: Buffer) -> bool:
    return bool(calls) and (
        buffer.id in calls[buffer.first].reads or buffer.id in calls[buffer.first].writes
    )


def _in_place(plan: Plan, storages: Sequence[Storage], old: Buffer, new: Buffer) -> bool:
    call = plan.calls[new.first]
    return (
        old.last == new.first
        and old.offset == new.offset
        and isinstance(call, KernelCall)
        and old.id in call.reads()
        and old.id not in call.writes()
        and new.id not in call.reads()
        and may_share(storages, call, old.id, new.id)
    )
