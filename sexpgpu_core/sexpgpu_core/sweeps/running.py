"""The points of a sweep, one after another or several at once, until each has a run that ended.

A point whose experiment has finished is not run again, whoever ran it; one that broke off goes on
(80.13). One that fails does not end the sweep.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..diagnostics import problem
from ..records import NamedTuple
from ..runtime import documents, runs
from ..runtime.clock import Clock
from ..runtime.control import Inbox
from ..runtime.lock import Lock
from ..runtime.signals import ENDINGS, Signals
from ..runtime.status import FINAL, HEARTBEAT
from .document import FILE, Known, Work, document, folder_of, read
from .executor import PREEMPTED, Executor
from .points import Point, Points

POLL = 0.05
SAY = 5.0
"""Seconds between two lines of how far a look at points is."""
FINISHED = (0, 5)
"""Exits of a run that came to its end, its targets met or not."""


class Plan(NamedTuple):
    """What a sweep is to do. `content`: of the file without a point; `identify`: the experiment of
    a point, or the code of why it is none, for some 0.1 s; `command`: of a point; `only`: whether a
    point is run; `failed`: whether those that failed are."""

    file: str
    points: Points
    content: str | None
    identify: Callable[[Point], tuple[str | None, str | None]]
    command: Callable[[Point], Sequence[str]]
    executor: str = "local"
    jobs: int = 1
    only: Callable[[str], bool] = lambda name: True
    failed: bool = False


def works(
    plan: Plan, listed: Sequence[runs.Run], told: Callable[[str], None] = lambda line: None
) -> list[Work]:
    """What has become of each point so far. Only points whose values a run has are evaluated, to
    be sure that it is theirs; `told` how far that is where it takes long."""
    made, said, points = [], time.monotonic(), plan.points.points
    knobs = points[0].values.keys()
    known = {
        _choice({k: v for k, v in run.manifest["selection"]["values"].items() if k in knobs}, seed)
        for run in listed
        for seed in [run.manifest["seed"]]
    }
    for number, point in enumerate(points):
        work = Work(point.name, None)
        if _choice(point.values, point.seed) in known:
            work = _work(point.name, *plan.identify(point), listed)
        made.append(work)
        if time.monotonic() - said > SAY:
            said = time.monotonic()
            told(f"{number + 1} of {len(points)} points looked up")
    return made


def _choice(values: Mapping[str, str], seed: int) -> tuple[frozenset[tuple[str, str]], int]:
    """What tells points from each other, whichever way their numbers are written."""
    return frozenset((knob, _plain(text)) for knob, text in values.items()), seed


def _plain(text: str) -> str:
    try:
        return repr(float(text))
    except ValueError:
        return text


def _work(name: str, identity: str | None, error: str | None, listed: Sequence[runs.Run]) -> Work:
    if identity is None:
        return Work(name, None, "failed", exit=1, error=error)
    same = [run for run in listed if run.manifest["experiment_id"] == identity]
    finished = [run for run in same if run.state == "finished"]
    chosen = next(iter([*finished, *same]), None)
    return Work(name, identity) if chosen is None else _of_run(Work(name, identity), chosen)


def _of_run(work: Work, run: runs.Run) -> Work:
    status = run.status or {}
    error = (status.get("error") or {}).get("code")
    return work._replace(
        state=run.state,
        run=run.path,
        reused=run.state == "finished",
        exit=status.get("exit"),
        error=error,
    )


class Sweeping:
    """One go at a sweep. `told` is called with a line for people when a point ends."""

    def __init__(
        self,
        plan: Plan,
        root: Path,
        executor: Executor,
        signals: Signals,
        clock: Clock | None = None,
        said: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.plan, self.root, self.executor, self.signals = plan, root, executor, signals
        self.clock = clock or Clock()
        self.path = folder_of(root, plan.file, plan.points, plan.content)
        self._before = runs.listing(root)
        self.works = works(plan, self._before, said)
        self._known: Known = {}
        self._flying: dict[int, Any] = {}
        self._started, self._written = self.clock.stamp(), 0.0
        self._asked = False
        self._lock: Lock | None = None

    def begin(self) -> Path:
        """Make the folder, which is ours from here on, and its first sweep.json. Raises
        E-RUN-LOCKED, E-RUN-WRITE."""
        try:
            (self.path / "control").mkdir(parents=True, exist_ok=True)
            (self.path / "logs").mkdir(exist_ok=True)
            self._lock = self._lock or Lock(self.path / "run.lock", self._started)
            self.write("running")
        except OSError as refused:
            raise problem("E-RUN-WRITE", f"{self.path}: {refused.strerror}") from refused
        return self.path

    def run(self, told: Callable[[Work], None] = lambda work: None) -> dict[str, Any]:
        """Run what is to be run; the last document. Raises E-RUN-LOCKED, E-RUN-WRITE."""
        self.begin()
        inbox = Inbox(self.path / "control", self.clock.monotonic)
        try:
            waiting = [n for n, work in enumerate(self.works) if self._wanted(work)]
            while waiting or self._flying:
                self._requests(inbox)
                if self.signals.reason is not None:
                    waiting.clear()
                    self._cancel()
                later: list[int] = []
                while self._free(waiting):
                    number = waiting.pop(0)
                    if self._twin(number):
                        later.append(number)
                    elif self._sound(number, told):
                        self._submit(number)
                waiting += [*later, *self._settle(told)]
                time.sleep(POLL)
            return self.write(self.state)
        finally:
            assert self._lock is not None
            self._lock.release()

    @property
    def exit(self) -> int:
        """0 where all that was wanted has finished, 3 some failed, else as what ended it."""
        if self.signals.reason is not None:
            return ENDINGS[self.signals.reason].exit
        wanted = [work for work in self.works if self.plan.only(work.name)]
        exits = {work.exit for work in wanted if work.state != "finished"}
        return 75 if exits and exits <= {75} else 3 if exits else 0

    def write(self, state: str) -> dict[str, Any]:
        """Replace sweep.json; what it says."""
        said = self.document(state)
        documents.replace(self.path / FILE, said)
        self._written = self.clock.monotonic()
        return said

    def document(self, state: str) -> dict[str, Any]:
        """The sweep as it is now."""
        return document(
            self.plan.points,
            self.works,
            self._known,
            file=self.plan.file,
            state=state,
            started_at=self._started,
            heartbeat=self.clock.stamp(),
            executor=self.plan.executor,
            jobs=self.plan.jobs,
        )

    def seen(self) -> dict[str, Any]:
        """How it is, whoever is at it; nothing is written."""
        if not (self.path / FILE).is_file():
            return self.document(self.state)
        told = read(self.path)
        if told["state"] != "running":
            return self.document(self.state)
        queued = {point["point"] for point in told["points"] if point["state"] == "queued"}
        self.works = [
            work._replace(state="queued")
            if work.state == "pending" and work.name in queued
            else work
            for work in self.works
        ]
        kept = ("state", "started_at", "heartbeat", "executor", "jobs")
        return {**self.document("running"), **{key: told[key] for key in kept if key in told}}

    @property
    def state(self) -> str:
        """How it stands where nobody is at it."""
        left = any(work.state not in ("finished", "failed") for work in self.works)
        return "stopped" if left else "finished"

    def _wanted(self, work: Work) -> bool:
        if work.error is not None and work.identity is None:
            return False
        if not self.plan.only(work.name):
            return False
        return work.state != "finished" and (work.state != "failed" or self.plan.failed)

    def _free(self, waiting: Sequence[int]) -> bool:
        """Whether one more is begun now."""
        asked = self.signals.reason is not None
        return bool(waiting) and not asked and len(self._flying) < self.plan.jobs

    def _identified(self, number: int) -> Work:
        """A point whose experiment is known, or why it is none."""
        work = self.works[number]
        if work.identity is None and work.error is None:
            identity, error = self.plan.identify(self.plan.points.points[number])
            work = _work(work.name, identity, error, self._runs(identity))
            self.works[number] = work
        return work

    def _twin(self, number: int) -> bool:
        """Whether another point in flight is of the same experiment, and is waited for."""
        identity = self._identified(number).identity
        same = [n for n in self._flying if self.works[n].identity == identity]
        return identity is not None and bool(same)

    def _sound(self, number: int, told: Callable[[Work], None]) -> bool:
        """Whether a point is to be run, now that its experiment is known."""
        work = self.works[number]
        if work.identity is not None and work.state == "pending":  # its twin may have ended
            work = _work(work.name, work.identity, None, self._runs(work.identity))
            self.works[number] = work
        if self._wanted(work):
            return True
        told(work)
        return False

    def _runs(self, identity: str | None) -> list[runs.Run]:
        """Runs of an experiment, newest first: of those at the beginning, and those made since."""
        if identity is None:
            return []
        paths = {r.path for r in self._before if r.manifest["experiment_id"] == identity}
        paths |= {p for p in runs.folders(self.root) if f"-{identity[:6]}" in p.name}
        found = [run for path in paths if (run := runs.readable(path)) is not None]
        return sorted(found, key=lambda r: (r.manifest["created_at"], r.path.name), reverse=True)

    def _submit(self, number: int) -> None:
        if self._live(number):  # a sweep that was killed left it: it is waited for
            self._flying[number] = None
            return
        point = self.plan.points.points[number]
        log = self.path / "logs" / f"{point.name}.txt"
        handle = self.executor.submit(self.plan.command(point), point.name, log)
        self._flying[number] = handle
        self.works[number] = self.works[number]._replace(state="queued", exit=None, error=None)
        self.write("running")

    def _live(self, number: int) -> bool:
        """Whether somebody else's process runs the point."""
        path = self.works[number].run
        run = None if path is None else runs.read(path)
        return run is not None and run.live

    def _code(self, number: int) -> int | None:
        """The exit of a point in flight; of another's process PREEMPTED where it did not finish."""
        handle = self._flying[number]
        if handle is not None:
            return self.executor.state(handle)
        if self._live(number):
            return None
        run = runs.read(self.works[number].run or self.path)
        ended = run is not None and run.state in ("finished", "failed")
        return int((run.status or {}).get("exit") or 0) if run is not None and ended else PREEMPTED

    def _settle(self, told: Callable[[Work], None]) -> list[int]:
        """How each point in flight is; those that have ended, as their run's folder says. Those
        are given back that another's process left before they had ended."""
        codes = {number: self._code(number) for number in self._flying}
        left = [n for n, code in codes.items() if self._flying[n] is None and code == PREEMPTED]
        for number in left:
            del self._flying[number], codes[number]
        ended = [number for number, code in codes.items() if code is not None]
        if not ended and not self._due:
            return left
        for number, code in codes.items():
            self._look(number, code)
        for number in ended:
            del self._flying[number]
            told(self.works[number])
        self.write("running")
        return left

    def _look(self, number: int, code: int | None) -> None:
        before = self.works[number]
        listed = self._runs(before.identity)
        work = _work(before.name, before.identity, None, listed)._replace(reused=False)
        if code is None:
            live = work.run is not None and work.state not in (*FINAL, "lost", "pending")
            work = work if live else before
        elif work.run is None or (work.state != "failed" and code not in FINISHED):
            error = work.error or _error(self.path / "logs" / f"{before.name}.txt")
            asked = work.state if work.state in ("stopped", "preempted") else "failed"
            state = "preempted" if code == PREEMPTED else asked
            work = work._replace(state=state, exit=code, error=error)
        self.works[number] = work

    @property
    def _due(self) -> bool:
        return self.clock.monotonic() - self._written >= HEARTBEAT

    def _requests(self, inbox: Inbox) -> None:
        for request in inbox.take():
            if request["request"] == "stop":
                self.signals.request("stop")

    def _cancel(self) -> None:
        if not self._asked:
            self._asked = True
            for number, handle in list(self._flying.items()):
                if handle is None:
                    del self._flying[number]  # it is not ours to stop
                else:
                    self.executor.cancel(handle)


def _error(log: Path) -> str | None:
    """The code that a command told of on its way out: the last JSON document of its log."""
    if not log.exists():
        return None
    for line in reversed(log.read_text("utf-8", "replace").splitlines()):
        try:
            told = json.loads(line)
            return str((told.get("diagnostics") or [told.get("error") or {}])[0]["code"])
        except (ValueError, KeyError, AttributeError, IndexError, TypeError):
            continue
    return None
