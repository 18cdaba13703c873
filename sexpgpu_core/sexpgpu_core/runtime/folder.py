"""A run's folder: made once, locked while it runs, opened again by each later attempt."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any

from ..checkpoint.disk import Disk
from ..checkpoint.folder import Checkpoints
from ..diagnostics import Problem, problem
from . import events, status
from .clock import Clock
from .doubles import Doubles
from .lock import Lock
from .machine import Machine
from .mirror import Mirror
from .proof import Proof
from .sinks import Sinks


class RunFolder:
    """Owns the lock, the event log and the status file from `begin` or `reopen` to `close`."""

    def __init__(
        self,
        path: Path,
        lock: Lock,
        machine: Machine,
        attempt: int,
        elapsed: float,
        clock: Clock,
        disk: Disk | None = None,
        **facts: Any,
    ) -> None:
        self.path, self.attempt, self.clock, self._lock = path, attempt, clock, lock
        self.machine = machine
        self.checkpoints = Checkpoints(path / "checkpoints", disk)
        self.events = events.EventLog(path / "events.jsonl", path.name, attempt, clock, elapsed)
        self.status = status.StatusFile(path / "status.json", self.events, clock, **facts)
        self.live: tuple[str, ...] = ()
        """Globs of diagnostic numbers that earlier attempts were asked for while they ran."""
        self.mirror: Mirror | None = None
        self.proof: Proof | None = None
        self.doubles: Doubles | None = None
        self.sinks: Sinks | None = None

    @property
    def run(self) -> str:
        """The slug."""
        return self.path.name

    def log(self, text: str) -> None:
        """A line of log.txt, which people read when a run has gone."""
        with (
            contextlib.suppress(OSError),  # a full disk is told by events and status
            open(self.path / "log.txt", "a", encoding="utf-8") as file,
        ):
            file.write(f"{self.clock.stamp()} {text}\n")

    def close(self) -> None:
        """Write the last status durably and let go of the lock."""
        if self.proof is not None:
            self.proof.close()
        with contextlib.suppress(Problem):  # a full disk: the caller has the document
            self.status.close()
        self.events.close()
        if self.mirror is not None and (unput := self.mirror.close()) is not None:
            self.log(f"the end is not in the store: {unput}")
        if self.sinks is not None:
            for found in self.sinks.close():
                self.log(str(Problem(found)))
        self._lock.release()


def create(root: Path, name: str) -> Path:
    """A new folder below the runs root: `name`, or `name-2`, `name-3` where it is taken."""
    number = 1
    while True:
        path = root / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            number += 1
            continue
        except OSError as refused:
            raise problem("E-RUN-WRITE", f"{path}: {refused.strerror}") from refused
        for part in ("modules", "checkpoints", "artifacts", "control"):
            (path / part).mkdir()
        return path


def put(path: Path, data: bytes) -> dict[str, Any]:
    """Write a file durably; its size and hash as a manifest lists them (without the path)."""
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
