"""Which of several runs is the best, by a number that all were judged by in the same way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..diagnostics import problem

if TYPE_CHECKING:
    from .runs import Run


def best(found: Sequence[Run], metric: str | None = None) -> Run | None:
    """The best by `metric`, else by the one number that their files name; None of none.

    Raises E-USAGE-AMBIGUOUS where files name different ones, goals or evaluations differ.
    """
    if metric is None:
        metric = _only("numbers to be best by", [r["metric"] for run in found if (r := rank(run))])
    if metric is None:
        return None
    judged = [run for run in found if math.isfinite(value(run, metric))]
    pairs = [(run, goal) for run in judged if (goal := goal_of(run, metric)) is not None]
    if judged and not pairs:
        told = f"whether less of {metric} is better is not said"
        hint = f'(deftarget "{metric}" :below ...) or :checkpoint (:best ...) says it.'
        raise problem("E-USAGE-AMBIGUOUS", told, hint=hint)
    goal = _only(f"goals of {metric}", [goal for _, goal in pairs])
    name = metric.partition("/")[0]
    _only(f"evaluations of {metric}", [str(evaluation(run, name)) for run, _ in pairs])
    key = lambda run: value(run, metric)
    ranked = sorted((run for run, _ in pairs), key=key, reverse=goal == "max")
    return ranked[0] if ranked else None


def rank(run: Run) -> Mapping[str, str] | None:
    """The number and the goal that a run's file names: `:checkpoint :best`, else the `:rank` of its
    sweep, else the only target."""
    return run.manifest.get("sweep_rank") or run.manifest.get("rank")


def goal_of(run: Run, metric: str) -> str | None:
    """min or max, where the run's file says it of this series."""
    told = (run.status or {}).get("best", {}).get(metric) or {}
    named = rank(run) or {}
    if "goal" in told:
        return str(told["goal"])
    return named["goal"] if named.get("metric") == metric else None


def value(run: Run, metric: str) -> float:
    """The best value of a series, else its last; NaN where there is none."""
    told: Mapping[str, Any] = run.status or {}
    at = told.get("best", {}).get(metric) or told.get("metrics", {}).get(metric) or {}
    return float(at.get("value", math.nan))


def evaluation(run: Run, name: str) -> str | None:
    """What a pass's numbers are sealed by."""
    found = run.manifest["evaluation_ids"].get(name)
    return None if found is None else str(found)


def _only(what: str, found: Sequence[str]) -> str | None:
    several = sorted(set(found))
    if len(several) > 1:
        told = f"the runs have {len(several)} {what}: {' '.join(several[:5])}"
        hint = "best:METRIC says which number; runs --metric METRIC shows them all."
        raise problem("E-USAGE-AMBIGUOUS", told, hint=hint, several=several[:20])
    return several[0] if several else None
