"""Training steps beside PyTorch's: `python -P -m bench MODEL... [--against eager,compile]`.

From the same weights on the same batches: losses of the first steps, step time (median and p90),
the greatest resident size, and seconds from the start of the process to the end of the first step.
The ratio is ours over the better of the others, block by block, the median of the blocks.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any, NamedTuple

from sexpgpu_core.diagnostics import Problem, Problems

from . import report
from .models import MODELS, Spec, spec_of
from .ours import Ours, export
from .sides import Failed, Side, interleave, started

BUSY = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"
"""Keeps a core busy, and ends with whoever started it."""
Row = dict[str, Any]


def measured(spec: Spec, options: Namespace) -> tuple[list[Row], Row]:
    """A row a side, and what is said of all."""
    sides, missing = started(spec, options.against.split(","))
    try:
        curves = {s.name: s.ask("curve") for s in sides}
        times = interleave(sides, options.blocks, options.steps)
        rows = [_row(spec, s, times[s.name]) for s in sides]
    finally:
        for side in sides:
            side.close()
    found = _compared(spec, times, curves) if len(sides) > 1 else {"model": spec.model}
    return rows, {**found, "missing": missing}


def _row(spec: Spec, side: Side, times: list[list[float]]) -> Row:
    every = [t for block in times for t in block]
    return {
        "model": spec.model,
        "threads": spec.threads,
        "side": side.name,
        "median_ms": statistics.median(map(statistics.median, times)),
        "p90_ms": statistics.quantiles(every, n=10)[-1],
        "first_s": side.first,
        "memory_mb": side.ask("memory"),
    }


def _compared(spec: Spec, times: dict[str, list[list[float]]], curves: dict[str, Any]) -> Row:
    """Our time over that of the side that is better over all blocks, and how far losses are."""
    blocks = {name: [statistics.median(b) for b in found] for name, found in times.items()}
    mine = blocks.pop("sexpgpu")
    better = min(blocks, key=lambda name: statistics.median(blocks[name]))
    ratios = [a / b for a, b in zip(mine, blocks[better])]
    return {
        "model": spec.model,
        "threads": spec.threads,
        "better": better,
        "ratio": statistics.median(ratios),
        "least": min(ratios),
        "greatest": max(ratios),
        "loss_10": apart(curves["sexpgpu"][:10], curves[better][:10]),
        "loss_all": apart(curves["sexpgpu"], curves[better]),
        "blocks": {"sexpgpu": mine, **blocks},
        "losses": curves,
    }


def apart(ours: list[float], theirs: list[float]) -> float:
    """The greatest relative difference of two curves."""
    return max(abs(a - b) / abs(b) for a, b in zip(ours, theirs))


def with_neighbour(spec: Spec, options: Namespace) -> Row:
    """Our step with 1 and 2 threads while another process keeps one core busy."""
    sides = [Side(str(n), "sexpgpu", spec._replace(threads=n)) for n in (1, 2)]
    busy = subprocess.Popen([sys.executable, "-c", BUSY])
    try:
        times = interleave(sides, options.blocks, options.steps)
    finally:
        busy.kill()
        busy.wait()
        for side in sides:
            side.close()
    one, two = ([statistics.median(b) for b in times[name]] for name in ("1", "2"))
    return {
        "model": spec.model,
        "neighbour": True,
        "one_ms": statistics.median(one),
        "two_ms": statistics.median(two),
        "two_over_one": statistics.median(b / a for a, b in zip(one, two)),
    }


class Rows(NamedTuple):
    """Of the sides, of the comparisons, of the neighbour, and of models without numbers."""

    sides: list[Row]
    beside: list[Row]
    busy: list[Row]
    failed: list[Row]


def of_model(name: str, options: Namespace, found: Rows) -> None:
    """The rows of a model."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        spec = spec_of(name, folder, device=options.device, steps=options.curve)
        ours = Ours(spec.file, spec.sets)
        export(ours, folder, options.curve)
        ours.close()
        for threads in options.threads:
            rows, compared = measured(spec._replace(threads=threads), options)
            found.sides.extend(rows)
            found.beside.append(compared)
            report.tell(compared)
        if options.neighbour:
            found.busy.append(with_neighbour(spec, options))
            report.tell(found.busy[-1])


def parsed() -> Namespace:
    parser = report.arguments(__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS))
    parser.add_argument("--against", default="eager,compile", help="modes of PyTorch")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--steps", type=int, default=20, help="steps of a block")
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--curve", type=int, default=50, help="steps whose losses are compared")
    parser.add_argument("--neighbour", action="store_true", help="also beside a busy process")
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        nargs="?",
        const=report.RESULTS / "models.json",
        help="also write all of it there; without FILE to results/models.json",
    )
    options = parser.parse_args()
    for name in options.models:
        if name not in MODELS:
            parser.error(f"{name}: the models are {', '.join(MODELS)}")
    return options


def main() -> int:
    """1 if a model gave no numbers."""
    options = parsed()
    report.tell(report.machine())
    found = Rows([], [], [], [])
    for name in options.models or MODELS:
        try:
            of_model(name, options, found)
        except (Failed, Problem, Problems) as fault:
            found.failed.append({"model": name, "failed": str(fault)})
            report.tell(found.failed[-1])
        for path in report.places(options.save, options.json):
            report.write("models", found, path)
    sys.stderr.write("\n".join(report.table(rows) for rows in found if rows))
    return int(bool(found.failed))


if __name__ == "__main__":
    sys.exit(main())
