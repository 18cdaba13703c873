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
from typing import TYPE_CHECKING

from ..device import Unit
from ..diagnostics import Diagnostic, Problem, Problems, diagnostic
from ..records import NamedTuple
from .folder import RunFolder
from .job import Job, Observed

if TYPE_CHECKING:
    from ..device import Session

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
        self._select = self._wanted = tuple(chosen.select)
        self._session, self._folder, self._plan = session, folder, plan
        self._child: subprocess.Popen[str] | None = None
        self._compiling: tuple[str, ...] = ()
        self._began = 0.0

    def ask(self, add: Iterable[str], remove: Iterable[str]) -> None:
        """Change the selection once its observers are compiled; nothing where none can be."""
        if self._plan is None:
            return
        self._wanted = (*self._wanted, *add, *(f"!{glob}" for glob in remove))

    def follow(self, step: int) -> None:
        """Between two steps: begin to compile what was asked for, take up what is compiled."""
        if self._child is None:
            if self._wanted != self._select:
                self._start()
        elif self._child.poll() is not None:
            child, self._child = self._child, None
            out, _ = child.communicate()
            self._end(child.returncode, out, step)

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
        try:
            if code:
                raise _refused(self._compiling, _told(out) or f"its compiler ended with {code}")
            assert self._plan is not None
            self._take(self._plan(self._compiling), step)
        except (Problem, Problems) as error:
            found = error.diagnostic if isinstance(error, Problem) else error.diagnostics[0]
            if found.code != "W-RUN-DIAGNOSTIC":
                found = _refused(self._compiling, found.message).diagnostic
            self._warn(found, step)

    def _take(self, found: Mapping[str, Resampled], step: int) -> None:
        for sampled in found.values():
            if sampled.unit is not None and not self._session.add(sampled.unit):
                room = "it needs more memory than the run reserved before its first step"
                raise _refused(self._compiling, room)
        self._select = self._compiling
        self.observed = {key: sampled.observed for key, sampled in found.items()}
        for sampled in found.values():
            if sampled.unit is not None:
                self._say(sampled.unit.name, step)
        said = {"every": self.every, "select": list(self._select)}
        self._folder.status.set(diagnostics=said)
        self._folder.status.write()

    def _say(self, name: str, step: int) -> None:
        """A `compile` event."""
        counted = getattr(self._session, "kernels", {}).get(name, {"kernels": 0, "cached": 0})
        seconds = round(time.perf_counter() - self._began, 6)
        self._folder.events.write("compile", step, graph=name, duration_s=seconds, **counted)

    def _warn(self, found: Diagnostic, step: int) -> None:
        self._wanted = self._select
        self._folder.events.warn(found, step, once=False)


def _told(out: str) -> str | None:
    """What the child said is wrong."""
    try:
        return str(json.loads(out)["message"])
    except (ValueError, KeyError, TypeError):
        return None


def _refused(globs: Sequence[str], why: str) -> Problem:
    told = f"{' '.join(globs)} is not sampled: {why}"
    return Problem(diagnostic("W-RUN-DIAGNOSTIC", told, select=list(globs)))
