"""The evaluation passes of a run: which fall due after a step, run in order, each told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..data.loader import Loader
from ..diagnostics import Diagnostic
from . import artifacts, cadence, events
from .evaluation import Wrong, run_pass
from .fault import warning
from .folder import RunFolder
from .job import Job
from .progress import Progress
from .reporting import Reporter
from .weights import Unread, Weights

if TYPE_CHECKING:
    from ..device import Session
    from .fault import Cause, Fault


class Passes:
    """`due`: what fell due and was broken off, as a checkpoint keeps it; `test_reads`: how often a
    :test stage was read, in all attempts."""

    def __init__(
        self,
        job: Job,
        session: Session,
        folder: RunFolder,
        loaders: Mapping[str, Loader],
        report: Reporter,
        explain: Callable[[Fault], Cause | None],
        weights: Weights,
    ) -> None:
        self._weights = weights
        self._job, self._session, self._folder = job, session, folder
        self._loaders, self._report, self._explain = loaders, report, explain
        self._ran: dict[str, int] = {}  # pass -> the step after which it ran last
        self._took: dict[str, float] = {}  # pass -> seconds, when it ran last
        self._told: set[str] = set()  # passes of which it was told that a number is not finite
        self.due: list[str] = []
        self.test_reads = 0

    def restore(self, document: Mapping[str, Any]) -> None:
        """What was due at a checkpoint. Whoever read a :test stage has read it: what a resume drops
        counts too."""
        self.due = list(document.get("due", []))
        told = events.read(self._folder.path / "events.jsonl")
        self.test_reads = sum(e["event"] == "eval" and self._tests(e["pass"]) for e in told)

    def _tests(self, name: str) -> bool:
        """Whether a pass, which may be no longer of the file, reads a :test stage."""
        facts = self._job.passes.get(name)
        return facts is not None and facts.loader is not None and facts.stage == "test"

    def take(self) -> list[str]:
        """The passes that were due, which are so no longer."""
        due, self.due = self.due, []
        return [name.removeprefix("eval/") for name in due]

    def falling(self, step: int, ending: bool) -> list[str]:
        """Those that are due after a step."""
        declared = self._job.experiment.passes
        return [name for name in self._job.passes if _falls(declared[name], step, ending)]

    def run(
        self,
        names: list[str],
        progress: Progress,
        context: Mapping[str, float],
        stopped: Callable[[], bool],
    ) -> None:
        """Those that have not run after this step; once `stopped` says so, the rest is `due`."""
        # those of the best weights last: another may find this step's the best
        left = [name for name in names if self._ran.get(name) != progress.step]
        left.sort(key=self._weights.of_best)
        for name in left:
            if not stopped() and self._one(name, progress, context, stopped):
                self._ran[name] = progress.step
            else:
                self.due.append(f"eval/{name}")
        if left:
            self._report.throughput.pause()
            self._folder.status.state("running", phase="train")

    def _one(
        self,
        name: str,
        progress: Progress,
        context: Mapping[str, float],
        stopped: Callable[[], bool],
    ) -> bool:
        """Whether it came to its end."""
        facts, clock = self._job.passes[name], self._folder.clock.monotonic
        self._report.expect(self._took.get(name))
        self._folder.status.state("evaluating", phase=name)
        began = clock()
        loader = None if facts.loader is None else self._loaders[facts.loader]
        try:
            with self._weights.given(name, progress.step):
                result = run_pass(self._session, facts, loader, context, stopped, self._explain)
        except Unread as lacking:
            self._folder.events.warn(lacking.why.diagnostic, progress.step, once=False)
            return True
        if result is None:
            return False
        if result.wrong is not None and name not in self._told:
            self._told.add(name)
            self._folder.events.warn(_wrong(name, result.wrong), progress.step, once=False)
        self.test_reads += self._tests(name)
        files = artifacts.save(self._folder.path, facts, progress.step, result.arrays)
        self._took[name] = clock() - began
        self._report.passed(name, result, progress, self._took[name], files)
        return True


def _wrong(name: str, found: Wrong) -> Diagnostic:
    metric = f"{name}/{found.metric}"
    told = f"{metric} is {found.value} for a batch of the pass"
    return warning("W-EVAL-NONFINITE", told, found.cause, metric=metric)


def _falls(declared: Any, step: int, ending: bool) -> bool:
    return cadence.pass_due(step, declared.every, cadence.steps(declared.at), ending)
