"""What must hold of a plan before a device trusts it. One that fails is our bug."""

from __future__ import annotations

from collections.abc import Sequence

from ..kernels.kernel import KernelCall, Storage
from .inplace import may_share
from .order import Touch, touches
from .plan import Buffer, Plan, Region


class PlanError(AssertionError):
    """A plan that would corrupt memory."""


def verify_plan(plan: Plan, storages: Sequence[Storage]) -> None:
    """Raises PlanError: a read before its write, a commit out of place, a persistent value read
    after it was written, overlapping lifetimes."""
    calls = touches(plan.calls)
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


def _check_overlap(plan: Plan, calls: Sequence[Touch], storages: Sequence[Storage]) -> None:
    transient = [b for b in plan.buffers if b.region is Region.TRANSIENT and _touched(calls, b)]
    if any(b.offset + b.bytes > plan.bytes[Region.TRANSIENT] for b in transient):
        raise PlanError(f"{plan.name}: a buffer reaches beyond the region")
    alive: list[tuple[int, int, int, Buffer]] = []
    for new in sorted(transient, key=lambda b: b.first):
        first, start, stop = new.first, new.offset, new.offset + new.bytes
        alive = [b for b in alive if b[0] >= first]
        for _, low, high, old in alive:
            if low < stop and start < high and not _in_place(plan, storages, old, new):
                raise PlanError(f"{plan.name}: buffers {old.id} and {new.id} share bytes")
        alive.append((new.last, start, stop, new))


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
