"""status.json: the one file to poll, replaced whole, with a heartbeat from a thread every 2 s."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..diagnostics import problem
from . import documents
from .clock import Clock, seconds_of
from .events import EventLog, deleted, numbers
from .process import living, process_identity, this_host

VERSION = 1
FINAL = frozenset({"finished", "failed", "stopped", "preempted"})
HEARTBEAT = 2.0
LOST_AFTER = 60.0
ENDED_AFTER = 3600.0
"""Seconds without a heartbeat after which what a process of another machine left may be removed: a
read that waits and is asked again has failed by then."""


class StatusFile:
    """Owns one thread from `start` to `close`. `set` is cheap; `write` replaces the file now."""

    def __init__(self, path: Path, events: EventLog, clock: Clock, **facts: Any) -> None:
        self.path, self._events, self._clock = path, events, clock
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._step = 0
        self.gone = False
        """Whether a beat has found that the run's events were deleted: nothing is kept any more."""
        self.moving: Callable[[], Mapping[str, Any]] = dict
        """What changes with every step, asked for at each write."""
        self._facts: dict[str, Any] = {
            "run": events.run,
            "attempt": events.attempt,
            "state": "compiling",
            "stage": None,
            "step": 0,
            "steps": None,
            "progress": 0.0,
            "eta": None,
            "started_at": clock.stamp(),
            "pid": os.getpid(),
            "host": this_host(),
            "metrics": {},
            "best": {},
            "targets": [],
            "counters": {},
            "checkpoint": None,
            "error": None,
            "exit": None,
            "summary": None,
            "advanced": clock.stamp(),
            **process_identity(os.getpid()),
            **facts,
        }

    def set(self, **facts: Any) -> None:
        """Change what the next write says, and note that something moved."""
        with self._lock:
            self._facts.update(facts, advanced=self._clock.stamp())

    def compiled(self, done: int, total: int) -> None:
        """How many kernels are compiled, of how many that have to be (45.39)."""
        self.set(phase="kernels", phase_done=done, phase_total=total)

    def state(self, state: str, **facts: Any) -> None:
        """Enter a state, written at once."""
        with self._lock:
            for key in ("phase", "phase_done", "phase_total"):
                self._facts.pop(key, None)
        self.set(state=state, **facts)
        self.write()

    def verified(self, path: str, sound: bool) -> None:
        """Say it of a checkpoint where it is named."""
        with self._lock:
            for key in ("checkpoint", "best_checkpoint"):
                named = self._facts.get(key)
                if named is not None and named["path"] == path:
                    self._facts[key] = {**named, "verified": sound}

    def document(self) -> dict[str, Any]:
        """The whole document as of now."""
        moved = self.moving()
        with self._lock:
            if moved.get("step", self._step) != self._step:  # steps are not told one by one
                self._step = moved["step"]
                self._facts["advanced"] = self._clock.stamp()
            facts = dict(self._facts)
        found = {
            "version": VERSION,
            "document": "status",
            **facts,
            **moved,
            "elapsed": round(self._events.elapsed, 3),
            "heartbeat": self._clock.stamp(),
            "warnings": dict(self._events.warnings),
            "events": self._events.lines,
        }
        if facts["state"] in FINAL:  # nothing is left to wait for, however fast it was
            found["eta"] = None
        return dict(numbers(found))

    def write(self, sync: bool = False) -> None:
        """Replace the file; `sync` makes it durable. Raises E-RUN-WRITE."""
        with self._write_lock:
            try:
                documents.replace(self.path, self.document(), sync)
            except OSError as refused:
                if self._events.gone:
                    raise deleted(self.path.parent) from refused
                told = f"{self.path.name} cannot be written: {refused.strerror}"
                raise problem("E-RUN-WRITE", told) from refused

    def start(self) -> None:
        """Write now and every 2 s until `close`."""
        self.write()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        while not self._stop.wait(HEARTBEAT):
            # a full disk may empty again: the next beat tries anew, and events tell the user
            with contextlib.suppress(Exception):
                self.gone = self._events.gone
                self.write()

    def close(self) -> None:
        """End the thread and write the last document durably."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self.write(sync=True)


def read(path: Path) -> dict[str, Any] | None:
    """A run's status, or None where there is none yet. Raises E-USAGE-BROKEN."""
    return documents.read(path, "status")


def alive(status: Mapping[str, Any], clock: Clock | None = None) -> bool:
    """Whether the run's process lives: looked up on this host, else by a heartbeat of 60 s."""
    if status["state"] in FINAL:
        return False
    if status["host"] == this_host():
        return living(int(status["pid"]), status)
    age = (clock or Clock()).now() - seconds_of(status["heartbeat"])
    return age < LOST_AFTER


def ended(status: Mapping[str, Any], clock: Clock | None = None) -> bool:
    """Whether the process surely writes no more, so that what it left half made may be removed."""
    if status["state"] in FINAL:
        return True
    if status["host"] == this_host():
        return not living(int(status["pid"]), status)
    return (clock or Clock()).now() - seconds_of(status["heartbeat"]) > ENDED_AFTER


def lost(status: Mapping[str, Any], clock: Clock | None = None) -> bool:
    """Derived, never written: the file says it runs and its process is gone."""
    return status["state"] not in FINAL and not alive(status, clock)
