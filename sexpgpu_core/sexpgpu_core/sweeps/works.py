"""What a sweep is to do, and what has become of its points so far, by the runs that there are."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..records import NamedTuple
from ..runtime import runs
from .document import Work
from .points import Point, Points

SAY = 5.0
"""Seconds between two lines of how far a look at points is."""


class Plan(NamedTuple):
    """What a sweep is to do. `content`: of the file without a point; `identify`: the experiment of
    a point, or the code of why it is none, for some 0.1 s; `command`: of a point; `only`: whether a
    point is run; `failed`: whether those that failed are; `text`: the file's, which is kept for
    points that are begun after it was edited, and so are the texts of its `modules`."""

    file: str
    points: Points
    content: str | None
    identify: Callable[[Point], tuple[str | None, str | None]]
    command: Callable[[Point], Sequence[str]]
    executor: str = "local"
    jobs: int = 1
    only: Callable[[str], bool] = lambda name: True
    failed: bool = False
    text: str | None = None
    modules: Mapping[str, str] = {}


def works(
    plan: Plan, listed: Sequence[runs.Run], told: Callable[[str], None] = lambda line: None
) -> list[Work]:
    """What has become of each point so far. Only points whose values a run has are evaluated, to
    be sure that it is theirs; `told` how far that is where it takes long."""
    made, said, points = [], time.monotonic(), plan.points.points
    knobs = points[0].values.keys()
    known = {
        _choice({k: v for k, v in run.manifest["selection"]["values"].items() if k in knobs}, seed)
        for run in listed
        for seed in [run.manifest["seed"]]
    }
    for number, point in enumerate(points):
        work = Work(point.name, None)
        if _choice(point.values, point.seed) in known:
            work = work_of(point.name, *plan.identify(point), listed)
        made.append(work)
        if time.monotonic() - said > SAY:
            said = time.monotonic()
            told(f"{number + 1} of {len(points)} points looked up")
    return made


def _choice(values: Mapping[str, str], seed: int) -> tuple[frozenset[tuple[str, str]], int]:
    """What tells points from each other, whichever way their numbers are written."""
    return frozenset((knob, _plain(text)) for knob, text in values.items()), seed


def _plain(text: str) -> str:
    try:
        return repr(float(text))
    except ValueError:
        return text


def work_of(name: str, identity: str | None, error: str | None, listed: Sequence[runs.Run]) -> Work:
    if identity is None:
        return Work(name, None, "failed", exit=1, error=error)
    same = [run for run in listed if run.manifest["experiment_id"] == identity]
    finished = [run for run in same if run.state == "finished"]
    chosen = next(iter([*finished, *same]), None)
    return Work(name, identity) if chosen is None else _of_run(Work(name, identity), chosen)


def _of_run(work: Work, run: runs.Run) -> Work:
    status = run.status or {}
    error = (status.get("error") or {}).get("code")
    return work._replace(
        state=run.state,
        run=run.path,
        reused=run.state == "finished",
        exit=status.get("exit"),
        error=error,
    )


def error_of(log: Path) -> str | None:
    """The code that a command told of on its way out: the last JSON document of its log."""
    if not log.exists():
        return None
    for line in reversed(log.read_text("utf-8", "replace").splitlines()):
        try:
            told = json.loads(line)
            return str((told.get("diagnostics") or [told.get("error") or {}])[0]["code"])
        except (ValueError, KeyError, AttributeError, IndexError, TypeError):
            continue
    return None
