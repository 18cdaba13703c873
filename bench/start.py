"""From the command to the first step, whole process: `python bench/start.py [--times 7]`.

`sexpgpu run examples/chars.lisp --steps 1` on a small text, with an empty kernel cache and with a
full one, in turn: until the first `step` event, and the whole process (with an evaluation and a
checkpoint). And `sexpgpu check examples/chars.lisp`. Wall seconds, and CPU seconds (user and
system, of the process and its children).
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import corpus
import report

from sexpgpu_core.runtime.clock import seconds_of

CHARS = Path(__file__).parents[1] / "examples" / "chars.lisp"
PAUSE = 0.1


class Taken(NamedTuple):
    wall: float
    cpu: float
    stepped: float | None = None  # wall seconds until the first step was done


def take(command: list[str], folder: Path, cache: Path) -> Taken:
    """Run a command to its end. SystemExit with what it said where it fails."""
    environment = dict(os.environ, SEXPGPU_CACHE=str(cache), NO_COLOR="1")
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a user's second start has compiled files
    time.sleep(PAUSE)
    before, began, start = os.times(), time.time(), time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    wall, after = time.perf_counter() - start, os.times()
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return Taken(wall, cpu, stepped(folder, began))


def stepped(folder: Path, began: float) -> float | None:
    """Seconds from `began` to the first `step` event of the newest run, by its own clock."""
    logs = sorted(folder.glob("runs/*/events.jsonl"), key=lambda p: p.stat().st_mtime)
    for line in logs[-1].read_text().splitlines() if logs else ():
        event = json.loads(line)
        if event["event"] == "step":
            return seconds_of(event["time"]) - began
    return None


def row(what: str, times: list[Taken]) -> dict[str, Any]:
    """Medians, and the extremes of wall time."""
    walls = [t.wall for t in times]
    steps = [t.stepped for t in times if t.stepped is not None]
    return {
        "what": what,
        **({"to_step_s": statistics.median(steps)} if steps else {}),
        "wall_s": statistics.median(walls),
        "cpu_s": statistics.median(t.cpu for t in times),
        "least_s": min(walls),
        "greatest_s": max(walls),
        "times": len(times),
    }


def program() -> list[str]:
    """The installed program, as a user starts it."""
    beside = Path(sys.executable).parent / "sexpgpu"
    return [str(beside)] if beside.exists() else [sys.executable, "-m", "sexpgpu_cli"]


def first_step(folder: Path, text: Path, times: int) -> list[dict[str, Any]]:
    """With an empty and with a full kernel cache, in turn."""
    command = [*program(), "run", str(CHARS), "--steps", "1", "-s", f'text="{text}"']
    cache, kernels = folder / "cache", folder / "cache" / "cpu"
    take(command, folder, cache)  # files of Python and of the plug-ins' table
    empty, full = [], []
    for _ in range(times):
        shutil.rmtree(kernels)
        for times_of in (empty, full):
            times_of.append(take(command, folder, cache))
            shutil.rmtree(folder / "runs")
    return [row("first step, empty kernel cache", empty), row("first step, full cache", full)]


def check(folder: Path, times: int) -> dict[str, Any]:
    command = [*program(), "check", str(CHARS)]
    take(command, folder, folder / "cache")
    return row("check", [take(command, folder, folder / "cache") for _ in range(times)])


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--checks", type=int, default=10)
    options = parser.parse_args()
    report.tell(report.machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = first_step(folder, corpus.write(folder), options.times)
        rows.append(check(folder, options.checks))
    for line in rows:
        report.tell(line)
    report.finish("start", [rows], options.save)


if __name__ == "__main__":
    main()
