"""Milliseconds of a token by its place, with kept keys and values and with all places again:
`python bench/sample.py [--context 1024] [--variant NAME]`.

`examples/chars.lisp` after one step on a small text; each row is the median over places.
"""

from __future__ import annotations

import statistics
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import corpus
import report

from sexpgpu_core import api
from sexpgpu_core.generation import Continued, Writer
from sexpgpu_core.runtime.token_sampling import Sampler
from sexpgpu_core.trained import trained

CHARS = Path(__file__).parents[1] / "examples" / "chars.lisp"


def taken(found: Continued, first: int, last: int, what: str) -> dict[str, Any]:
    times = sorted(1e3 * s for s in found.seconds[first:last])
    middle = statistics.median(times)
    return {"what": what, "from": first, "to": last, "ms": middle, "least_ms": times[0]}


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--variant")
    options = parser.parse_args()
    report.tell(report.machine())
    context = options.context
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = corpus.write(folder)
        sets = [("text", str(text)), ("context", str(context)), ("batch-size", "1")]
        root = folder / "runs"
        ran = api.run(CHARS, variant=options.variant, sets=sets, steps=1, runs_root=root)
        with trained(ran.folder) as model:
            kept = Writer(model).write([0], context - 1, Sampler(seed=1))
            again = Writer(model, cached=False).write([0], 20, Sampler(seed=1))
    assert again.tokens == kept.tokens[:20], "the two ways differ"
    ends = [context * k // 8 for k in range(9)]
    rows = [taken(kept, max(a, 2), b - 1, "kept") for a, b in pairwise(ends)]
    rows.append(taken(again, 2, 20, "all places again"))
    for line in rows:
        report.tell(line)
    report.finish("sample", [rows], options.save)


if __name__ == "__main__":
    main()
