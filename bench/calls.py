"""Time of each call of a step, one thread: `python bench/calls.py FILE [KNOB=VALUE ...]`.

Every piece of work is run alone, many times, over the buffers of a real step; the least of its
times is printed, the dearest first, with what it is and where it came from in the file.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections import defaultdict
from typing import Any

from ours import context

from sexpgpu_core import api
from sexpgpu_core.ir.scalars import evaluate
from sexpgpu_core.kernels.kernel import KernelCall, Repeat

ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
REPEATS = 15


def least(function: Any, block: int, cells: int) -> float:
    """Microseconds of the fastest of some runs."""
    best = 1e9
    for _ in range(REPEATS):
        start = time.perf_counter()
        function(block, 0, cells)
        best = min(best, time.perf_counter() - start)
    return best * 1e6


def describe(unit: Any, call: Any) -> tuple[str, str]:
    """What a call is, and the scopes of its first nodes."""
    graph = unit.graph
    if isinstance(call, KernelCall):
        what = f"kernel {call.kernel.key()[:8]} {call.outer}x{call.kernel.inner}"
        what += " folded" if call.kernel.folded else ""
        ops = [e.op for e in call.kernel.expressions if e.op not in ("load", "literal", "uniform")]
        what += " " + " ".join(sorted(set(ops)))[:60]
    elif isinstance(call, Repeat):
        what = f"{call.node.operation} of {call.limit} trips: {len(call.body.calls)} calls each"
    else:
        shapes = " x ".join(str(v.shape) for v in call.inputs)
        what = f"{call.node.operation} {shapes}"
    origins = [graph.origins.get(n) for n in call.nodes[:40]]
    scopes = {o[0].scope + ("'" if o[0].grad else "") for o in origins if o}
    return what, " ".join(sorted(scopes))[:60]


def main() -> None:
    file, *knobs = sys.argv[1:]
    loaded = api.load(file, sets=[tuple(k.split("=", 1)) for k in knobs])  # type: ignore[misc]
    device = api.device("cpu", loaded.registry)
    job = api.compile(loaded, device).job
    session: Any = device.open(job.units, job.persistent, threads=1)
    for name in job.persistent.types:
        session.write(name, job.initial(name))
    stage = next(iter(job.stages.values()))
    batch = loaded.loaders[stage.loader].batch(stage.stage, 0, stage.step.fields)
    scalars = {n: evaluate(t, context(200, 2000)) for n, t in stage.step.scalars.items()}
    program = session.program(stage.step.program)
    start = time.perf_counter()
    program.launch(batch, scalars).outcome()
    times = []
    for _ in range(20):
        start = time.perf_counter()
        program.launch(batch, scalars).outcome()
        times.append(time.perf_counter() - start)
    unit = next(u for u in job.units if u.name == stage.step.program)
    rows = measure(session, program, unit)
    total = sum(us for us, _, _ in rows)
    sums: dict[str, float] = defaultdict(float)
    for us, what, _ in rows:
        sums[what.split()[0]] += us
    for us, what, scope in sorted(rows, reverse=True):
        sys.stdout.write(f"{us:9.1f} us  {what:<90} {scope}\n")
    kinds = "  ".join(f"{kind} {us / 1e3:.2f} ms" for kind, us in sums.items())
    sys.stdout.write(f"step {min(times) * 1e3:.2f} ms, calls {total / 1e3:.2f} ms: {kinds}\n")


def measure(session: Any, program: Any, unit: Any) -> list[tuple[float, str, str]]:
    """(microseconds, what, where) of each piece of work."""
    rows = []
    draft = program._draft
    for work in draft.works:
        words = list(work.words)
        for word, code, name in work.links:
            words[word] = session.code[code.key, name]
        scratch = ctypes.create_string_buffer(work.scratch + 64)
        if work.scratch:
            words[work.scratch_word] = -(-ctypes.addressof(scratch) // 64) * 64
        if work.error >= 0:
            words[work.error] = draft.errors.address
        block = (ctypes.c_int64 * max(len(words), 1))(*words)
        function = ENTRY(session.code[work.unit.key, work.name])
        us = least(function, ctypes.addressof(block), work.cells)
        what, scope = describe(unit, draft.plan.calls[work.call])
        rows.append((us, f"{what} [{work.cells} cells]", scope))
    return rows


if __name__ == "__main__":
    main()
