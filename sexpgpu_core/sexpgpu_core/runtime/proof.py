"""The first checkpoint of an attempt, proved while the run goes on (80-trust, item 1).

A process of the lowest priority begins at the checkpoint and takes a few steps; every number must
be the one that the run had. What it finds is told: `verified`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..checkpoint.folder import Saved
from ..diagnostics import Diagnostic, diagnostic
from .events import EventLog
from .status import StatusFile

if TYPE_CHECKING:
    import subprocess

CHILD = "sexpgpu_core.prove"
LONG = 60.0
"""Seconds that a run must have before it: a shorter one ends before its proof would."""
NICER = 19
SCRATCH = ".proof"
MEMINFO = Path("/proc/meminfo")


class Proof:
    """Owns one child and a second name of each of the checkpoint's files, which retention may
    remove meanwhile. `every`: steps between two logs; `steps`: of the whole run; `needed`: bytes
    that the child will hold. Where so much is not free it is not begun: the run comes first."""

    def __init__(
        self, path: Path, events: EventLog, status: StatusFile, every: int, steps: int, needed: int
    ) -> None:
        self._path, self._events, self._status = path, events, status
        self._every, self._steps, self._needed = every, steps, needed
        self._told: dict[str, Any] | None = None
        self._until: int | None = None
        self._child: subprocess.Popen[str] | None = None
        shutil.rmtree(path / SCRATCH, ignore_errors=True)  # of a process that was killed

    def saved(self, saved: Saved, told: Mapping[str, Any]) -> None:
        """A checkpoint is whole; `told`: what its event said. Only the first one is taken."""
        if self._told is not None or not self._every:  # without a log there is nothing to compare
            return
        self._told = dict(told)
        until = (saved.step // self._every + 2) * self._every
        with contextlib.suppress(OSError):  # a disk without second names: `verified` stays null
            _link(saved.path, self._path / SCRATCH / saved.name)
            self._until = until if until < self._steps else None

    def follow(self, step: int, pace: float | None, flush: Callable[[], None]) -> None:
        """Between two steps: begin once the run is past the steps that are replayed; tell."""
        if self._child is not None:
            if self._child.poll() is not None:
                self._end(self._child, step)
        elif self._until is not None and step > self._until:
            if (self._steps - step) * (pace or 0.0) >= LONG and _available() > self._needed:
                flush()  # the numbers of those steps are what it compares
                self._start(self._until)
            self._until = None

    def close(self) -> None:
        """End a child that has not ended; nothing is told then."""
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
        shutil.rmtree(self._path / SCRATCH, ignore_errors=True)

    def _start(self, until: int) -> None:
        import subprocess

        assert self._told is not None
        command = [sys.executable, "-P"] if sys.version_info >= (3, 11) else [sys.executable]
        name = Path(self._told["path"]).name
        self._child = subprocess.Popen(
            [*command, "-m", CHILD, str(self._path), f"{SCRATCH}/{name}", str(until), str(NICER)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # an interrupt is this process's to take
        )

    def _end(self, child: subprocess.Popen[str], step: int) -> None:
        self._child = None
        out, _ = child.communicate()
        found = _found(out)
        shutil.rmtree(self._path / SCRATCH, ignore_errors=True)
        if found is None:  # it could not be proved here: the verb says why
            return
        assert self._told is not None
        self._events.write("checkpoint", step, **{**self._told, "verified": not found})
        for wrong in found:
            self._events.warn(wrong, step, once=False)
        self._status.verified(self._told["path"], not found)
        self._status.write()


def _available() -> float:
    """Bytes of memory that a process may still take; of a system that does not say, any."""
    try:
        lines = MEMINFO.read_text().splitlines()
        return next(float(n.split()[1]) * 1024 for n in lines if n.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return float("inf")


def _link(folder: Path, scratch: Path) -> None:
    scratch.mkdir(parents=True)
    for file in folder.iterdir():
        os.link(file, scratch / file.name)


def _found(out: str) -> list[Diagnostic] | None:
    """What the child says is wrong; None where it did not come to an answer."""
    try:
        rows = json.loads(out)["found"]
    except (ValueError, KeyError, TypeError):
        return None
    return [diagnostic(row["code"], row["message"], **row["facts"]) for row in rows]
