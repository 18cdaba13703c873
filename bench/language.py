"""The language: reading, checking and evaluating: `python bench/language.py [--times 7]`.

`check` of a module of about 1,000 lines of ordinary definitions, and of an example's run with as
many of them as make 1,000 lines, as processes, wall and CPU seconds; reading 20,000 lines, and
`(fib 22)` in this process, CPU seconds.
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import report
from start import CHARS, Taken, program, take

from sexpgpu_core.evaluator.evaluator import Evaluator
from sexpgpu_core.reader import read_all
from sexpgpu_core.spans import Source

DEFINITION = """(defun part-{n} (items &key (scale {n}) (start 0))
  "The scaled sum of the items from START on."
  (let ((total 0))
    (dolist (item (nthcdr start items))
      (when (evenp item)
        (incf total (* scale item))))
    (if (> total {n})
        (values total t)
        (values (- total) nil))))
"""
LINES = DEFINITION.count("\n") + 1
FIB = "(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))"


class Names:
    """Symbols of one reading."""

    def __init__(self) -> None:
        self.module = Evaluator().module

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)


def definitions(lines: int) -> str:
    """About so many lines of functions."""
    return "\n".join(DEFINITION.format(n=n) for n in range(lines // LINES))


def row(what: str, aim: float, times: list[float]) -> dict[str, Any]:
    middle = statistics.median(times)
    return {"what": what, "aim_s": aim, "s": middle, "least_s": min(times),
            "greatest_s": max(times), "times": len(times)}  # fmt: skip


def seconds(work: Callable[[], Any], times: int) -> list[float]:
    """CPU seconds of each call, without the cyclic collector, as `check` runs."""
    found = []
    for _ in range(times):
        gc.collect()
        gc.disable()
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
        gc.enable()
    return found


def texts() -> dict[str, str]:
    """What is checked."""
    run = CHARS.read_text(encoding="utf-8")
    return {
        "check of a module": "(provide part-0)\n" + definitions(1000),
        "check of a run": run + "\n" + definitions(1000 - run.count("\n")),
    }


def check(folder: Path, text: str, times: int) -> list[Taken]:
    """Of the process; the first, which fills the caches, is not among them."""
    (folder / "long.lisp").write_text(text, encoding="utf-8")
    command = [*program(), "check", "long.lisp"]
    return [take(command, folder, folder / "cache") for _ in range(times + 1)][1:]


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--times", type=int, default=7)
    options = parser.parse_args()
    report.tell(report.machine())
    long, names = Source("long.lisp", definitions(20_000)), Names()
    evaluator = Evaluator()
    evaluator.evaluate(FIB)
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for what, text in texts().items():
            checks = check(Path(folder), text, options.times)
            rows.append(row(f"{what}, wall", 0.3, [taken.wall for taken in checks]))
            rows.append(row(f"{what}, CPU", 0.3, [taken.cpu for taken in checks]))
        rows += [
            row("reading 20,000 lines", 0.6, seconds(lambda: read_all(long, names), options.times)),
            row(
                "(fib 22)",
                0.06,
                seconds(lambda: evaluator.evaluate("(fib 22)"), options.times),
            ),
        ]
    for line in rows:
        report.tell(line)
    report.finish("language", [rows], options.save)


if __name__ == "__main__":
    main()
