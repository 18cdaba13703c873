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

HELD = 0.25
"""Seconds for which events of fast steps and passes are held back: one that is made alone costs
three times as much, since the steps before it took the processor's caches."""


class Step(NamedTuple):
    """What a step said where it is logged. `epoch`: with its fraction. `data`: as `step` has it."""

    stage: StageFacts
    outcome: Outcome
    progress: Progress
    epoch: float
    data: Mapping[str, float]
    pace: Pace


class Reporter:
    """Knows the series and their best values. `improved`: the series of `:checkpoint :best` did."""

    def __init__(self, job: Job, folder: RunFolder) -> None:
        self._job, self._folder = job, folder
        self.ledger = Ledger(job.experiment.targets, goals(job), job.curriculum is not None)
        self.throughput = Throughput(folder.clock.monotonic)
        self.improved = False
        self._best = (job.experiment.run.checkpoint.best or (None,))[0]
        self._held: list[Step | Said] = []
        self._since = 0.0  # the clock at the first that is held
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
        # little is done here: a step leaves nothing of Python in the processor's caches
        pace, held = self.throughput.since_log(progress.step), self._held
        if not held:
            self._since = pace.at
        held.append(Step(stage, outcome, progress, epoch, data, pace))
        if not self._patient or pace.at - self._since + pace.active >= HELD:
            self.flush()

    def expect(self, seconds: float | None) -> None:
        """Something begins that takes about so long; None: nobody knows. What would be too old at
        its end is written before it."""
        if seconds is None or self._folder.clock.monotonic() - self._since + seconds >= HELD:
            self.flush()

    def _next_log(self) -> float | None:
        """Seconds of the steps between two logs."""
        pace = self.throughput.step_s
        return None if pace is None else pace * self._job.experiment.run.log_every

    def flush(self) -> None:
        """Write what is held back. Nothing is past a checkpoint or any other event."""
        if not self._held:
            return
        held, self._held = self._held, []
        log = self._folder.events
        steps = [step for step in held if isinstance(step, Step)]
        moments = log.moments([step.pace.at for step in steps])
        told = [_said(step, at) for step, at in zip(steps, moments)]
        ready = iter(told)
        log.write_all([next(ready) if isinstance(step, Step) else step for step in held])
        for step, said in zip(steps, told):
            self._report(said.keys["metrics"], step.progress, said.at.elapsed)
            if (waiting := step.pace.waiting()) is not None:
                log.warn(waiting, step.progress.step)
        if told:
            self._folder.status.set(throughput=told[-1].keys["throughput"])

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
        if not self._held:
            self._since = self._folder.clock.monotonic()
        self._held.append(Said("eval", progress.step, at, keys))
        self.expect(self._next_log() if self._patient else None)
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
        improved, met = self.ledger.report(named, progress.step, progress.examples, elapsed)
        self.improved |= self._best in improved
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


def _said(step: Step, at: Moment) -> Said:
    keys = {
        "metrics": {**step_metrics(step.stage, step.outcome), **step.data},
        "counters": step.progress.counters,
        "epoch": step.epoch,
        "throughput": step.pace.told(step.stage.step.rows, step.stage.counters),
    }
    return Said("step", step.progress.step, at, keys)


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
