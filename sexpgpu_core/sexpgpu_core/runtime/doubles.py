"""Examples that stages of a run share by content, sought while it begins (80-trust, item 4)."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..diagnostics import Diagnostic, Problem
from .events import EventLog

if TYPE_CHECKING:
    from ..data.loader import Loader
    from .job import Job


class Doubles:
    """A thread that compares the stages of each loader that is trained on, and ends by itself; what
    it found is told between steps."""

    def __init__(self, loaders: Mapping[str, Loader], job: Job, events: EventLog) -> None:
        self._events = events
        self._found: list[Diagnostic] = []
        trained = [loaders[n] for n in dict.fromkeys(s.loader for s in job.stages.values())]
        self._thread = threading.Thread(
            target=self._seek, args=(trained,), name="doubles", daemon=True
        )
        self._thread.start()

    def follow(self, step: int, wait: bool = False) -> None:
        """W-SPLIT-LEAK once the thread has ended, which `wait` waits for."""
        if wait:
            self._thread.join()
        if self._found:  # set once, by the thread's last act
            found, self._found = self._found, []
            for one in found:
                self._events.warn(one, step, once=False)

    def _seek(self, loaders: Sequence[Loader]) -> None:
        from ..data.survey import doubles

        found: list[Diagnostic] = []
        for loader in loaders:
            try:
                found += doubles(loader)
            except (Problem, OSError):
                continue  # the run reads the same data, and tells at which step it is lost
        self._found = found
