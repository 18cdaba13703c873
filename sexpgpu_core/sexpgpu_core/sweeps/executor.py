"""Where the points of a sweep run: processes of this machine, or what a plug-in brings."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

PREEMPTED, FAILED = 75, 3
"""Exits of what was asked to end before it had begun, and of what was killed."""


class Executor(Protocol):
    """A handle is whatever `submit` gives. Every method returns at once."""

    def submit(self, command: Sequence[str], point: str, log: Path) -> Any:
        """Begin a command; what it writes goes to `log`."""
        ...

    def state(self, handle: Any) -> int | None:
        """None while it waits or runs, else its exit code."""
        ...

    def cancel(self, handle: Any) -> None:
        """Ask it to save and end, as SIGTERM does."""
        ...


class LocalExecutor:
    """A process a point, in a session of its own: a Ctrl-C at the terminal comes once, from us."""

    def __init__(self, environment: dict[str, str] | None = None) -> None:
        self._environment = environment

    def submit(self, command: Sequence[str], point: str, log: Path) -> subprocess.Popen[bytes]:
        with open(log, "wb") as file:
            return subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(self._environment or {})},
                start_new_session=True,
            )

    def state(self, handle: subprocess.Popen[bytes]) -> int | None:
        code = handle.poll()
        if code is None or code >= 0:
            return code
        return PREEMPTED if code == -signal.SIGTERM else FAILED  # before it listened; or killed

    def cancel(self, handle: subprocess.Popen[bytes]) -> None:
        if handle.poll() is None:
            handle.send_signal(signal.SIGTERM)
