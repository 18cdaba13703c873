"""What counting weight sums of 0 costs: `python bench/empty.py [--steps N] [--rounds N]`.

The step of a file whose loss is a weighted mean, as it is and without the count (`data/empty`),
in turn, on one thread; the median of the steps between lines of training, without the first, and of
all rounds the median ratio.
"""

from __future__ import annotations

import json
import re
import statistics
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import report

from sexpgpu_core import api
from sexpgpu_core.spans import Source
from sexpgpu_core.step import assemble

ROOT = Path(__file__).resolve().parent.parent
MEAN = "(nn:cross-entropy logits label)"
WEIGHED = "(weighted-mean (cross-entropy logits label) (cast (> label -1) :f32))"
FILES = ("examples/digits", "tests/run_files/masked_gpt")


def text_of(path: Path) -> str:
    """A file with a weighted mean in its loss, and a line of training every 20 steps."""
    text = path.read_text("utf-8").replace(MEAN, WEIGHED)
    assert "weighted-mean" in text, path
    text = re.sub(r":log-every \d+", "", text)
    return text.replace("(defrun ", "(defrun :log-every 20 ", 1)


def step_of(path: Path, text: str, counted: bool, steps: int, root: Path) -> float:
    """Microseconds of a step, the median."""
    with mock.patch.object(assemble, "_empty", assemble._empty if counted else _nothing):
        done = api.run(Source(str(path), text), runs_root=root, steps=steps, threads=1)
    assert done.exit == 0, done.error
    lines = (done.folder / "events.jsonl").read_text("utf-8").splitlines()
    told = [e["throughput"]["step_s"] for e in map(json.loads, lines) if e["event"] == "step"]
    return 1e6 * statistics.median(told[1:])


def _nothing(*given: Any) -> None:
    """No result more."""


def row_of(name: str, steps: int, rounds: int, root: Path) -> dict[str, Any]:
    path = ROOT / f"{name}.lisp"
    text, found = text_of(path), {True: list[float](), False: list[float]()}
    for counted in (True, False) * rounds:
        found[counted].append(step_of(path, text, counted, steps, root))
    ratios = [a / b for a, b in zip(found[True], found[False])]
    return {
        "what": name,
        "counted_us": statistics.median(found[True]),
        "without_us": statistics.median(found[False]),
        "ratio": statistics.median(ratios),
        "least": min(ratios),
        "most": max(ratios),
    }


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    report.tell(report.machine())
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in FILES:
            rows.append(row_of(name, options.steps, options.rounds, Path(folder)))
            report.tell(rows[-1])
    report.finish("empty", [rows], options.save)


if __name__ == "__main__":
    main()
