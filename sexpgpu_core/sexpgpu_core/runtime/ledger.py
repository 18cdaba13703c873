"""What was reported so far: the last value of each series, the best ones, the targets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..experiment.declarations import TargetDeclaration

_GOALS = {"below": "min", "above": "max"}


class Ledger:
    """`goals`: the series whose best value is kept -> min or max. `remembers`: whether a curriculum
    asks what series were."""

    def __init__(
        self,
        targets: Sequence[TargetDeclaration],
        goals: Mapping[str, str],
        remembers: bool = True,
    ) -> None:
        self._remembers = remembers
        self.declared = tuple(targets)
        self.goals = {**{t.series: _GOALS[t.goal] for t in targets}, **goals}
        self.last: dict[str, tuple[float, int]] = {}
        self.best: dict[str, dict[str, Any]] = {}
        self.targets: list[dict[str, Any]] = [_unmet(t) for t in targets]
        self._history: dict[str, dict[str, Any]] = {}

    def report(
        self, named: Mapping[str, float], step: int, examples: int, elapsed: float
    ) -> tuple[list[str], list[dict[str, Any]]]:
        """Take values by series; which are the best so far, and the targets now met first."""
        improved, met = [], []
        for series, value in named.items():
            self.last[series] = (value, step)
            if self._remembers:
                self._remember(series, value, step)
            if series in self.goals:
                improved += [series] if self._improve(series, value, step) else []
                met += self._meets(series, value, step, examples, elapsed)
        return improved, met

    def _meets(
        self, series: str, value: float, step: int, examples: int, elapsed: float
    ) -> list[dict[str, Any]]:
        return [
            self._meet(target, value, step, examples, elapsed)
            for target in self.targets
            if target["metric"] == series and not target["met"] and _reaches(target, value)
        ]

    def _remember(self, series: str, value: float, step: int) -> None:
        """What `(ctx :metric ...)` answers: a value that is not finite is none (R29)."""
        known = self._history.get(series)
        if known is None:
            known = self._history[series] = {"best": None, "best_step": None, "count": 0}
        finite, best = math.isfinite(value), known["best"]
        known["last"] = value if finite else None
        known["count"] += 1
        if finite and (best is None or _better(value, best, self.goals.get(series, "min"))):
            known["best"], known["best_step"] = value, step

    def history(self) -> dict[str, dict[str, Any]]:
        """By series: `last best best_step count`, as a checkpoint keeps it."""
        return {series: dict(known) for series, known in self._history.items()}

    def asked(self, series: str, which: str, step: int) -> float | int | None:
        """`(ctx :metric SERIES :which)` before the step after `step`."""
        known = self._history.get(series)
        if known is None:
            return 0 if which == "count" else None
        if which != "since-best":
            answer: float | int | None = known[which]
            return answer
        return None if known["best_step"] is None else step - known["best_step"]

    def _improve(self, series: str, value: float, step: int) -> bool:
        goal = self.goals[series]
        if not math.isfinite(value):
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
        target.update(met=True, value=value, step=step, examples=examples)
        target.update(elapsed=round(elapsed, 6))
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
        self._history = {name: dict(row) for name, row in document.get("series", {}).items()}
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
