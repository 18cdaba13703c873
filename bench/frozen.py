"""Ten checkpoints of a LoRA with 60 MB frozen: `python bench/frozen.py [--times] [--wide]`.

`tests/run_files/lora.lisp` with its layer wide, a checkpoint every 2 of 20 steps, as it is and with
`:frozen :copy`, in turn. Bytes that the checkpoints take on the disk (of each file once, whatever
names it has), seconds of a write, of the first and of the others, by the run's events.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import report
from sexpgpu_core.checkpoint import tensors

LORA = Path(__file__).parents[1] / "tests" / "run_files" / "lora.lisp"
SIDES = {"shared": "", ":frozen :copy": " :frozen :copy"}


class Taken(NamedTuple):
    """Of one run."""

    bytes: int
    first_s: float
    later_s: list[float]
    stalled_s: float


def write(folder: Path, wide: int) -> None:
    """A file for each side, and the weights that both load."""
    text = LORA.read_text(encoding="utf-8").replace(" 32 :name", f" {wide} :name")
    for name, more in SIDES.items():
        told = text.replace("(:every 10))", f"(:every 2{more}))")
        assert told != text
        (folder / f"{_slug(name)}.lisp").write_text(told, encoding="utf-8")
    draw = np.random.default_rng(1)
    shapes = {"0.w": (64, wide), "0.b": (wide,), "1.w": (wide, 10), "1.b": (10,)}
    arrays = {
        f"layers.{n}": draw.normal(0, 0.05, shape).astype(np.float32) for n, shape in shapes.items()
    }
    arrays["step"] = np.array(0, np.int32)
    with open(folder / "base.safetensors", "wb") as file:
        file.writelines(tensors.chunks(list(arrays), arrays.__getitem__))


def _slug(side: str) -> str:
    return side.strip(":").replace(" :", "-")


def one(folder: Path, side: str, number: int) -> Taken:
    """A run of its own. Its folder goes when it was measured."""
    name = f"{_slug(side)}-{number}"
    words = ["run", f"{_slug(side)}.lisp", "--name", name, "-q"]
    environment = {**os.environ, "SEXPGPU_CACHE": str(folder / "cache")}
    command = [sys.executable, "-m", "sexpgpu_cli", *words]
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    run = folder / "runs" / name
    found = {p.stat().st_ino: p.stat().st_size for p in run.glob("checkpoints/step-*/*")}
    lines = (run / "events.jsonl").read_text(encoding="utf-8").splitlines()
    told = [e for e in map(json.loads, lines) if e["event"] == "checkpoint" and not e["verified"]]
    first, *later = [float(e["duration_s"]) for e in told]
    shutil.rmtree(run)
    return Taken(sum(found.values()), first, later, sum(float(e["stall_s"]) for e in told))


def measured(folder: Path, wide: int, times: int) -> list[dict[str, Any]]:
    """A row a side."""
    write(folder, wide)
    for side in SIDES:  # kernels are compiled
        one(folder, side, 0)
    taken: dict[str, list[Taken]] = {side: [] for side in SIDES}
    for number in range(1, times + 1):
        for side, found in taken.items():
            found.append(one(folder, side, number))
    return [_row(side, found) for side, found in taken.items()]


def _row(side: str, found: list[Taken]) -> dict[str, Any]:
    later = [seconds for taken in found for seconds in taken.later_s]
    return {
        "what": side,
        "checkpoints": 1 + len(found[0].later_s),
        "MB": statistics.median(taken.bytes for taken in found) / 1e6,
        "first_s": statistics.median(taken.first_s for taken in found),
        "later_s": statistics.median(later),
        "least_s": min(later),
        "greatest_s": max(later),
        "stalled_s": statistics.median(taken.stalled_s for taken in found),
        "times": len(found),
    }


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--wide", type=int, default=200_000)
    options = parser.parse_args()
    report.tell(report.machine())
    with tempfile.TemporaryDirectory() as name:
        rows = measured(Path(name), options.wide, options.times)
    for line in rows:
        report.tell(line)
    report.finish("frozen", [rows], options.save)


if __name__ == "__main__":
    main()
