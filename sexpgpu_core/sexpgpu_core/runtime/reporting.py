"""What a run tells of its steps and passes: events, the ledger of series, status.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..device import Outcome
from .evaluation import PassResult
from .fault import Cause, cause_json
from .folder import RunFolder
from .job import Job, StageFacts
from .ledger import Ledger
from .manifest import goals
from .metrics import Accumulator, scalar
from .progress import Progress
from .throughput import Throughput


class Reporter:
    """Knows the series and their best values. `improved`: the series of `:checkpoint :best` did."""

    def __init__(self, job: Job, folder: RunFolder) -> None:
        self._job, self._folder = job, folder
        self.ledger = Ledger(job.experiment.targets, goals(job))
        self.throughput = Throughput(folder.clock.monotonic)
        self.improved = False

    def step(self, stage: StageFacts, outcome: Outcome, progress: Progress, epoch: float) -> None:
        """The `step` event: that very step's values. `epoch`: with its fraction."""
        throughput = self.throughput.since_log(progress.step, stage.step.rows, stage.counters)
        named = step_metrics(stage, outcome)
        self._folder.events.write(
            "step",
            progress.step,
            metrics=named,
            counters=progress.counters,
            epoch=epoch,
            throughput=throughput,
        )
        self._folder.status.set(throughput=throughput)
        self._report(named, progress)
        if self.throughput.waiting is not None:
            self._folder.events.warn(self.throughput.waiting, progress.step)

    def passed(self, name: str, result: PassResult, progress: Progress, duration: float) -> None:
        """The `eval` event of a pass that came to its end."""
        named = {f"{name}/{metric}": value for metric, value in result.metrics.items()}
        weights = str(self._job.experiment.passes[name].weights or "live").lstrip(":").lower()
        self._folder.events.write(
            "eval",
            progress.step,
            **{"pass": name},
            evaluation_id=self._job.evaluation_ids[name],
            weights=weights if weights in ("live", "ema") else "live",
            metrics=named,
            examples=result.examples,
            batches=result.batches,
            duration_s=round(duration, 6),
            complete=result.complete,
            artifacts=[],
        )
        self._report(named, progress)

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

    def _report(self, named: Mapping[str, float], progress: Progress) -> None:
        best = self._job.experiment.run.checkpoint.best
        elapsed = round(self._folder.events.elapsed, 6)
        for series, value in named.items():
            improved, met = self.ledger.report(
                series, value, progress.step, progress.examples, elapsed
            )
            self.improved |= improved and best is not None and series == best[0]
            for target in met:
                self._folder.events.write("target", progress.step, target=target)
        self._folder.status.set(**self.told(progress))

    def told(self, progress: Progress) -> dict[str, Any]:
        """What status.json says of how far the run is."""
        return {
            **self.moved(progress),
            "metrics": {n: {"value": v, "step": at} for n, (v, at) in self.ledger.last.items()},
            "best": dict(self.ledger.best),
            "targets": [dict(target) for target in self.ledger.targets],
            "counters": dict(progress.counters),
        }

    def moved(self, progress: Progress) -> dict[str, Any]:
        """The part of it that every step changes; any thread may ask."""
        step, steps, pace = progress.step, self._job.steps, self.throughput.step_s
        return {
            "step": step,
            "steps": steps,
            "progress": min(1.0, step / steps) if steps else 1.0,
            "eta": None if pace is None else round(max(0, steps - step) * pace, 3),
        }


def step_metrics(stage: StageFacts, outcome: Outcome) -> dict[str, float]:
    """A step's series: its metrics, and the objective's scalar or scalars."""
    one = Accumulator(stage.step.metrics)
    one.add(outcome.results, stage.step.rows)
    named = {f"{stage.stage}/{name}": value for name, value in one.values().items()}
    for name, value in outcome.results.items():
        if name == "loss" or name.startswith("loss:"):
            named[f"{stage.stage}/objective{name[4:].replace(':', '/')}"] = scalar(value)
    return named
