"""What a run is told to cost beside what it takes: `python bench/costs.py [--steps]`.

Files of unlike kinds, some of them made wide. Memory: peak and the copy that a checkpoint is
written from, as `check` tells them, beside what a process grows by at most (its pages counted anew
before the run, after another run has loaded the libraries; compiling and the loader's data are in
it). Disk: what retention keeps at once, beside the files. Seconds of all steps, passes and saves by
the speed that `devices` measured last, beside those from the first event of a stage to the end.
"""

from __future__ import annotations

import json
import multiprocessing
import tempfile
from pathlib import Path
from typing import Any

import report
from forecast import gathered, measure

from sexpgpu_core import api

ROOT = Path(__file__).resolve().parent.parent
WIDE = {"depth": "4", "width": "512", "context": "128"}
FILES: dict[str, tuple[str, dict[str, str]]] = {
    "digits": ("examples/digits", {}),
    "mnist": ("examples/mnist", {"folder": "mnist", "width": "64"}),
    "vae-mnist": ("examples/vae-mnist", {"folder": "mnist", "hidden": "2000"}),
    "chars": ("examples/chars", {"text": "tinyshakespeare.txt", **WIDE}),
    "masked GPT, 4 microbatches, EMA": (
        "tests/run_files/masked_gpt",
        {"blocks": "4", "width": "512"},
    ),
    "a scan with states, EMA, a pass": ("tests/run_files/carried_state", {}),
    "two players": ("tests/run_files/two_players", {}),
    "curriculum": ("tests/run_files/curriculum", {}),
}


def measured(name: str, data: Path, folder: Path, steps: int) -> dict[str, Any]:
    """A row. In a process of its own, in which digits ran before."""
    file, given = FILES[name]
    path = ROOT / f"{file}.lisp"
    sets = [(k, str(data / v) if k in ("folder", "text") else v) for k, v in given.items()]
    api.run(ROOT / "examples" / "digits.lisp", runs_root=folder, name="warm", steps=1)
    api.run(path, sets=sets, runs_root=folder, name="once", steps=1)  # kernels are compiled
    told = api.check(path, sets=sets, steps=steps).summary
    assert told is not None
    before = fresh()
    run = api.run(path, sets=sets, runs_root=folder, name="it", steps=steps)
    assert run.exit == 0, run.error
    memory, predicted = told["memory"], told["predicted"]
    return {
        "what": name,
        "told_mb": (memory["peak_bytes"] + memory.get("staging_bytes", 0)) / 1e6,
        "grown_mb": (_kilobytes("VmHWM") - before) / 1e3,
        "told_disk_mb": told["disk_bytes"] / 1e6,
        "disk_mb": on_disk(run.folder) / 1e6,
        "told_s": predicted["total_s"],
        "took_s": took(run.folder),
        "told_gflop": predicted["flops_per_step"] * steps / 1e9,
    }


def fresh() -> int:
    """Kilobytes of this process now; what it comes to at most is counted from here."""
    Path("/proc/self/clear_refs").write_text("5")
    return _kilobytes("VmRSS")


def _kilobytes(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key))


def on_disk(run: Path) -> int:
    """Bytes of the checkpoints, each file once."""
    found = {p.stat().st_ino: p.stat().st_size for p in run.glob("checkpoints/step-*/*")}
    return sum(found.values())


def took(run: Path) -> float:
    """Seconds from the first stage to the end, by the events."""
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    start = next(e["elapsed"] for e in events if e["event"] == "stage")
    return float(events[-1]["elapsed"] - start)


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    options = parser.parse_args()
    report.tell(report.machine())
    rows = []
    spawned = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        data = gathered(options.data, Path(folder))
        with spawned.Pool(1) as one:
            one.apply(measure, (report.machine()["cores"],))
        for at, name in enumerate(FILES):
            runs = Path(folder) / f"runs-{at}"
            with spawned.Pool(1) as one:
                rows.append(one.apply(measured, (name, data, runs, options.steps)))
            report.tell(rows[-1])
    report.finish("costs", [rows], options.save)


if __name__ == "__main__":
    main()
