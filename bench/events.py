"""What telling costs a run: CPU time of its events over that of its steps, of examples/digits.lisp.

Counted is all that the loop does to log: numbers out of a step's results, the event and its line,
facts of the status. Every line is then held against the schema.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import wraps
from importlib.resources import files
from pathlib import Path
from typing import Any

import report
from jsonschema import Draft202012Validator

from sexpgpu_core import api
from sexpgpu_core.runtime.events import EventLog
from sexpgpu_core.runtime.loop import Loop
from sexpgpu_core.runtime.reporting import Reporter

MOST = 0.01
"""Share of a step's time that may go into its events."""
DIGITS = Path(__file__).parents[1] / "examples" / "digits.lisp"


class Timer:
    """CPU seconds of this thread in functions that it wraps; one inside another counts once."""

    def __init__(self) -> None:
        self.seconds, self.inside = 0.0, 0
        self.calls: list[float] = []

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def timed(*given: Any, **more: Any) -> Any:
            start, self.inside = time.thread_time(), self.inside + 1
            try:
                return function(*given, **more)
            finally:
                self.inside -= 1
                if not self.inside:
                    self.calls.append(time.thread_time() - start)
                    self.seconds += self.calls[-1]

        return timed


def valid(path: Path) -> int:
    """How many lines there are; raises where one is not what the schema says."""
    text = files("sexpgpu_core").joinpath("schemas", "event.json").read_text(encoding="utf-8")
    validator = Draft202012Validator(json.loads(text))
    lines = path.read_text(encoding="utf-8").splitlines()
    for line in lines:
        validator.validate(json.loads(line))
    return len(lines)


def measured(steps: int) -> dict[str, float]:
    """One run: seconds of CPU and of wall in its steps and in what is told of them."""
    telling, stepping = Timer(), Timer()
    kept = (Reporter.step, Reporter.flush, Reporter.passed, EventLog.write, Loop.steps)
    Reporter.step = telling.around(Reporter.step)  # type: ignore[method-assign]
    Reporter.flush = telling.around(Reporter.flush)  # type: ignore[method-assign]
    Reporter.passed = telling.around(Reporter.passed)  # type: ignore[method-assign]
    EventLog.write = telling.around(EventLog.write)  # type: ignore[method-assign]
    Loop.steps = stepping.around(Loop.steps)  # type: ignore[method-assign]
    start = time.perf_counter()
    try:
        with tempfile.TemporaryDirectory() as folder:
            done = api.run(DIGITS, steps=steps, threads=1, runs_root=folder)
            wall = time.perf_counter() - start
            lines = valid(done.folder / "events.jsonl")
    finally:
        (  # type: ignore[method-assign]
            Reporter.step,
            Reporter.flush,
            Reporter.passed,
            EventLog.write,
            Loop.steps,
        ) = kept
    return {
        "steps": steps,
        "lines": lines,
        "step_us": 1e6 * stepping.seconds / steps,
        "events_us": 1e6 * telling.seconds / steps,
        "event_us": 1e6 * statistics.median(telling.calls),
        "share": telling.seconds / stepping.seconds,
        "wall_s": wall,
    }


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--steps", type=int, default=10_000)
    options = parser.parse_args()
    report.tell(report.machine())
    row = measured(options.steps)
    report.tell(row)
    report.finish("events", [[row]], options.save)
    if row["share"] >= MOST:
        raise SystemExit(f"events take {100 * row['share']:.2f} % of a step")


if __name__ == "__main__":
    main()
