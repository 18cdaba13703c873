"""What compiling costs, phase by phase: `python bench/phases.py [--depths 4 12 24] [--times 5]`.

The training step of examples/chars.lisp's GPT (without its passes) from its trace to its plan, in
CPU milliseconds and in microseconds a node of the optimized graph. Best of so many, one process.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import corpus
import report

from sexpgpu_core import api
from sexpgpu_core.compile.phases import Phases
from sexpgpu_core.spans import Source

CHARS = Path(__file__).parents[1] / "examples" / "chars.lisp"


def step_alone() -> Source:
    """The file without its pass and what names the pass's metric: `:best` and `:rank`."""
    lines = CHARS.read_text(encoding="utf-8").splitlines(keepends=True)
    passes = ("(defeval", "(deftarget")
    kept = "".join(line for line in lines if not line.startswith(passes))
    return Source(CHARS.as_posix(), re.sub(r' :(best|rank) \("val/loss" :min\)', "", kept))


def compiled(text: Path, depth: int) -> Phases:
    """The phases of one compile; the file is read and evaluated before."""
    loaded = api.load(step_alone(), sets=[("text", f'"{text}"'), ("depth", str(depth))])
    device = api.device("cpu", loaded.registry)
    return api.compile(loaded, device).phases


def row(depth: int, found: list[Phases]) -> dict[str, Any]:
    best = min(found, key=lambda phases: phases.total)
    return {
        "depth": depth,
        "nodes": best.counts["nodes"],
        "calls": best.counts["calls"],
        **{f"{name}_ms": 1e3 * seconds for name, seconds in best.seconds.items()},
        "total_ms": 1e3 * best.total,
        "us_a_node": 1e6 * best.total / best.counts["nodes"],
    }


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--depths", type=int, nargs="*", default=[4, 12, 24])
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    report.tell(report.machine())
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        text = corpus.write(Path(folder))
        for depth in options.depths:
            rows.append(row(depth, [compiled(text, depth) for _ in range(options.times)]))
            report.tell(rows[-1])
    report.finish("phases", [rows], options.save)


if __name__ == "__main__":
    main()
