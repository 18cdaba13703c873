"""Our process of the step benchmark: reads `block N`, takes N steps, answers the median ms.

Usage: worker_sexpgpu.py THREADS [FILE [KNOB=VALUE ...]]. Steps are whole launches of the step
program on one batch, scalars and results included, as the loop makes them.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from sexpgpu_core import api
from sexpgpu_core.ir.scalars import evaluate

CHARS = Path(__file__).parents[1] / "examples" / "chars.lisp"
CONTEXT = {
    "step": 200, "updates": 200, "progress": 0.1, "stage-step": 200, "stage-progress": 0.1,
    "epoch": 0, "epoch-progress": 0.1, "examples": 2400, "tokens": 153600,
}  # fmt: skip


def main() -> None:
    threads = int(sys.argv[1])
    file = Path(sys.argv[2]) if len(sys.argv) > 2 else CHARS
    sets = [tuple(a.split("=", 1)) for a in sys.argv[3:]]
    loaded = api.load(file, sets=sets)  # type: ignore[arg-type]
    device = api.device("cpu", loaded.registry)
    job = api.compile(loaded, device).job
    session = device.open(job.units, job.persistent, threads=threads)
    for name in job.persistent.types:
        session.write(name, job.initial(name))
    stage = next(iter(job.stages.values()))
    batch = loaded.loaders[stage.loader].batch(stage.stage, 0, stage.step.fields)
    program = session.program(stage.step.program)
    scalars = {name: evaluate(tree, CONTEXT) for name, tree in stage.step.scalars.items()}

    def step() -> None:
        program.launch(batch, scalars).outcome()

    for _ in range(5):
        step()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        times = []
        for _ in range(int(line.split()[1])):
            start = time.perf_counter()
            step()
            times.append(time.perf_counter() - start)
        sys.stdout.write(f"{1e3 * statistics.median(times):.4f}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
