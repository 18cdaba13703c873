"""Where the points of a sweep run: the contract of an executor, and processes of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ..diagnostics import problem
from ..records import NamedTuple

PREEMPTED, FAILED = 75, 3
"""Exits of what was asked to end before it had begun, and of what was killed."""

METHODS = ("submit", "find", "ended", "cancel")
"""What an executor has; `plugins --verify` looks for them."""


class Ended(NamedTuple):
    """How a job ended. `exit`: of its command, None where the engine does not know it: the run's
    folder says it then. `why`: the engine's words, where it ended the job; `error`: the code of
    that. `again`: it took the job's place away, and the same command goes on from a checkpoint."""

    exit: int | None
    why: str = ""
    error: str = "E-EXECUTOR-JOB"
    again: bool = False


class Executor(Protocol):
    """Made of its options by name, as its row declares them. Raises E-EXECUTOR-ABSENT where its
    engine is not here.

    Every method may ask its engine, and returns then. A job is named by a text, by which another
    process finds it again if the engine keeps jobs: a sweep that was killed takes up those that go
    on. The working directory and the environment of the sweep are those of a job.
    """

    def submit(self, command: Sequence[str], point: str, log: Path) -> str:
        """Begin a command; what it writes goes to `log`. Raises E-EXECUTOR-REFUSED: it is asked
        again once another job of the sweep has ended, if there is one."""
        ...

    def find(self, point: str, log: Path) -> str | None:
        """The job that waits or runs of a `submit` that never came back: whoever called it was
        killed, or was told that it was refused; None where there is none."""
        ...

    def ended(self, jobs: Collection[str]) -> Mapping[str, Ended]:
        """Those of the jobs that have ended, or that nobody knows: Ended(None). Asked up to 20
        times a second: how often the engine is asked is the executor's to say. Raises
        E-EXECUTOR-LOST once the engine has not answered for long."""
        ...

    def cancel(self, jobs: Collection[str]) -> None:
        """Ask them to save and end, as SIGTERM does; those that wait leave their queue."""
        ...


class LocalExecutor:
    """A process a point, in a session of its own: a Ctrl-C at the terminal comes once, from us."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def submit(self, command: Sequence[str], point: str, log: Path) -> str:
        try:
            process = _started(command, log)
        except OSError as refused:
            told = f"{refused.filename or command[0]}: {refused.strerror}"
            raise problem("E-EXECUTOR-REFUSED", f"local: {told}") from refused
        self._processes[str(process.pid)] = process
        return str(process.pid)

    def find(self, point: str, log: Path) -> str | None:
        return None  # its run is live, and known by that

    def ended(self, jobs: Collection[str]) -> dict[str, Ended]:
        codes = {job: self._code(job) for job in jobs}
        return {job: Ended(code) for job, code in codes.items() if code is not None}

    def cancel(self, jobs: Collection[str]) -> None:
        for job in jobs:
            process = self._processes.get(job)
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGTERM)

    def _code(self, job: str) -> int | None:
        if job not in self._processes:  # of a sweep's process that was killed: its run is known
            return FAILED
        code = self._processes[job].poll()
        if code is None or code >= 0:
            return code
        return PREEMPTED if code == -signal.SIGTERM else FAILED  # before it listened; or killed


def _started(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    with open(log, "wb") as file:
        return subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=dict(os.environ),
            start_new_session=True,
        )
