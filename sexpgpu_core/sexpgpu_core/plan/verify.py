"""What must hold of a plan before a device trusts it. One that fails is our bug."""

from __future__ import annotations

from collections.abc import Sequence

from ..kernels.kernel import KernelCall, Storage
from .inplace import may_share
from .plan import Buffer, Plan, Region


class PlanError(AssertionError):
    """A plan that would corrupt memory."""


def verify_plan(plan: Plan, storages: Sequence[Storage]) -> None:
    """Raises PlanError: a read before its write, a commit out of place, a persistent value read
    after it was written, overlapping lifetimes."""
    _check_commit(plan)
    _check_order(plan)
    _check_overlap(plan, storages)


def _check_commit(plan: Plan) -> None:
    for i, call in enumerate(plan.calls):
        persistent = [s for s in call.writes() if plan.buffers[s].region is Region.PERSISTENT]
        if persistent and i < plan.commit:
            raise PlanError(f"{plan.name}: call {i} writes persistent memory before the commit")
        if call.writes() and any(plan.buffers[s].region is Region.INPUT for s in call.writes()):
            raise PlanError(f"{plan.name}: call {i} writes an input")
    if plan.commit < len(plan.calls) and plan.verdict is not None:
        region = plan.buffers[plan.verdict].region
        if region not in (Region.OUTPUT, Region.TRANSIENT):
            raise PlanError(f"{plan.name}: the verdict stands in {region.value} memory")


def _check_order(plan: Plan) -> None:
    """Temps are written before they are read; a donated value has no reader after its writer."""
    written: set[int] = set()
    for i, call in enumerate(plan.calls):
        writes = call.writes()
        for s in call.reads() - writes:
            region = plan.buffers[s].region
            if region in (Region.TRANSIENT, Region.OUTPUT) and s not in written:
                raise PlanError(f"{plan.name}: call {i} reads buffer {s} before it is written")
            if region is Region.PERSISTENT and s in written and not _averages(plan, writes):
                name = plan.buffers[s].name
                raise PlanError(f"{plan.name}: call {i} reads {name} after it was committed")
        written |= writes


def _averages(plan: Plan, writes: set[int]) -> bool:
    """Whether the call makes an EMA, the one value that is made of a new parameter (45.1)."""
    return any(plan.buffers[s].name.startswith("ema:") for s in writes)


def _check_overlap(plan: Plan, storages: Sequence[Storage]) -> None:
    transient = [b for b in plan.buffers if b.region is Region.TRANSIENT and _touched(plan, b)]
    if any(b.offset + b.bytes > plan.bytes[Region.TRANSIENT] for b in transient):
        raise PlanError(f"{plan.name}: a buffer reaches beyond the region")
    alive: list[Buffer] = []
    for new in sorted(transient, key=lambda b: b.first):
        alive = [b for b in alive if b.last >= new.first]
        for old in alive:
            if _overlap(old, new) and not _in_place(plan, storages, old, new):
                raise PlanError(f"{plan.name}: buffers {old.id} and {new.id} share bytes")
        alive.append(new)


def _touched(plan: Plan, buffer: Buffer) -> bool:
    if not plan.calls:
        return False
    call = plan.calls[buffer.first]
    return buffer.id in call.reads() or buffer.id in call.writes()


def _overlap(a: Buffer, b: Buffer) -> bool:
    return a.offset < b.offset + b.bytes and b.offset < a.offset + a.bytes


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
