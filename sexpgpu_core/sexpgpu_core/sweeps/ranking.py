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
    """Rows of sweep.json's `table`, and how many rows were judged otherwise and are not in it."""
    if rank is None:
        return [], 0
    groups: dict[tuple[tuple[str, str], ...], list[Result]] = {}
    for result in results:
        key = tuple(pair for pair in result.point.values.items() if pair[0] not in over)
        groups.setdefault(key, []).append(result)
    rows = [(_judged(of, over), _row(dict(key), of)) for key, of in groups.items()]
    rows = [(judged, row) for judged, row in rows if row["n"]]
    common = Counter(judged for judged, _ in rows).most_common(1)
    alike = [row for judged, row in rows if judged == common[0][0]]
    alike.sort(key=lambda row: row["mean"], reverse=rank.goal == "max")
    ranked = [{"place": place, **row} for place, row in enumerate(alike, 1)]
    return ranked, len(rows) - len(alike)


def _judged(results: Sequence[Result], over: Sequence[str]) -> tuple[Any, ...]:
    """What a row's members were judged by: an id for all, or one for each value of `over`."""
    found = [(tuple(r.point.values.get(knob) for knob in over), r.evaluation) for r in results]
    return tuple(dict.fromkeys(pair for pair in found if pair[1] is not None))


def _row(values: Mapping[str, str], results: Sequence[Result]) -> dict[str, Any]:
    told = [r.value for r in results if r.state == "finished" and r.value is not None]
    numbers = [value for value in told if math.isfinite(value)]
    n = len(numbers)
    row = {"values": dict(values), "n": n, "failed": sum(r.state == "failed" for r in results)}
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
