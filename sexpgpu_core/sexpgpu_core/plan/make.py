"""A schedule to a plan: calls in order, every storage at an address of its region."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..ir.types import Type
from ..kernels.kernel import Call, Repeat, Schedule, Storage, View
from .inplace import successors
from .memory import Lifetime, aligned, place, stack
from .order import Touch, order_calls, touches
from .plan import Buffer, Persistent, Plan, Region, Result
from .verify import verify_plan

REGION = {
    "temp": Region.TRANSIENT,
    "batch": Region.INPUT,
    "scalar": Region.SCALAR,
    "parameter": Region.PERSISTENT,
    "optimizer": Region.PERSISTENT,
    "state": Region.PERSISTENT,
    "ema": Region.PERSISTENT,
    "rows": Region.PERSISTENT,
    "persistent": Region.PERSISTENT,
    "residue": Region.PERSISTENT,
    "constant": Region.PERSISTENT,
    "body": Region.BOUND,
}
"""Where a storage of that kind lives; results that are temps live in OUTPUT."""


def layout_persistent(types: Mapping[str, Type]) -> Persistent:
    """The PERSISTENT region of a run, by persistent name ("parameter:PATH"), in the given order."""
    offsets, total = stack({name: t.bytes for name, t in types.items()})
    return Persistent({str(k): v for k, v in offsets.items()}, dict(types), total)


def make_plan(name: str, schedule: Schedule, persistent: Persistent) -> Plan:
    """Order the calls, place the buffers, check the plan. Cost: about 10 us a buffer."""
    storages = schedule.storages
    _plan_bodies(name, schedule)
    kept = {v.storage for v in schedule.results.values()}
    if schedule.verdict is not None:
        kept.add(schedule.verdict)
    given = touches(schedule.calls)
    order = order_calls(storages, given, schedule.commit, frozenset(kept))
    calls = [schedule.calls[i] for i in order]
    touched = [given[i] for i in order]
    first, last = lifetimes(touched)
    end = max(len(calls) - 1, 0)
    for s in kept:
        first.setdefault(s, 0)
        last[s] = end
    regions = [_region(s, kept) for s in storages]
    offsets, sizes = _offsets(storages, calls, touched, first, last, regions, persistent)
    buffers = [
        Buffer(
            s.id,
            s.type,
            region,
            offsets[s.id],
            aligned(s.type.bytes),
            first.get(s.id, 0),
            last.get(s.id, 0),
            _name(s, region),
        )
        for s, region in zip(storages, regions)
    ]
    plan = Plan(
        name,
        calls,
        schedule.commit,
        tuple(buffers),
        tuple(_result(n, v, storages) for n, v in schedule.results.items()),
        schedule.verdict,
        sizes,
        {s.id: s.constant for s in storages if s.constant is not None},
    )
    verify_plan(plan, touched, storages)
    return plan


def _plan_bodies(name: str, schedule: Schedule) -> None:
    """Plans the bodies of loops, which say how much room their own storages take."""
    for call in schedule.calls:
        if isinstance(call, Repeat):
            call.plan = make_plan(f"{name}/{call.node!r}", call.body, layout_persistent({}))
            size = call.plan.bytes[Region.TRANSIENT]
            schedule.storages[call.room].type = Type("u8", (size,))


def lifetimes(calls: Sequence[Touch]) -> tuple[dict[int, int], dict[int, int]]:
    """First and last call that touches each storage."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for i, (reads, writes) in enumerate(calls):
        for s in reads | writes:
            first.setdefault(s, i)
            last[s] = i
    return first, last


def _region(storage: Storage, kept: set[int]) -> Region:
    if storage.constant is not None:
        return Region.INPUT
    region = REGION[storage.kind]
    return Region.OUTPUT if region is Region.TRANSIENT and storage.id in kept else region


def _offsets(
    storages: Sequence[Storage],
    calls: Sequence[Call],
    touched: Sequence[Touch],
    first: dict[int, int],
    last: dict[int, int],
    regions: Sequence[Region],
    persistent: Persistent,
) -> tuple[dict[int, int], dict[Region, int]]:
    transient = {s.id for s, r in zip(storages, regions) if r is Region.TRANSIENT and s.id in first}
    lives = [Lifetime(i, storages[i].type.bytes, first[i], last[i]) for i in sorted(transient)]
    heirs = successors(storages, calls, touched, first, last, transient)
    offsets, top = place(lives, heirs)
    sizes = {Region.TRANSIENT: top, Region.PERSISTENT: persistent.bytes}
    for region in (Region.INPUT, Region.SCALAR, Region.OUTPUT):
        stacked, sizes[region] = stack(_sizes(storages, regions, region))
        offsets.update({int(str(k)): v for k, v in stacked.items()})
    for storage, region in zip(storages, regions):
        if region is Region.PERSISTENT:
            offsets[storage.id] = persistent.offsets[persistent_name(storage)]
        offsets.setdefault(storage.id, 0)  # a storage that no call touches
    return offsets, sizes


def _sizes(
    storages: Iterable[Storage], regions: Iterable[Region], region: Region
) -> dict[int, int]:
    return {s.id: s.type.bytes for s, r in zip(storages, regions) if r is region}


def persistent_name(storage: Storage) -> str:
    """ "KIND:NAME" of a persistent storage; a name that has its kind already stays."""
    prefix = storage.kind + ":"
    return storage.name if storage.name.startswith(prefix) else prefix + storage.name


def _name(storage: Storage, region: Region) -> str:
    return persistent_name(storage) if region is Region.PERSISTENT else storage.name


def _result(name: str, view: View, storages: Sequence[Storage]) -> Result:
    type = Type(view.dtype, view.shape)
    if view.offset != 0 or not dense(view) or storages[view.storage].type.size < type.size:
        raise AssertionError(f"result {name} is not dense in its buffer: {view}")
    return Result(name, view.storage, type)


def dense(view: View) -> bool:
    """Whether the elements stand one after another in row-major order."""
    step = 1
    for size, stride in zip(reversed(view.shape), reversed(view.strides)):
        if size != 1 and stride != step:
            return False
        step *= size
    return True
