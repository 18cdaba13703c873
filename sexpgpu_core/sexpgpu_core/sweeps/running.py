"""The points of a sweep, one after another or several at once, until each has a run that ended.

A point whose experiment has finished is not run again, whoever ran it; one that broke off goes on
(80.13). One that fails does not end the sweep.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..diagnostics import Problem, problem
from ..runtime import documents, runs
from ..runtime.clock import Clock
from ..runtime.control import Inbox
from ..runtime.lock import Lock
from ..runtime.signals import ENDINGS, Signals
from ..runtime.status import FINAL, HEARTBEAT
from .document import FILE, Known, Work, document, folder_of, read
from .executor import FAILED, PREEMPTED, Ended, Executor
from .flight import Flight
from .works import Plan, error_of, work_of, works

POLL = 0.05
SHARE = 20
"""Of the time that passes one part of so many is for writing sweep.json: 20,000 points take 0.4 s,
and each of them begins and ends."""
LOOK = 1.0
"""Seconds of looking for points to begin, between two looks at those in flight."""
KEPT, MODULES = "file.lisp", "modules.json"
"""In a sweep's folder, the file and what it requires as they were when the sweep began."""
FINISHED = (0, 5)
"""Exits of a run that came to its end, its targets met or not."""


class Sweeping:
    """One go at a sweep. `open` makes the executor once points are to be run; `said` takes lines
    for people."""

    def __init__(
        self,
        plan: Plan,
        root: Path,
        open: Callable[[], Executor],
        signals: Signals,
        clock: Clock | None = None,
        said: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.plan, self.root, self.signals = plan, root, signals
        self._open, self._said = open, said
        self.clock = clock or Clock()
        self.path = folder_of(root, plan.file, plan.points, plan.content)
        self._before = runs.listing(root)
        self.works = works(plan, self._before, said)
        self._known: Known = {}
        self._flight: Flight | None = None
        self._others: set[int] = set()
        """Points that other processes run."""
        self._steps: dict[int, int] = {}
        """The step at which each was begun."""
        self._started, self._written, self._cost = self.clock.stamp(), 0.0, 0.0
        self._stale = False
        """Whether there is more to say than sweep.json does."""
        self._asked = False
        self._lock: Lock | None = None

    def begin(self) -> Path:
        """Make the folder, which is ours from here on, and its first sweep.json. Raises
        E-RUN-LOCKED, E-RUN-WRITE, E-EXECUTOR-ABSENT."""
        self._flight = self._flight or Flight(self._open(), self.plan.executor, self.path)
        try:
            (self.path / "control").mkdir(parents=True, exist_ok=True)
            (self.path / "logs").mkdir(exist_ok=True)
            self._lock = self._lock or Lock(self.path / "run.lock", self._started)
            if self.plan.text is not None:
                (self.path / KEPT).write_text(self.plan.text, encoding="utf-8", newline="")
                told = {"version": 1, "document": "modules", "modules": dict(self.plan.modules)}
                documents.replace(self.path / MODULES, told)
            self._remember()
            self.write("running")
        except OSError as refused:
            raise self._unwritten(refused) from refused
        return self.path

    def _unwritten(self, refused: OSError) -> Exception:
        return problem("E-RUN-WRITE", f"{self.path}: {refused.strerror}")

    def run(self, told: Callable[[Work], None] = lambda work: None) -> dict[str, Any]:
        """Run what is to be run; the last document. Raises what `begin` does, E-EXECUTOR-REFUSED,
        E-EXECUTOR-LOST."""
        self.begin()
        self.signals.last = self._cancel
        try:
            return self._run(Inbox(self.path / "control", self.clock.monotonic), told)
        except OSError as refused:
            self._cancel()
            raise self._unwritten(refused) from refused
        finally:
            assert self._lock is not None
            self._lock.release()

    def _run(self, inbox: Inbox, told: Callable[[Work], None]) -> dict[str, Any]:
        waiting = self._taken_up()
        while waiting or self._busy:
            self._requests(inbox)
            if self.signals.reason is not None:
                waiting.clear()
                self._cancel()
            waiting += [*self._begun(waiting, told), *self._settle(told)]
            self._tell()
            time.sleep(POLL)
        return self.write(self.state)

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
        began = self.clock.monotonic()
        said = self.document(state)
        documents.replace(self.path / FILE, said)
        self._written, self._stale = self.clock.monotonic(), False
        self._cost = self._written - began
        return said

    def _tell(self) -> None:
        """Bring sweep.json up to what is known, where it has not been long since it was written.

        A disk that is full may empty again, and runs say all that it does; not so a folder that
        was deleted, which is an OSError.
        """
        if not self._stale or self.clock.monotonic() - self._written < SHARE * self._cost:
            return
        try:
            self.write("running")
        except OSError:
            if not self.path.is_dir():
                raise
            self._written = self.clock.monotonic()

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
        self._recall({point["point"]: point for point in told["points"]})
        if told["state"] != "running":
            gone = told.get("alive") is False and self.state == "stopped"
            return {**self.document(self.state), **({"alive": False} if gone else {})}
        kept = ("state", "started_at", "heartbeat", "executor", "jobs")
        return {**self.document("running"), **{key: told[key] for key in kept if key in told}}

    def _remember(self) -> None:
        """Of points that are left out this time, failures that no run tells of."""
        with contextlib.suppress(Problem):  # one that cannot be read is written anew
            told = read(self.path)["points"] if (self.path / FILE).is_file() else ()
            failed = (p for p in told if p["state"] == "failed" and p["run"] is None)
            self._recall({p["point"]: p for p in failed if not self.plan.only(p["point"])})

    def _recall(self, told: dict[str, dict[str, Any]]) -> None:
        """What runs alone do not say: points that wait, that had no run, or another point's."""
        for number, work in enumerate(self.works):
            said = told.get(work.name)
            if work.state != "pending" or said is None:
                continue
            if said["state"] == "queued":
                self.works[number] = work._replace(state="queued")
            elif said["run"] is not None:
                self._identified(number)
            elif said["state"] == "failed":
                known = {key: said[key] for key in ("state", "exit", "error")}
                self.works[number] = work._replace(**known)

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

    @property
    def flight(self) -> Flight:
        """The jobs of ours, once it has begun."""
        assert self._flight is not None
        return self._flight

    @property
    def _busy(self) -> int:
        """How many points are in flight, whoever runs them."""
        return len(self.flight) + len(self._others)

    def _taken_up(self) -> list[int]:
        """What waits, but for the points whose jobs a sweep that was killed has left."""
        waiting = [n for n, work in enumerate(self.works) if self._wanted(work)]
        names = {self.works[n].name: n for n in waiting}
        for number in (found := set(self.flight.take_up(names))):
            self._identified(number)
            self._mark(number)
        return [n for n in waiting if n not in found]

    def _begun(self, waiting: list[int], told: Callable[[Work], None]) -> list[int]:
        """Begin as many as are to be in flight; those that are to wait for another. Not for long:
        each look at a point takes 0.1 s, and those in flight are to be heard too."""
        later: list[int] = []
        end = self.clock.monotonic() + LOOK
        while self._free(waiting) and self.clock.monotonic() < end:
            number = waiting.pop(0)
            if self._twin(number) or (self._sound(number, told) and not self._submit(number)):
                later.append(number)
        return later

    def _free(self, waiting: Sequence[int]) -> bool:
        """Whether one more is begun now."""
        free = self.signals.reason is None and not self.flight.full
        return bool(waiting) and free and self._busy < self.plan.jobs

    def _identified(self, number: int) -> Work:
        """A point whose experiment is known, or why it is none."""
        work = self.works[number]
        if work.identity is None and work.error is None:
            identity, error = self.plan.identify(self.plan.points.points[number])
            work = work_of(work.name, identity, error, self._runs(identity))
            self.works[number] = work
        return work

    def _twin(self, number: int) -> bool:
        """Whether another point in flight is of the same experiment, and is waited for."""
        identity = self._identified(number).identity
        flying = (*self.flight.numbers, *self._others)
        same = [n for n in flying if self.works[n].identity == identity]
        return identity is not None and bool(same)

    def _sound(self, number: int, told: Callable[[Work], None]) -> bool:
        """Whether a point is to be run, now that its experiment is known."""
        work = self.works[number]
        if work.identity is not None and work.state == "pending":  # its twin may have ended
            work = work_of(work.name, work.identity, None, self._runs(work.identity))
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

    def _submit(self, number: int) -> bool:
        """Whether it is in flight now; not where the engine is full."""
        if self._live(number):  # a sweep that was killed left it: it is waited for
            self._others.add(number)
            return True
        point = self.plan.points.points[number]
        command = list(self.plan.command(point))
        if self.plan.text is not None:
            command.append(f"--text={self.path / KEPT}")
        if not self.flight.submit(number, point.name, command):
            return False
        self._mark(number)
        return True

    def _mark(self, number: int) -> None:
        """Note that a point has a job of ours, and where its run is."""
        self._steps[number] = self._step(number)
        self.works[number] = self.works[number]._replace(state="queued", exit=None, error=None)
        self._stale = True

    def _step(self, number: int) -> int:
        """How far the point's run is."""
        found = self._newest(number)
        return 0 if found is None else int((found.status or {}).get("step") or 0)

    def _newest(self, number: int) -> runs.Run | None:
        """The last run of a point's experiment."""
        return next(iter(self._runs(self.works[number].identity)), None)

    def _live(self, number: int) -> bool:
        """Whether somebody else's process runs the point."""
        path = self.works[number].run
        run = None if path is None else runs.read(path)
        return run is not None and run.live

    def _left(self, number: int) -> int | None:
        """The exit of a point that another's process runs, PREEMPTED where it did not finish;
        None while it goes on."""
        if self._live(number):
            return None
        run = runs.read(self.works[number].run or self.path)
        ended = run is not None and run.state in ("finished", "failed")
        return int((run.status or {}).get("exit") or 0) if run is not None and ended else PREEMPTED

    def _exit(self, number: int, ended: Ended) -> int:
        """The exit of a job of ours; where its engine does not know it, its run's."""
        if ended.exit is not None:
            return ended.exit
        found = self._newest(number)
        told = (found.status or {}).get("exit") if found is not None and not found.live else None
        return int(told) if told is not None else PREEMPTED if ended.again else FAILED

    def _settle(self, told: Callable[[Work], None]) -> list[int]:
        """How each point in flight is; those that have ended, as their run's folder says. Those
        are given back that are to be begun again: another's process left them, or their engine
        did, after they had gone on by a step at least."""
        jobs = self.flight.ended()
        codes = {n: code for n in self._others if (code := self._left(n)) is not None}
        left = [number for number, code in codes.items() if code == PREEMPTED]
        self._others.difference_update(codes)
        codes = {n: code for n, code in codes.items() if n not in left}
        codes.update({number: self._exit(number, ended) for number, ended in jobs.items()})
        if not codes and not self._due:
            return left
        for number in (*self.flight.numbers, *self._others):
            self._look(number, None)
        for number, code in codes.items():
            self._look(number, code, jobs.get(number))
            told(self.works[number])
        self._stale = True
        again = [number for number, ended in jobs.items() if ended.again]
        return [*left, *(n for n in again if self._step(n) > self._steps[n])]

    def _look(self, number: int, code: int | None, ended: Ended | None = None) -> None:
        before = self.works[number]
        listed = self._runs(before.identity)
        work = work_of(before.name, before.identity, None, listed)._replace(reused=False)
        if code is None:
            live = work.run is not None and work.state not in (*FINAL, "lost", "pending")
            work = work if live else before
        elif work.run is None or (work.state != "failed" and code not in FINISHED):
            error = work.error or error_of(self.path / "logs" / f"{before.name}.txt")
            asked = work.state if work.state in ("stopped", "preempted", "lost") else "failed"
            state = "preempted" if code == PREEMPTED else asked
            if work.run is None and code in FINISHED:
                error = error or "E-RESUME-CHANGED"  # a module that it reads was edited
            if ended is not None and ended.why:
                state = "failed" if state == "lost" else state
                self._said(f"{before.name}: {ended.why}")
                error = error or (ended.error if state == "failed" else None)
            work = work._replace(state=state, exit=code, error=error)
        self.works[number] = work

    @property
    def _due(self) -> bool:
        return self.clock.monotonic() - self._written >= max(HEARTBEAT, SHARE * self._cost)

    def _requests(self, inbox: Inbox) -> None:
        for request in inbox.take():
            if request["request"] == "stop":
                self.signals.request("stop")

    def _cancel(self) -> None:
        if not self._asked:
            self._asked = True
            self._others.clear()  # they are not ours to stop
            self.flight.cancel()
