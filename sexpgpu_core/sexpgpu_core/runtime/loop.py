"""The fixed loop: batch, step program, commit, then what falls due: log, passes, checkpoint.

The same for every device, without callbacks into a user's code. What is decided depends on steps,
never on what has arrived (45.40); only signals and a deadline are clocks, and they end a run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..checkpoint.folder import Checkpoint
from ..data.loader import Loader
from ..data.prefetch import Prefetcher
from ..device import Outcome
from ..diagnostics import Problem, diagnostic
from ..experiment.declarations import EMPTY
from ..records import NamedTuple
from . import cadence, curriculum, fault, saving
from .control import Inbox
from .events import deleted
from .fault import Cause, Fault
from .folder import RunFolder
from .job import Job, StageFacts
from .metrics import scalar
from .observation import Observation, observe
from .passing import Passes
from .progress import FIRST_SCALE, Progress, evaluate
from .reporting import Reporter
from .resume import restore
from .sampling import Plan, Sampling
from .signals import Signals
from .weights import Weights

if TYPE_CHECKING:
    from ..device import Pending, Session

_UNKNOWN = Outcome(True)


class Flying(NamedTuple):
    """One launched step, and how far the run is once it is done."""

    pending: Pending
    fault: Fault
    stage: str
    after: Progress
    epoch: float
    waited: float
    observation: Observation | None = None


class Loop:
    """One attempt at a run. `in_flight`: launches at once, 2 where the verdict is sticky.

    `until`: the step after which it is broken off, if not earlier; `keep`: whether it is saved.
    """

    def __init__(
        self,
        job: Job,
        session: Session,
        folder: RunFolder,
        loaders: Mapping[str, Loader],
        signals: Signals,
        deadline: float | None = None,
        explain: Callable[[Fault], Cause | None] | None = None,
        in_flight: int = 1,
        until: int | None = None,
        keep: bool = True,
        plan: Plan | None = None,
    ) -> None:
        self.job, self.session, self.folder, self.loaders = job, session, folder, loaders
        self.signals = signals
        self.explain = explain or (lambda found: None)
        self.run = job.experiment.run
        self.report = Reporter(job, folder)
        self._scaled = any(stage.scaled for stage in job.stages.values())
        scale = FIRST_SCALE if self._scaled else 1.0
        counters = {name: 0 for stage in job.stages.values() for name in stage.counters}
        # of steps whose outcome is known, and of steps launched
        groups = {name: 0 for stage in job.stages.values() for name in stage.cadences}
        self.progress = Progress(
            job.steps, scale=scale, counters=counters, groups=groups, until=self.run.until
        )
        self.ahead = self.progress.copy()
        self.saver = saving.Saver(job, session, folder)
        self.sampling = Sampling(job, session, folder, plan)
        self._deadline = folder.clock.monotonic() + deadline if deadline else None
        self._guard, self._allowed = fault.guard(self.run.finite_guard)
        # `(ctx :updates)` and the loss scale of the next step depend on this one's verdict
        waits = self._guard == "skip" or self._scaled
        self._depth = 1 if waits else max(1, in_flight)
        self._flying: deque[Flying] = deque()
        self._inbox = Inbox(folder.path / "control", folder.clock.monotonic)
        self._data: Prefetcher | None = None
        self._stage = curriculum.default_key(job.stages)
        self._next: str | None = self._stage
        self._until = job.steps if until is None else min(until, job.steps)
        self._requested, self._hurried = False, not keep
        weights = Weights(job, session, folder, self.report.ledger, self.saver)
        self.passes = Passes(job, session, folder, loaders, self.report, self.explain, weights)

    # -- the loop

    def begin(self, resume: Checkpoint | None) -> None:
        """Persistent values, counts and what was due at the checkpoint."""
        restore(self.session, self.job, resume)
        self.folder.status.moving = self._moving
        if resume is not None:
            rows = {key: stage.step.rows for key, stage in self.job.stages.items()}
            self.progress.restore(resume.document, rows)
            self.report.ledger.restore(resume.document, {})
            self.saver.last = self.progress.step
            self.passes.restore(resume.document)
            self._stage = curriculum.saved_key(self.job, resume.document)
        self.ahead = self.progress.copy()
        if self.job.curriculum is None:
            self._enter(self._stage)
        self.sampling.resume(self.progress.step)
        self.folder.status.state("running", stage=self._stage_facts.stage)
        self.report.throughput.start(self.progress.step)
        self._requests()
        if resume is None:
            self._fall_due(0)
        elif due := self.passes.take():
            self._evaluate(due)
            self._save(self.progress.step)

    def steps(self) -> str:
        """Run until something ends it; what: steps, target, deadline, or a signal's name."""
        while (reason := self._ended()) is None:
            self._launch()
            due = self._falls_due(self.ahead.step)
            while self._flying and (due or len(self._flying) >= self._depth):
                self._settle(self._flying.popleft())
            if due:
                self._fall_due(self.progress.step)
            self.saver.collect()
            self._requests()
            self.sampling.follow(self.progress.step)
            self.report.prove(self.progress.step)
        self._drain()
        return reason

    def end(self, reason: str) -> None:
        """The passes of the end, unless the run is to go on elsewhere; the last checkpoint."""
        step = self.progress.step
        if reason in ("deadline", "curriculum"):
            self._fall_due(step, ending=True)
        if self.saver.last != step:
            self._save(step)
        self.folder.status.state("checkpointing")
        self.saver.collect(wait=True, ending=True)

    def close(self) -> None:
        """End the threads. Nothing in flight is waited for but a checkpoint."""
        self.sampling.close()
        self._drop()

    def _drop(self) -> None:
        if self._data is not None:
            self._data.close()

    def _ended(self) -> str | None:
        if self.signals.reason is not None:
            return self.signals.reason
        if self.report.ledger.stopped:
            return "target"
        if self.ahead.step >= self._until:
            return "steps"
        if self._deadline is not None and self.folder.clock.monotonic() >= self._deadline:
            return "deadline"
        self._next = curriculum.next_key(
            self.job, self.ahead, self._stage, self.loaders, self._metric
        )
        return "curriculum" if self._next is None else None

    @property
    def _stage_facts(self) -> StageFacts:
        return self.job.stages[self._stage]

    def _metric(self, series: str, which: str) -> float | int | None:
        """What curriculum asks of a series: every step before has told by then (45.7)."""
        self._drain()
        return self.report.ledger.asked(series, which, self.progress.step)

    def _enter(self, key: str) -> None:
        """Take up a stage where it was left; batches prefetched for another are dropped."""
        if key == self._stage and self._data is not None:
            return
        self._drop()
        self._stage = key
        stage = self._stage_facts
        number = self.ahead.batches.get(key, 0)
        last = number + self.job.steps - self.ahead.step
        fields = stage.step.fields
        loader = self.loaders[stage.loader]
        self._data = Prefetcher(loader, stage.stage, number, last, tuple(fields))
        self.folder.events.write(
            "stage",
            self.ahead.step,
            stage=stage.stage,
            loader=stage.loader,
            graph=stage.step.program,
            batch={n: {"dtype": t.dtype, "shape": list(t.shape)} for n, t in fields.items()},
        )

    # -- a step

    def _launch(self) -> None:
        assert self._next is not None
        self._enter(self._next)
        stage, key = self._stage_facts, self._stage
        assert self._data is not None
        made, waited = self._data.take()
        batch = {name: made[name] for name in stage.step.fields}
        context = self.ahead.context(key, stage, self.loaders[stage.loader])
        due = stage.due(self.ahead.step)
        scalars = evaluate(due.scalars, context)
        observation = None
        if cadence.due(self.ahead.step + 1, self.sampling.every, (), False):
            observed = self.sampling.observed[key]
            observation = observe(self.session, observed, batch, context, waited)
            self.sampling.seen(observation, self.explain)
        pending = self.session.program(due.program).launch(batch, scalars)
        self.ahead.advance(key, stage)
        after = self.ahead.copy()
        epoch, inside = self.loaders[stage.loader].epoch(stage.stage, after.batches[key])
        found = Fault("nonfinite", due.program, after.step, batch, scalars, _UNKNOWN)
        flying = Flying(pending, found, key, after, epoch + inside, waited, observation)
        self._flying.append(flying)

    def _settle(self, flying: Flying) -> None:
        """Take a step's outcome: halt, skip or commit; log where it falls due."""
        outcome = flying.pending.outcome()
        if outcome.error is not None:
            self._halt(flying.fault._replace(kind="index", outcome=outcome))
        overflow = not outcome.committed and self._overflows(flying, outcome)
        if not outcome.committed and not overflow:
            self._dropped(flying, outcome)
        before, skipped = self.progress, self.progress.skipped
        self.progress = flying.after
        self.progress.weighed(before, int(scalar(outcome.results.get("empty", 0))))
        if overflow:
            self._rescaled(flying)
        elif not outcome.committed:
            self.progress.skipped, self.progress.updates = skipped, before.updates
            self.progress.groups = dict(before.groups)
            self.ahead.skip()
        elif self.job.stages[flying.stage].scaled:
            self.progress.rescale(fits=True)
            self.ahead.rescale(fits=True)
        self.report.throughput.step(flying.waited)
        step = self.progress.step
        if cadence.due(step, self.run.log_every, (), False) or step == self.job.steps:
            stage = self.job.stages[flying.stage]
            loader, number = self.loaders[stage.loader], self.progress.batches[flying.stage]
            data = {f"data/{n}/epoch": x for n, x in loader.epochs(stage.stage, number).items()}
            if EMPTY in self.progress.counters:
                data[EMPTY] = self.progress.counters[EMPTY]
            self.report.step(stage, outcome, self.progress, flying.epoch, data)
        if flying.observation is not None:
            self.folder.events.write("diagnostic", step, values=flying.observation.values())

    def _drain(self) -> None:
        while self._flying:
            self._settle(self._flying.popleft())

    def _overflows(self, flying: Flying, outcome: Outcome) -> bool:
        """Whether the gradient left the range of f16 for its scale, not for its loss (45.2)."""
        scaled = self.job.stages[flying.stage].scaled and self.progress.scale > 1.0
        return scaled and (self._guard == "off" or fault.watched(outcome)[0] == "gradient-norm")

    def _rescaled(self, flying: Flying) -> None:
        """Half the scale from the next step on; told, and no event of the guard."""
        self.progress.overflow()
        self.ahead.overflow()
        step, scale = self.progress.step, self.progress.scale
        told = f"step {step}: gradients overflow f16; the loss scale is now {scale:g}"
        self.folder.events.warn(diagnostic("W-LOSS-SCALE", told, step=step, scale=scale), step)

    def _dropped(self, flying: Flying, outcome: Outcome) -> None:
        """The verdict was false: the end under :halt, counted under (:skip n)."""
        found = flying.fault._replace(outcome=outcome)
        skipped = self.progress.skipped + 1
        if self._guard == "halt" or (self._guard == "skip" and skipped > self._allowed):
            self._halt(found)
        self.progress.skipped = skipped
        name, value = fault.watched(outcome)
        self.report.guarded("skip", name, value, found.step, skipped, self._allowed)
        told = f"step {found.step}: the {name} is {value}; {skipped} of {self._allowed} skipped"
        self.folder.events.warn(diagnostic("W-GUARD-SKIP", told, step=found.step), found.step)

    def _halt(self, found: Fault) -> None:
        """Save what was before the step, with its batch, and end. Later launches do not count."""
        self._flying.clear()
        cause = self.explain(found)
        if found.kind == "nonfinite":
            name, value = fault.watched(found.outcome)
            done, skipped = self.progress.step, self.progress.skipped
            self.report.guarded("halt", name, value, done, skipped, self._allowed, cause)
        try:
            self.saver.halt(self._document([]), found.batch)
        except Problem as unsaved:
            self.folder.events.warn(unsaved.diagnostic, self.progress.step, once=False)
        raise (fault.nonfinite if found.kind == "nonfinite" else fault.index)(found, cause)

    # -- what falls due

    def _falls_due(self, step: int) -> bool:
        """Whether the loop must know all outcomes up to `step` before it launches on."""
        ending = step == self.job.steps
        if self._requested or step == self._until or self._checkpoint_due(step, ending):
            return True
        if self.passes.falling(step, ending):
            return True
        stops = any(target["stop"] for target in self.report.ledger.targets)
        return stops and cadence.due(step, self.run.log_every, (), ending)

    def _checkpoint_due(self, step: int, ending: bool) -> bool:
        declared = self.run.checkpoint
        return cadence.due(step, declared.every, cadence.steps(declared.at), ending)

    def _fall_due(self, step: int, ending: bool | None = None) -> None:
        """Passes, then a checkpoint. A pass may meet the target that makes this step the last."""
        ending = step == self.job.steps if ending is None else ending
        self._evaluate(self.passes.falling(step, ending))
        if self.report.ledger.stopped and not ending:
            ending = True
            self._evaluate(self.passes.falling(step, True))
        due = self._checkpoint_due(step, ending) or (ending and step > 0)
        if due or self.report.improved or self._requested:
            self._save(step)

    def _save(self, step: int) -> None:
        if self._hurried:
            return
        self.saver.save(self._document(self.passes.due), self.report.improved)
        self.report.improved = self._requested = False
        self.report.throughput.pause()

    def _evaluate(self, names: list[str]) -> None:
        stage = self._stage_facts
        context = self.progress.context(self._stage, stage, self.loaders[stage.loader])
        self.passes.run(names, self.progress, context, self._stopped)

    def _stopped(self) -> bool:
        """Whether a pass is to be broken off."""
        self._requests()
        return self.signals.reason is not None

    def _moving(self) -> dict[str, Any]:
        return self.report.told(self.progress)

    def _requests(self) -> None:
        if self.folder.status.gone:
            raise deleted(self.folder.path)
        for request in self._inbox.take():
            if request["request"] == "stop":
                self.signals.request("stop")
                self._hurried = bool(request.get("now"))
            elif request["request"] == "checkpoint":
                self._requested = True
            elif request["request"] == "diagnostics":
                self.sampling.ask(*(map(str, request.get(k, ())) for k in ("add", "remove")))
            else:
                self.report.noted(request, self.progress.step)

    def _document(self, due: list[str]) -> dict[str, Any]:
        self.report.flush()  # a checkpoint holds the last numbers, and events up to it
        kept = (self._stage, self.progress, self.report.ledger, self.loaders, self._allowed, due)
        return saving.document(self.job, self.folder, *kept, self.folder.clock.stamp)
