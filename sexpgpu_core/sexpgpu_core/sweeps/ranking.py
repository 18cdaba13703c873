"""Points that have run to a ranked table: a row for points that differ in repetitions alone.

Rows are ranked only against rows that were judged alike: their members' evaluation ids, in order,
are equal (R48).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..records import NamedTuple
from ..runtime import events, ranking
from ..runtime.runs import Run
from .points import Point, Rank


class Result(NamedTuple):
    """What became of a point. `value`: None where its run has not reported it."""

    point: Point
    state: str
    value: float | None
    evaluation: str | None


def value_at(run: Run, rank: Rank) -> float | None:
    """The number of a run that it is ranked by; None where it has not been reported (there)."""
    if rank.at == "last":
        at = (run.status or {}).get("metrics", {}).get(rank.metric)
        return None if at is None else float(at["value"])
    told = _reported(run.path, rank.metric)
    if rank.at == "best":
        finite = [value for value in told.values() if math.isfinite(value)]
        return (max if rank.goal == "max" else min)(finite) if finite else None
    return told.get(int(rank.at))


def _reported(path: Path, metric: str) -> dict[int, float]:
    """A series by step, as its last attempts tell it."""
    log = events.current(events.read(path / "events.jsonl"))
    return {
        int(event["step"]): float(event["metrics"][metric])
        for event in log
        if metric in (event.get("metrics") or {})
    }


def judged_by(run: Run, rank: Rank | None) -> str | None:
    """The id of the pass that the number is of; None for a number of training."""
    return ranking.evaluation(run, rank.metric.partition("/")[0]) if rank is not None else None


def table(
    results: Sequence[Result], rank: Rank | None, over: Sequence[str]
) -> tuple[list[dict[str, Any]], int]:
    """Rows of sweep.json's `table`, and how many rows were judged otherwise and are not in it.

    Of rows over folds those with the most are ranked: a mean of two folds is no mean of three.
    """
    if rank is None:
        return [], 0
    groups: dict[tuple[tuple[str, str], ...], list[Result]] = {}
    for result in results:
        key = tuple(pair for pair in result.point.values.items() if pair[0] not in over)
        groups.setdefault(key, []).append(result)
    rows = [(_judged(of, over), _row(dict(key), of)) for key, of in groups.items()]
    rows = [(judged, row) for judged, row in rows if row["n"]]
    counts = Counter(judged for judged, _ in rows)
    common = max(counts, key=lambda judged: (len(judged), counts[judged]), default=())
    alike = [row for judged, row in rows if judged == common]
    alike.sort(key=lambda row: row["mean"], reverse=rank.goal == "max")
    return _placed(alike), len(rows) - len(alike)


def _placed(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sorted rows with their places, which rows of one mean share."""
    first: dict[float, int] = {}
    return [
        {"place": first.setdefault(row["mean"], place), **row} for place, row in enumerate(rows, 1)
    ]


def number(result: Result) -> float | None:
    """What a point counts with; None where it has not finished, or its number is not finite."""
    value = result.value if result.state == "finished" else None
    return value if value is not None and math.isfinite(value) else None


def _judged(results: Sequence[Result], over: Sequence[str]) -> tuple[Any, ...]:
    """What a row's members were judged by: the ids of all, or one for each member of a row over
    folds, which lacks what has no number."""
    known = [r for r in results if number(r) is not None]
    if over:
        found = [(tuple(r.point.values.get(k) for k in over), r.evaluation) for r in known]
        return tuple(sorted(found, key=repr))
    return tuple(dict.fromkeys(r.evaluation for r in known if r.evaluation is not None))


def _row(values: Mapping[str, str], results: Sequence[Result]) -> dict[str, Any]:
    numbers = [value for r in results if (value := number(r)) is not None]
    n = len(numbers)
    failed = sum(r.state == "failed" or _diverged(r) for r in results)
    row = {"values": dict(values), "n": n, "failed": failed}
    if not n:
        return row
    mean = math.fsum(numbers) / n
    spread = math.fsum((x - mean) ** 2 for x in numbers)
    deviation = math.sqrt(spread / (n - 1)) if n > 1 else None
    return {
        **row,
        **{"mean": mean, "deviation": deviation},
        **{"minimum": min(numbers), "maximum": max(numbers)},
    }


def _diverged(result: Result) -> bool:
    """Whether it finished with a number that is none: it counts as one that failed."""
    known = result.state == "finished" and result.value is not None
    return known and number(result) is None
