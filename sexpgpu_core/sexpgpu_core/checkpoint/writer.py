"""Checkpoints written beside the steps: one thread, one write in flight."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ..diagnostics import Problem
from ..records import NamedTuple
from .folder import Saved


class Written(NamedTuple):
    """How one write ended. `stall`: seconds the steps waited for it; `duration` of the write."""

    step: int
    saved: Saved | None
    error: Problem | None
    duration: float
    stall: float
    best: bool
    removed: tuple[str, ...] = ()
    unstored: Problem | None = None  # what kept it from the store; it is whole here


Done = tuple[Saved, "list[str]", "Problem | None"]
"""What was written, what retention removed, what kept it from the store."""


class Writer:
    """`start` waits for the write in flight; what ended is given out once, by `collect`."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._thread: threading.Thread | None = None
        self._ended: list[Written] = []
        self._failure: BaseException | None = None

    def start(
        self,
        step: int,
        work: Callable[[], Done],
        release: Callable[[], None],
        stall: float = 0.0,
        best: bool = False,
    ) -> None:
        """Run `work` on the thread, then `release` (the snapshot's), whatever became of it."""
        began = self._clock()
        self.wait()
        waited = stall + self._clock() - began
        self._thread = threading.Thread(
            target=self._run, args=(step, work, release, waited, best), name="checkpoint"
        )
        self._thread.start()

    def _run(
        self,
        step: int,
        work: Callable[[], Done],
        release: Callable[[], None],
        stall: float,
        best: bool,
    ) -> None:
        began = self._clock()
        try:
            saved, removed, unstored = work()
            took = self._clock() - began
            told = Written(step, saved, None, took, stall, best, tuple(removed), unstored)
            self._ended.append(told)
        except Problem as raised:
            self._ended.append(Written(step, None, raised, self._clock() - began, stall, best))
        except BaseException as raised:
            self._failure = raised
        finally:
            release()

    def wait(self) -> None:
        """Return when nothing is in flight."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def collect(self) -> list[Written]:
        """What ended since the last call. Raises what was no Problem."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        ended, self._ended = self._ended, []
        return ended
