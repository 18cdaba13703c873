"""What a run will take on a machine whose speed was measured: seconds a step, seconds in all.

A roofline: a call takes as long as its arithmetic or its bytes, whichever is longer. It knows
nothing of data that is waited for, nor of what else the machine does. `speed` measures.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..caches import recalled, remembered
from ..plan.work import Work
from ..records import NamedTuple
from ..staging.optimize import cycle
from .stages import observer_of, steps_of
from .summary import shared_bytes

if TYPE_CHECKING:
    from .pipeline import Compiled
    from .stages import PassTrace
    from .traces import Traces

VERSION = 3
KIND = "speeds"
ERROR = 2.0
"""A prediction is within this factor of the truth on a machine that does nothing else."""

Speeds = tuple[tuple[int, float], ...]


class Speed(NamedTuple):
    """Of a device with so many threads. `product`, `convolution`: (FLOPs of a call, FLOP/s) from
    small ones to great ones; `moved`: (bytes that a program works on, bytes/s); `operations`:
    additions/s; `call`, `launch`: seconds that a call, and a launch with what the loop does, cost
    beside. `save`: seconds of a checkpoint of nothing, whose files are synced; `written`: bytes/s
    of a great one."""

    product: Speeds
    moved: Speeds
    operations: float
    call: float
    launch: float
    threads: int
    convolution: Speeds
    save: float
    written: float

    @property
    def basis(self) -> str:
        """In words."""
        best = max(rate for _, rate in self.product)
        convolved = max(rate for _, rate in self.convolution)
        rates = [rate for _, rate in self.moved]
        return (
            f"roofline: {self.threads} threads, {best / 1e9:.0f} GFLOP/s in products, "
            f"{convolved / 1e9:.0f} in convolutions, "
            f"{self.operations / 1e9:.0f} Gop/s, "
            f"{min(rates) / 1e9:.0f} to {max(rates) / 1e9:.0f} GB/s, measured on this machine"
        )

    def facts(self) -> dict[str, Any]:
        """For documents: FLOP/s of products, additions/s, bytes/s where much is moved."""
        return {
            "product_per_s": max(rate for _, rate in self.product),
            "convolution_per_s": max(rate for _, rate in self.convolution),
            "operations_per_s": self.operations,
            "bytes_per_s": self.moved[-1][1],
            "call_s": self.call,
            "threads": self.threads,
        }


class Workload(NamedTuple):
    """`work`: program -> rows of one launch as plan.work.Work has them; `launches`: how often each
    is launched in the whole run; `bytes`: that the programs work on; `saves`: checkpoints that fall
    due, of `saved` bytes each."""

    work: Mapping[str, Sequence[Sequence[int]]]
    launches: Mapping[str, int]
    step: str  # the program of a step
    flops: int
    bytes: int
    saves: int = 0
    saved: int = 0


def known(device: str, threads: int | None) -> Speed | None:
    """A speed that was measured before; nothing is measured here."""
    found = recalled(KIND, _stamp(device, threads))
    return _speed(found) if found is not None else None


def measured(device: Any, operations: Any, threads: int | None, anew: bool = False) -> Speed:
    """The speed of a device, measured (about a second) where it is not known."""
    from .speed import measure

    def make() -> Any:
        return measure(device, operations, threads or 0)

    return _speed(remembered(KIND, _stamp(device.name, threads), make, anew=anew))


def _stamp(device: str, threads: int | None) -> tuple[Any, ...]:
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    asked = threads or os.environ.get("SEXPGPU_THREADS", "")
    return VERSION, device, str(asked or there), there, os.uname().nodename


def _speed(found: Sequence[Any]) -> Speed:
    product, moved, operations, call, launch, threads, convolution, save, written = found

    def points(of: Sequence[Sequence[float]]) -> Speeds:
        return tuple((int(size), float(rate)) for size, rate in of)

    return Speed(
        points(product), points(moved), operations, call, launch, threads, points(convolution),
        save, written,
    )  # fmt: skip


def predicted(load: Workload, speed: Speed) -> dict[str, Any]:
    """The key `predicted` of schemas/explain.json."""
    each = {name: _launch(rows, load.bytes, speed) for name, rows in load.work.items()}
    total = sum(each[name] * count for name, count in load.launches.items() if name in each)
    moved = sum(row[2] * row[3] for row in load.work[load.step])
    return {
        "step_s": _rounded(each[load.step]),
        "flops_per_step": load.flops,
        "bytes_per_step": moved,
        "total_s": _rounded(_with_saves(total, load, speed)),
        "basis": speed.basis,
    }


def _with_saves(seconds: float, load: Workload, speed: Speed) -> float:
    """Checkpoints are written beside the steps, one after another: a save waits for the one before,
    and the end for the last."""
    if not load.saves:
        return seconds
    each = speed.save + load.saved / speed.written
    return max(seconds + each, seconds / load.saves + load.saves * each)


def _rounded(seconds: float) -> float:
    return float(f"{seconds:.4g}")


def _launch(rows: Iterable[Sequence[int]], footprint: int, speed: Speed) -> float:
    every = [Work(*row) for row in rows]
    return speed.launch + sum(w.calls * call_seconds(w, footprint, speed) for w in every)


def call_seconds(work: Work, footprint: int, speed: Speed) -> float:
    """Of one of the calls, in a program that works on `footprint` bytes."""
    arithmetic = work.operations / speed.operations
    for done, points in ((work.product, speed.product), (work.convolution, speed.convolution)):
        if done:
            arithmetic += done / _between(points, done)
    arithmetic *= work.width
    return speed.call + max(arithmetic, work.bytes / _between(speed.moved, footprint))


def _between(points: Speeds, at: int) -> float:
    """A speed at a size: that of the nearest sizes, between them by the logarithm of the size."""
    if at <= points[0][0]:
        return points[0][1]
    for (low, slow), (high, quick) in itertools.pairwise(points):
        if at < high:
            share = math.log(at / low) / math.log(high / low)
            return slow + share * (quick - slow)
    return points[-1][1]


def launches(traces: Traces) -> dict[str, int]:
    """How often each program is launched, as far as curriculum and targets say before the run."""
    found: dict[str, int] = {}
    for key, steps in _steps(traces).items():
        stage = traces.stages[key]
        course = cycle(stage.optimization)
        names = {due: n for n, due in steps_of(key, stage, traces.stages).items()}
        for at, due in enumerate(course):
            name = names.get(due) or next(iter(names.values()))
            found[name] = found.get(name, 0) + (steps - at - 1) // len(course) + 1
        every = traces.experiment.run.diagnostics.every
        found[observer_of(key, traces.stages)] = steps // every if every else 0
    for name, trace in traces.passes.items():
        times = _times(trace, traces.steps)
        whole, rest = traces.tracing.loaders[trace.loader].evaluation_rows(
            trace.stage, trace.declared.batches
        )
        program = f"eval/{name}"
        found.update({program: times * whole, f"{program}/rest": times * bool(rest)})
        found[f"{program}/end"] = times
    return found


def _steps(traces: Traces) -> dict[str, int]:
    """Steps of each stage."""
    if traces.ahead is None or not traces.ahead.borders:
        return {next(iter(traces.stages)): traces.steps}
    borders = traces.ahead.borders
    ends = [*(first for _, first in borders[1:]), traces.steps]
    found: dict[str, int] = {}
    for (key, first), end in zip(borders, ends):
        found[key] = found.get(key, 0) + max(0, end - first)
    return found


def _times(trace: PassTrace, steps: int) -> int:
    """How often a pass runs (R16)."""
    every, at = trace.declared.every, trace.declared.at
    if not every and not at:
        return 1
    points = {int(a) for a in at if not isinstance(a, str) and 0 <= int(a) <= steps}
    regular = steps // every if every else 0
    own = [p for p in points if not (every and p and p % every == 0)]
    ends = any(isinstance(a, str) for a in at) and not (every and steps % every == 0)
    return regular + len(own) + (ends and steps not in points)


def saves(traces: Traces) -> int:
    """Checkpoints that fall due, that of the end among them; which are best is not known before."""
    declared, last = traces.experiment.run.checkpoint, traces.steps
    own = {at for at in declared.at if not isinstance(at, str) and at < last}
    if declared.every:
        own = {at for at in own if not at or at % declared.every}
        return max(0, last - 1) // declared.every + len(own) + 1
    return len(own) + 1


def forecast(compiled: Compiled, operations: Any, speed: Speed) -> dict[str, Any]:
    """`predicted` of what was compiled."""
    from ..plan.work import works

    work, summary = works(compiled.job.units, operations), compiled.job.summary
    peak = summary["memory"]["peak_bytes"]
    saved = compiled.job.persistent.saved_bytes
    load = workload(work, compiled.traces, summary["flops_per_step"], peak, saved)
    return predicted(load, speed)


def workload(
    work: Mapping[str, Sequence[Sequence[int]]],
    traces: Traces,
    flops: int,
    footprint: int,
    saved: int,
) -> Workload:
    """`work`: of every program; the step is that of the first stage. `saved`: bytes of all that
    is persistent."""
    key = next(iter(traces.stages))
    first = next(iter(steps_of(key, traces.stages[key], traces.stages)))
    times, each = saves(traces), saved - shared_bytes(traces)
    return Workload(work, launches(traces), first, flops, footprint, times, max(0, each))
