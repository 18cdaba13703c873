"""What was reported so far: the last value of each series, the best ones, the targets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..experiment.declarations import TargetDeclaration

_GOALS = {"below": "min", "above": "max"}


class Ledger:
    """`goals`: the series whose best value is kept -> min or max."""

    def __init__(self, targets: Sequence[TargetDeclaration], goals: Mapping[str, str]) -> None:
        self.declared = tuple(targets)
        self.goals = {**{t.series: _GOALS[t.goal] for t in targets}, **goals}
        self.last: dict[str, tuple[float, int]] = {}
        self.best: dict[str, dict[str, Any]] = {}
        self.targets: list[dict[str, Any]] = [_unmet(t) for t in targets]
        self.history: dict[str, dict[str, Any]] = {}  # by series: last best best_step count

    def report(
        self, series: str, value: float, step: int, examples: int, elapsed: float
    ) -> tuple[bool, list[dict[str, Any]]]:
        """Take a value; whether it is the best so far, and the targets it is the first to meet."""
        self.last[series] = (value, step)
        self._remember(series, value, step)
        return self._improve(series, value, step), [
            self._meet(target, value, step, examples, elapsed)
            for target in self.targets
            if target["metric"] == series and not target["met"] and _reaches(target, value)
        ]

    def _remember(self, series: str, value: float, step: int) -> None:
        """What `(ctx :metric ...)` answers: a value that is not finite is none (R29)."""
        known = self.history.get(series, {"best": None, "best_step": None, "count": 0})
        finite = math.isfinite(value)
        goal, best = self.goals.get(series, "min"), known["best"]
        now = {"last": value if finite else None, "count": known["count"] + 1}
        if finite and (best is None or _better(value, best, goal)):
            now.update(best=value, best_step=step)
        self.history[series] = {**known, **now}

    def asked(self, series: str, which: str, step: int) -> float | int | None:
        """`(ctx :metric SERIES :which)` before the step after `step`."""
        known = self.history.get(series)
        if known is None:
            return 0 if which == "count" else None
        if which != "since-best":
            answer: float | int | None = known[which]
            return answer
        return None if known["best_step"] is None else step - known["best_step"]

    def _improve(self, series: str, value: float, step: int) -> bool:
        goal = self.goals.get(series)
        if goal is None or not math.isfinite(value):
            return False
        before = self.best.get(series)
        if before is not None and not _better(value, before["value"], goal):
            return False
        self.best[series] = {"value": value, "step": step, "goal": goal}
        return True

    @staticmethod
    def _meet(
        target: dict[str, Any], value: float, step: int, examples: int, elapsed: float
    ) -> dict[str, Any]:
        target.update(met=True, value=value, step=step, examples=examples, elapsed=elapsed)
        return target

    @property
    def stopped(self) -> bool:
        """Whether a target that ends the run is met."""
        return any(target["met"] and target["stop"] for target in self.targets)

    @property
    def missed(self) -> list[dict[str, Any]]:
        """Targets with `:stop` that are not met."""
        return [target for target in self.targets if target["stop"] and not target["met"]]

    def restore(self, document: Mapping[str, Any], last: Mapping[str, tuple[float, int]]) -> None:
        """Go on from a checkpoint. Targets that were not declared then start unmet."""
        self.best = {name: dict(best) for name, best in document["best"].items()}
        known = {_key(target): target for target in document["targets"]}
        self.targets = [dict(known.get(_key(t), t), stop=t["stop"]) for t in self.targets]
        self.history = {name: dict(row) for name, row in document.get("series", {}).items()}
        step = document["step"]
        for name, value in document.get("metrics", {}).items():
            self.last[name] = last.get(name, (float(value), step))


def _unmet(target: TargetDeclaration) -> dict[str, Any]:
    return {
        "metric": target.series,
        "goal": target.goal,
        "threshold": float(target.bound),
        "met": False,
        "stop": target.stop,
    }


def _key(target: Mapping[str, Any]) -> tuple[str, str, float]:
    return target["metric"], target["goal"], target["threshold"]


def _reaches(target: Mapping[str, Any], value: float) -> bool:
    if target["goal"] == "below":
        return bool(value < target["threshold"])
    return bool(value > target["threshold"])


def _better(value: float, before: float, goal: str) -> bool:
    return value < before if goal == "min" else value > before
