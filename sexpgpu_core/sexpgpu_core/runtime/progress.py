"""How far a run is: counts that `(ctx ...)` and checkpoints are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..data.loader import Loader
from ..diagnostics import problem
from ..experiment.declarations import EMPTY
from ..ir import scalars
from ..records import Record
from .job import StageFacts

FIRST_SCALE = 2.0**16
"""The loss scale of a run's first step in f16."""
STEADY = 2000
"""Committed steps after which the loss scale is doubled (45.2)."""


class Progress(Record):
    """`step`: steps done, skipped ones too. `batches`: drawn from each LOADER:STAGE so far.
    `scale`: the loss scale; `steady`: steps committed since it changed. `groups`: committed updates
    of the groups of each cadence; `moved`: cadences that the last step was due in; `until`: the
    counter and its goal that end the run."""

    __slots__ = (
        *("batches", "counters", "examples", "groups", "moved", "scale", "skipped", "steady"),
        *("step", "steps", "until", "updates"),
    )

    def __init__(
        self,
        steps: int,
        step: int = 0,
        updates: int = 0,
        skipped: int = 0,
        examples: int = 0,
        batches: dict[str, int] | None = None,
        counters: dict[str, int] | None = None,
        scale: float = 1.0,
        steady: int = 0,
        groups: dict[str, int] | None = None,
        moved: tuple[str, ...] = (),
        until: tuple[str, int] | None = None,
    ) -> None:
        self.steps = steps
        self.step = step
        self.updates = updates
        self.skipped = skipped
        self.examples = examples
        self.batches = {} if batches is None else batches
        self.counters = {} if counters is None else counters
        self.scale = scale
        self.steady = steady
        self.groups = {} if groups is None else groups
        self.moved = moved
        self.until = until

    def advance(self, key: str, stage: StageFacts) -> None:
        """One more step of a stage, committed."""
        at = self.step
        self.moved = tuple(
            name for name, (every, first) in stage.cadences.items() if at % every == first
        )
        self._count(1)
        self.step += 1
        self.updates += 1
        self.examples += stage.step.rows
        self.batches[key] = self.batches.get(key, 0) + 1
        for name, amount in stage.counters.items():
            self.counters[name] = self.counters.get(name, 0) + amount

    def _count(self, by: int) -> None:
        for name in self.moved:
            self.groups[name] = self.groups.get(name, 0) + by

    def skip(self) -> None:
        """The last step did not commit after all."""
        self._count(-1)
        self.updates -= 1
        self.skipped += 1

    def rescale(self, fits: bool) -> None:
        """After a step with a loss scale: halved where gradients left the range of f16, doubled
        when they have stayed in it for long."""
        self.steady = self.steady + 1 if fits else 0
        if not fits:
            self.scale = max(1.0, self.scale / 2)
        elif self.steady == STEADY:
            self.scale, self.steady = self.scale * 2, 0

    def overflow(self) -> None:
        """The last step did not commit, for its scale was too great."""
        self._count(-1)
        self.updates -= 1
        self.rescale(fits=False)

    def weighed(self, before: Progress, empty: int) -> None:
        """Count weighted means of the step after `before` that weighed nothing."""
        if total := before.counters.get(EMPTY, 0) + empty:
            self.counters[EMPTY] = total

    def copy(self) -> Progress:
        return Progress(
            self.steps,
            self.step,
            self.updates,
            self.skipped,
            self.examples,
            dict(self.batches),
            dict(self.counters),
            self.scale,
            self.steady,
            dict(self.groups),
            self.moved,
            self.until,
        )

    @property
    def share(self) -> float:
        """How much of the run is done: of its steps, or of the counter of `:until`."""
        if self.until is not None:
            name, goal = self.until
            return min(1.0, self.counters.get(name, 0) / goal)
        return self.step / self.steps if self.steps else 0.0

    def context(self, key: str, stage: StageFacts, loader: Loader) -> dict[str, float]:
        """What `(ctx ...)` says before the next step (contracts/ctx.md)."""
        number = self.batches.get(key, 0)
        epoch, inside = loader.epoch(stage.stage, number)
        declared = loader.declaration.stages[stage.stage].steps
        return {
            "step": self.step,
            "updates": self.updates,
            "progress": self.share,
            "stage-step": number,
            "stage-progress": min(1.0, number / declared) if declared else 0.0,
            "epoch": epoch,
            "epoch-progress": inside,
            "examples": self.examples,
            "loss-scale": self.scale,
            **{f"updates/{name}": self.groups.get(name, 0) for name in stage.cadences},
            **dict.fromkeys(stage.counters, 0),
            **self.counters,
        }

    def restore(self, document: Mapping[str, Any], rows: Mapping[str, int]) -> None:
        """Go on from a checkpoint. `rows`: of a batch of each stage; positions count examples."""
        self.step = int(document["step"])
        self.skipped = int(document["guard"]["skipped"])
        self.updates = int(document.get("updates", self.step - self.skipped))
        self.counters.update({name: int(n) for name, n in document["counters"].items()})
        self.groups.update({n: int(k) for n, k in document.get("group_updates", {}).items()})
        self.scale = float(document["loss_scale"])
        self.steady = int(document.get("loss_scale_steps", 0))
        positions = {key: int(entry["position"]) for key, entry in document["loaders"].items()}
        self.examples = sum(positions.values())
        self.batches = {key: at // rows[key] for key, at in positions.items() if key in rows}


def evaluate(trees: Mapping[str, Any], context: Mapping[str, float]) -> dict[str, float]:
    """A program's step scalars by canonical text. Raises E-SCHEDULE where one has no value."""
    values = {}
    for text, tree in trees.items():
        try:
            values[text] = scalars.evaluate(tree, context)
        except (ArithmeticError, ValueError, KeyError) as wrong:
            raise problem(
                "E-SCHEDULE",
                f"{text} has no value at step {context['step']}: {wrong}",
                step=context["step"],
            ) from wrong
    return values
