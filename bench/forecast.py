"""What was predicted of a run beside what it took: `python bench/forecast.py`.

digits, mnist and chars: milliseconds of a step as `check` tells them, by a speed that is measured
now, over what launches take; and memory as planned, with the copy that a checkpoint is written
from, over what the process grows by. A busy machine is slower than its speed says: the least time
is the fair judge there.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import report

from sexpgpu_core import api
from sexpgpu_core.compile import forecast
from sexpgpu_core.ir.scalars import evaluate

ROOT = Path(__file__).parents[1]
SETS: dict[str, tuple[str, str] | None] = {
    "digits": None,
    "mnist": ("folder", "mnist"),
    "chars": ("text", "tinyshakespeare.txt"),
}


def measured(model: str, data: Path, threads: int, steps: int) -> dict[str, Any]:
    """A row: predicted and true. In a process of its own, whose memory is nobody else's."""
    given = SETS[model]
    sets = [] if given is None else [(given[0], str(data / given[1]))]
    loaded = api.load(ROOT / "examples" / f"{model}.lisp", sets=sets)
    device = api.device("cpu", loaded.registry)
    operations = api.operations(loaded.registry)
    speed = forecast.known("cpu", threads)
    assert speed is not None, "main measures it"
    compiled = api.compile(loaded, device)
    told = forecast.forecast(compiled, operations, speed)
    job, memory = compiled.job, compiled.job.summary["memory"]
    before = resident()
    session = device.open(job.units, job.persistent, threads=threads)
    for name in job.persistent.types:
        session.write(name, job.initial(name))
    stage = next(iter(job.stages.values()))
    loader, program = loaded.loaders[stage.loader], session.program(stage.step.program)
    batches = [loader.batch(stage.stage, at, tuple(stage.step.fields)) for at in range(8)]
    scalars = {n: evaluate(t, _context(job.steps)) for n, t in stage.step.scalars.items()}
    times = []
    for at in range(steps):
        start = time.perf_counter()
        program.launch(batches[at % 8], scalars).outcome()
        times.append(time.perf_counter() - start)
    copy = session.snapshot(list(job.persistent.saved))
    grown = resident() - before
    copy.release()
    session.close()
    times.sort()
    return {
        "model": model,
        "threads": threads,
        "predicted_ms": 1e3 * told["step_s"],
        "least_ms": 1e3 * times[0],
        "median_ms": 1e3 * times[len(times) // 2],
        "predicted_mb": (memory["peak_bytes"] + memory["staging_bytes"]) / 1e6,
        "grown_mb": grown / 1e6,
        "basis": told["basis"],
    }


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measure(threads: int) -> None:
    """The speed of this machine, into the cache."""
    rows = api.plugins()
    forecast.measured(api.device("cpu", rows), api.operations(rows), threads, anew=True)


def _context(steps: int) -> dict[str, float]:
    names = ("step", "updates", "stage-step", "epoch", "examples", "tokens")
    shares = ("progress", "stage-progress", "epoch-progress")
    return dict.fromkeys((*names, *shares), 0.0)


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    options = parser.parse_args()
    report.tell(report.machine())
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        data = gathered(options.data, Path(folder))
        for model in SETS:
            with multiprocessing.get_context("spawn").Pool(1) as one:
                one.apply(measure, (options.threads,))
            with multiprocessing.get_context("spawn").Pool(1) as one:
                given = (model, data, options.threads, options.steps)
                rows.append(one.apply(measured, given))
            report.tell(rows[-1])
    report.finish("forecast", [rows], options.save)


def gathered(data: Path, folder: Path) -> Path:
    """The files by the names that the examples know."""
    (folder / "mnist").mkdir()
    for file in data.glob("mnist_*"):
        (folder / "mnist" / file.name.removeprefix("mnist_")).symlink_to(file)
    (folder / "tinyshakespeare.txt").symlink_to(data / "tinyshakespeare.txt")
    return folder


if __name__ == "__main__":
    main()
