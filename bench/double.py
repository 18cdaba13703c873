"""A step in f64 beside the same step in f32: `python bench/double.py [--steps N] [--rounds N]`.

Examples that need no data but what is at hand, on `cpu` with all cores, in turn; the median of the
steps between lines of training, without the first, of each run; of all rounds the median ratio.
"""

from __future__ import annotations

import json
import re
import statistics
import tempfile
from pathlib import Path
from typing import Any

import report

from sexpgpu_core import api
from sexpgpu_core.spans import Source

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
NAMES = ("digits", "chars", "llama-chars", "mamba-chars", "moe-chars", "bert-mlm", "dlrm")


def step_of(name: str, precision: str, steps: int, root: Path) -> float:
    """Milliseconds of a step, the median."""
    path = EXAMPLES / f"{name}.lisp"
    text = re.sub(r" :precision :\w+", "", path.read_text("utf-8"))
    text = text.replace("(defrun ", f"(defrun :precision :{precision} :log-every 5 ", 1)
    text = re.sub(r"(:log-every 5 .*?) :log-every \d+", r"\1", text, flags=re.DOTALL)
    done = api.run(Source(str(path), text), runs_root=root, device="cpu", steps=steps)
    assert done.exit == 0, done.error
    lines = (done.folder / "events.jsonl").read_text("utf-8").splitlines()
    told = [e["throughput"]["step_s"] for e in map(json.loads, lines) if e["event"] == "step"]
    return 1e3 * statistics.median(told[1:])


def row_of(name: str, steps: int, rounds: int, root: Path) -> dict[str, Any]:
    found: dict[str, list[float]] = {"f32": [], "f64": []}
    for precision in ("f32", "f64") * rounds:
        found[precision].append(step_of(name, precision, steps, root))
    ratios = [wide / single for single, wide in zip(found["f32"], found["f64"])]
    return {
        "what": name,
        "f32_ms": statistics.median(found["f32"]),
        "f64_ms": statistics.median(found["f64"]),
        "ratio": statistics.median(ratios),
        "least": min(ratios),
        "most": max(ratios),
    }


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    report.tell(report.machine())
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            rows.append(row_of(name, options.steps, options.rounds, Path(folder)))
            report.tell(rows[-1])
    report.finish("double", [rows], options.save)


if __name__ == "__main__":
    main()
