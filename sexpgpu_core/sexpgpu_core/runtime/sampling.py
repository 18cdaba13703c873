"""The selection of diagnostic numbers, which a live run may change (45.9).

A child process of low priority compiles the observers of a new selection; once their kernels are
in the cache this process plans them and takes them up between two steps.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..device import Unit
from ..diagnostics import Diagnostic, Problem, Problems, diagnostic
from ..records import NamedTuple
from .fault import Explain, warning
from .folder import RunFolder
from .job import Job, Observed
from .observation import Observation

if TYPE_CHECKING:
    from ..device import Session
    from ..ir import Graph

CHILD = "sexpgpu_core.warm"


class Resampled(NamedTuple):
    """A stage's new observer. `unit` None: its numbers are the host's alone."""

    unit: Unit | None
    observed: Observed | None


Plan = Callable[["Sequence[str]"], "Mapping[str, Resampled]"]
"""Globs to the observers of every stage. Raises Problem or Problems."""


class Sampling:
    """`observed`: what is sampled of each stage now. `plan` None: the selection stays."""

    def __init__(
        self, job: Job, session: Session, folder: RunFolder, plan: Plan | None = None
    ) -> None:
        chosen = job.experiment.run.diagnostics
        self.observed = {key: stage.observed for key, stage in job.stages.items()}
        self.every = chosen.every
        self._own = self._select = tuple(chosen.select)
        self._live = tuple(folder.live)
        self._session, self._folder, self._plan = session, folder, plan
        self._child: subprocess.Popen[str] | None = None
        self._compiling: tuple[str, ...] = ()
        self._began = 0.0
        self._named: set[str] = set()  # numbers of which it was told that they are not finite
        self._graphs: dict[str, Graph] = {}  # of observers that were not there at the beginning

    def ask(self, add: Iterable[str], remove: Iterable[str]) -> None:
        """Change the selection once its observers are compiled; nothing where none can be."""
        if self._plan is None:
            return
        self._live = (*self._live, *add, *(f"!{glob}" for glob in remove))
        self._tell()  # a run that is preempted now goes on with what it was asked

    def resume(self, step: int) -> None:
        """Before the first step of an attempt: what was asked of the attempts before it."""
        if self._plan is not None and self._wanted != self._select:
            self._compiling, self._began = self._wanted, time.perf_counter()
            self._change(lambda: None, step)

    @property
    def _wanted(self) -> tuple[str, ...]:
        return (*self._own, *self._live)

    def follow(self, step: int) -> None:
        """Between two steps: begin to compile what was asked for, take up what is compiled."""
        if self._child is None:
            if self._wanted != self._select:
                self._start()
        elif self._child.poll() is not None:
            child, self._child = self._child, None
            out, _ = child.communicate()
            self._end(child.returncode, out, step)

    def seen(self, observation: Observation | None, explain: Explain) -> None:
        """Before the step writes: name what makes numbers not finite, once a number."""
        if observation is None or observation.fault is None:
            return
        new = [name for name in observation.wrong() if name not in self._named]
        if new:
            self._named.update(new)
            graph = self._graphs.get(observation.fault.program)
            cause = explain(observation.fault._replace(graph=graph))
            more = f" and {len(new) - 3} more" if len(new) > 3 else ""
            step = observation.fault.step
            told = f"of step {step}, {', '.join(new[:3])}{more} are not finite"
            found = warning("W-DIAGNOSTIC-NONFINITE", told, cause, numbers=new[:100])
            self._folder.events.warn(found, step - 1, once=False)

    def close(self) -> None:
        """End a child that still compiles."""
        if self._child is not None:
            self._child.kill()
            self._child.communicate()

    def _start(self) -> None:
        self._compiling, self._began = self._wanted, time.perf_counter()
        command = [sys.executable, "-P"] if sys.version_info >= (3, 11) else [sys.executable]
        self._child = subprocess.Popen(
            [*command, "-m", CHILD, str(self._folder.path), *self._compiling],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # an interrupt is this process's to take
        )

    def _end(self, code: int, out: str, step: int) -> None:
        def compiled() -> None:
            if code:
                raise _refused(self._compiling, _said(out) or f"its compiler ended with {code}")

        self._change(compiled, step)

    def _change(self, compiled: Callable[[], None], step: int) -> None:
        try:
            compiled()
            assert self._plan is not None
            self._take(self._plan(self._compiling), step)
        except (Problem, Problems) as error:
            found = error.diagnostic if isinstance(error, Problem) else error.diagnostics[0]
            if found.code != "W-RUN-DIAGNOSTIC":
                found = _refused(self._compiling, found.message).diagnostic
            self._warn(found, step)

    def _take(self, found: Mapping[str, Resampled], step: int) -> None:
        for new in found.values():
            if new.unit is not None and not self._session.add(new.unit):
                room = "it needs more memory than the run reserved before its first step"
                raise _refused(self._compiling, room)
        self._select = self._compiling
        self.observed = {key: new.observed for key, new in found.items()}
        for new in found.values():
            if new.unit is not None:
                self._graphs[new.unit.name] = new.unit.graph
                self._say(new.unit.name, step)
        self._tell()

    def _tell(self) -> None:
        self._folder.status.set(diagnostics=sampled(self.every, self._select, self._live))
        self._folder.status.write()

    def _say(self, name: str, step: int) -> None:
        """A `compile` event."""
        counted = getattr(self._session, "kernels", {}).get(name, {"kernels": 0, "cached": 0})
        seconds = round(time.perf_counter() - self._began, 6)
        self._folder.events.write("compile", step, graph=name, duration_s=seconds, **counted)

    def _warn(self, found: Diagnostic, step: int) -> None:
        self._live = self._select[len(self._own) :]
        self._tell()
        self._folder.events.warn(found, step, once=False)


def sampled(every: int, select: Sequence[str], live: Sequence[str]) -> dict[str, Any]:
    """`diagnostics` of status.json. `live`: what was asked of the run while it ran."""
    return {"every": every, "select": list(select), **({"live": list(live)} if live else {})}


def _said(out: str) -> str | None:
    """What the child said is wrong."""
    try:
        return str(json.loads(out)["message"])
    except (ValueError, KeyError, TypeError):
        return None


def _refused(globs: Sequence[str], why: str) -> Problem:
    told = f"{' '.join(globs)} is not sampled: {why}"
    return Problem(diagnostic("W-RUN-DIAGNOSTIC", told, select=list(globs)))
