"""How fast a device is: small programs of known work, launched and timed, the best of a few.

They go the way of every program: graph, kernels, plan, session. So any device can be measured, and
what is measured is what a run will have.
"""

from __future__ import annotations

import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..caches import cache_folder
from ..checkpoint.disk import Disk
from ..device import Device, Unit
from ..ir import Builder, Operations, Value
from ..plan.make import layout_persistent
from ..plan.work import Work, works
from ..records import NamedTuple
from .phases import Phases
from .programs import Target, make_unit

if TYPE_CHECKING:
    from ..device import Session

TIMES = 5
LONG = 0.1
"""Seconds of a launch after which greater ones are not tried."""
PATIENCE = 0.5
"""Seconds after which a trial is not repeated: a launch that another program held up is."""
GREAT = 1 << 24
"""Bytes of a checkpoint by which the speed of writing is measured."""
LOOP = 1.2e-4
"""Seconds that the loop takes for a step beside its launch: batch, step scalars, events."""


class Trial(NamedTuple):
    """`build` makes a chain of `times` calls on x of a shape, whose elements are all `value`."""

    shape: tuple[int, ...]
    value: float
    times: int
    build: Callable[[Builder, Value, Value], Value]


def _product(b: Builder, y: Value, x: Value) -> Value:
    return b("matmul", y, x)


def _maths(b: Builder, y: Value, x: Value) -> Value:
    return b("tanh", b("exp", y))


def _swept(b: Builder, y: Value, x: Value) -> Value:
    """Two calls: what is summed over all rows is no part of the kernel that adds it to each."""
    return b("add", y, b("reduce-max", y, axes=(0,), keep=True))


def _convolved(b: Builder, y: Value, x: Value) -> Value:
    """A convolution of 3 x 3 and its two gradients, as a step of training has them."""
    channels = y.shape[-1]
    kernel = (3, 3, channels, channels)
    how: dict[str, Any] = {
        "strides": (1, 1),
        "dilations": (1, 1),
        "padding": ((1, 1), (1, 1)),
        "groups": 1,
    }
    one = b("constant", value=0.1 / channels, dtype="f32", shape=())
    w = b("broadcast-to", one, shape=kernel)
    made = b("conv", y, w, **how)
    grad = b("conv-weight-gradient", y, made, **{"kernel-shape": kernel}, **how)
    return b("conv-input-gradient", made, grad, **{"input-shape": y.shape}, **how)


PRODUCTS = tuple(Trial((n, n), 1.0 / n, t, _product) for n, t in ((16, 64), (64, 32), (384, 4)))
TRIALS: dict[str, tuple[Trial, ...]] = {
    "product": PRODUCTS,
    "convolution": (
        Trial((8, 8, 8, 8), 0.1, 4, _convolved),
        Trial((16, 28, 28, 32), 0.1, 1, _convolved),
    ),
    "maths": (Trial((1 << 16,), 0.5, 4, _maths),),
    "sweep": tuple(Trial((n, n), 0.0, t, _swept) for n, t in ((128, 16), (640, 4), (3072, 1))),
}
"""From small to great. The first product is so small that it shows what a call costs."""
RATES = {
    "product": "product",
    "convolution": "convolution",
    "maths": "operations",
    "sweep": "bytes",
}
"""What work each kind measures the speed of."""


def measure(device: Device, operations: Operations, threads: int) -> list[Any]:
    """Fields of forecast.Speed, as JSON has them. Raises what `open` does."""
    facts = device.probe()
    units = {
        f"{kind} {t.shape[0]}": _unit(f"{kind} {t.shape[0]}", t, device, operations)
        for kind, trials in TRIALS.items()
        for t in trials
    }
    session = device.open(list(units.values()), layout_persistent({}), threads=threads)
    try:
        found = _speeds(session, units, operations, threads or facts.cores or 1)
        return [*found, *_writing(cache_folder())]
    finally:
        session.close()


