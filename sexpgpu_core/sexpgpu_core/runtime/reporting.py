"""What a run tells of its steps and passes: events, the ledger of series, status.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ..device import Outcome
from ..records import NamedTuple
from .evaluation import PassResult
from .events import Moment, Said
from .fault import Cause, cause_json
from .folder import RunFolder
from .job import Job, StageFacts
from .ledger import Ledger
from .manifest import goals
from .metrics import of_one, scalar
from .progress import Progress
from .throughput import Pace, Throughput

HELD = 0.1
"""Seconds for which numbers of steps that follow each other fast are held back: written together
they cost a third."""


class Step(NamedTuple):
    """What a step said where it is logged. `epoch`: with its fraction. `data`: as `step` has it."""

    stage: StageFacts
    outcome: Outcome
    progress: Progress
    epoch: float
    at: Moment
    pace: Pace
    data: Mapping[str, float]


class Reporter:
    """Knows the series and their best values. `improved`: the series of `:checkpoint :best` did."""

    def __init__(self, job: Job, folder: RunFolder) -> None:
        self._job, self._folder = job, folder
        self.ledger = Ledger(job.experiment.targets, goals(job), job.curriculum is not None)
        self.throughput = Throughput(folder.clock.monotonic)
        self.improved = False
        self._best = (job.experiment.run.checkpoint.best or (None,))[0]
        self._held: list[Step] = []
        self._patient = not _decides(job)
        folder.events.earlier = self.flush

    def step(
        self,
        stage: StageFacts,
        outcome: Outcome,
        progress: Progress,
        epoch: float,
        data: Mapping[str, float],
    ) -> None:
        """The `step` event: that very step's values. `epoch`: with its fraction. `data`: series of
        what was read."""
        pace, at = self.throughput.since_log(progress.step), self._folder.events.moment()
        self._held.append(Step(stage, outcome, progress, epoch, at, pace, data))
        since = at.elapsed - self._held[0].at.elapsed
        if not self._patient or since + pace.active >= HELD:
            self.flush()

    def flush(self) -> None:
        """Write what is held back. Nothing is past a checkpoint, a pass, or any other event."""
        if self._held:
            self.tell()

    def tell(self, *more: Said) -> None:
        """What is held back and `more`, at once."""
        held, self._held = self._held, []
        named = [{**step_metrics(step.stage, step.outcome), **step.data} for step in held]
        paces = [step.pace.told(step.stage.step.rows, step.stage.counters) for step in held]
        told = [_said(*row) for row in zip(held, named, paces)]
        self._folder.events.write_all([*told, *more])
        for step, metrics in zip(held, named):
            self._report(metrics, step.progress, step.at.elapsed)
        self._folder.status.set(**({"throughput": paces[-1]} if paces else {}))
        for step in held:
            if (waiting := step.pace.waiting()) is not None:
                self._folder.events.warn(waiting, step.progress.step)

    def prove(self, step: int) -> None:
        """Between two steps: go on with the proof of the first checkpoint; tell of doubles."""
        if self._folder.doubles is not None:
            self._folder.doubles.follow(step)
        if self._folder.proof is not None:
            self._folder.proof.follow(step, self.throughput.step_s, self.flush)

    def passed(
        self,
        name: str,
        result: PassResult,
        progress: Progress,
        duration: float,
        artifacts: Sequence[str] = (),
    ) -> None:
        """The `eval` event of a pass that came to its end. `artifacts`: files that it wrote."""
        named = {f"{name}/{metric}": value for metric, value in result.metrics.items()}
        weights = self._job.experiment.passes[name].weights
        keys = {
            "pass": name,
            "evaluation_id": self._job.evaluation_ids[name],
            "weights": weights if isinstance(weights, str) else weights[0],
            "metrics": named,
            "examples": result.examples,
            "batches": result.batches,
            "duration_s": round(duration, 6),
            "complete": result.complete,
            "artifacts": list(artifacts),
        }
        at = self._folder.events.moment()
        self.tell(Said("eval", progress.step, at, keys))
        self._report(named, progress, at.elapsed)

    def guarded(
        self,
        action: str,
        name: str,
        value: float,
        step: int,
        skipped: int,
        allowed: int,
        cause: Cause | None = None,
    ) -> None:
        """The `guard` event of a step that was dropped."""
        self._folder.events.write(
            "guard",
            step,
            action=action,
            value=value,
            watched=name,
            skipped=skipped,
            allowed=allowed,
            cause=cause_json(cause),
        )

    def noted(self, request: Mapping[str, Any], step: int) -> None:
        """The `annotation` event that another process asks for."""
        text, by = str(request.get("text", "")), str(request.get("by", "cli"))
        self._folder.events.write("annotation", step, text=text, by=by)

    def _report(self, named: Mapping[str, float], progress: Progress, elapsed: float) -> None:
        report, step, examples = self.ledger.report, progress.step, progress.examples
        for series, value in named.items():
            improved, met = report(series, value, step, examples, elapsed)
            self.improved |= improved and series == self._best
            for target in met:
                self._folder.events.write("target", progress.step, target=target)

    def told(self, progress: Progress) -> dict[str, Any]:
        """What status.json says of how far the run is; any thread may ask."""
        step, steps, pace = progress.step, self._job.steps, self.throughput.step_s
        last = dict(self.ledger.last)  # at once: the loop may add to it
        return {
            "metrics": {name: {"value": value, "step": at} for name, (value, at) in last.items()},
            "best": dict(self.ledger.best),
            "targets": [dict(target) for target in self.ledger.targets],
            "counters": dict(progress.counters),
            "step": step,
            "steps": steps,
            "progress": min(1.0, step / steps) if steps else 1.0,
            "eta": None if pace is None else round(max(0, steps - step) * pace, 3),
        }


def _decides(job: Job) -> bool:
    """Whether a step's numbers may decide what comes next: then they are told at once."""
    best = job.experiment.run.checkpoint.best
    deciding = [target.series for target in job.experiment.targets] + list(best or ())[:1]
    trained = {stage.stage for stage in job.stages.values()}
    decides = any(series.partition("/")[0] in trained for series in deciding)
    return decides or job.curriculum is not None


def _said(step: Step, metrics: Mapping[str, float], throughput: Mapping[str, Any]) -> Said:
    keys = {
        "metrics": metrics,
        "counters": step.progress.counters,
        "epoch": step.epoch,
        "throughput": throughput,
    }
    return Said("step", step.progress.step, step.at, keys)


def step_metrics(stage: StageFacts, outcome: Outcome) -> dict[str, float]:
    """A step's series: its metrics, and the objective's scalar or scalars."""
    found = of_one(stage.step.metrics, outcome.results, stage.step.rows)
    named = {f"{stage.stage}/{name}": value for name, value in found.items()}
    for name, series in _objectives(stage.stage, tuple(outcome.results)):
        named[series] = scalar(outcome.results[name])
    return named


@lru_cache(maxsize=64)
def _objectives(stage: str, results: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The results that are losses, each with its series."""
    losses = (name for name in results if name == "loss" or name.startswith("loss:"))
    return tuple((name, f"{stage}/objective{name[4:].replace(':', '/')}") for name in losses)