def _writing(folder: Path) -> tuple[float, float]:
    """Seconds of a checkpoint of nothing, and bytes/s of a great one: its files as they are
    written, beside the caches. Where nothing can be written both cost nothing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".tmp-") as scratch:
            small = statistics.median(_saved(Path(scratch, str(n)), 64) for n in range(TIMES))
            great = min(_saved(Path(scratch, f"great-{n}"), GREAT) for n in range(TIMES))
    except OSError:
        return 0.0, 1e18
    return small, GREAT / max(great - small, 0.1 * great)


def _saved(folder: Path, size: int) -> float:
    """Seconds of writing a checkpoint: parameters, optimizer, states, the manifest last; a log that
    is synced before its name is there."""
    disk, piece = Disk(), bytes(min(size, 1 << 20))
    start = time.perf_counter()
    disk.make(folder)
    for name, pieces in (("a", size // len(piece)), ("b", 1), ("c", 1), ("last", 1), ("log", 1)):
        disk.write(folder / name, [piece] * pieces if name == "a" else [piece[:64]])
    disk.sync(folder)
    disk.rename(folder, folder.with_suffix(".whole"))
    disk.sync(folder.parent)
    return time.perf_counter() - start


def _unit(name: str, trial: Trial, device: Device, operations: Operations) -> Unit:
    b = Builder(operations)
    x = y = b("input", name="x", kind="batch", dtype="f32", shape=trial.shape)
    for _ in range(trial.times):
        y = trial.build(b, y, x)
    b.graph.results["output:y"] = b(
        "reduce-max", y, axes=tuple(range(len(trial.shape))), keep=False
    )
    target = Target(device, operations, "f32", Phases())
    return make_unit(name, b.graph, layout_persistent({}), target)


def _speeds(
    session: Session, units: Mapping[str, Unit], operations: Operations, threads: int
) -> list[Any]:
    rows = works(units.values(), operations)
    seconds = {kind: list(_timed(session, kind, trials)) for kind, trials in TRIALS.items()}
    tiny = f"product {PRODUCTS[0].shape[0]}"
    call = seconds["product"][0][2] / sum(r.calls for r in rows[tiny])
    rates = {
        kind: [(size, _rate(rows[name], of, took, call)) for name, size, took in seconds[kind]]
        for kind, of in RATES.items()
    }

    def by_flops(kind: str) -> list[tuple[int, float]]:
        return [
            (max(getattr(row, kind) for row in rows[name]), rate)
            for (name, _, _), (_, rate) in zip(seconds[kind], rates[kind])
        ]

    product = by_flops("product")
    return [
        product[1:] or product,
        rates["sweep"],
        rates["maths"][0][1],
        call,
        call + LOOP,
        threads,
        by_flops("convolution"),
    ]


def _timed(
    session: Session, kind: str, trials: Sequence[Trial]
) -> Iterator[tuple[str, int, float]]:
    """Name, bytes that it works on, seconds, of trials from small to great, while none is long."""
    for trial in trials:
        name = f"{kind} {trial.shape[0]}"
        seconds = _best(session, name, trial)
        yield name, 3 * 4 * math.prod(trial.shape), seconds
        if seconds > LONG:
            return


def _rate(rows: list[Work], of: str, seconds: float, call: float) -> float:
    """Of a second, without what calls cost whatever they do."""
    done: int = sum(getattr(r, of) * r.calls for r in rows)
    own = seconds - call * sum(r.calls for r in rows)
    return done / max(own, 0.1 * seconds)


def _best(session: Session, name: str, trial: Trial) -> float:
    """The first launch meets memory that nobody has touched: it counts where it is long alone."""
    import numpy as np

    batch = {"x": np.full(trial.shape, trial.value, np.float32)}
    program, best, spent = session.program(name), math.inf, 0.0
    for number in range(1 + TIMES):
        start = time.perf_counter()
        program.launch(batch, {}).outcome()
        took = time.perf_counter() - start
        best = took if number == 1 else min(best, took)
        spent += took
        if took > 10 * LONG or (number and spent > PATIENCE):
            break
    return best
