"""Signals to a wish to stop that the loop reads between steps."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import Any

from ..records import NamedTuple


class Ending(NamedTuple):
    """How a run that is asked to stop ends."""

    state: str
    exit: int


ENDINGS = {
    "SIGINT": Ending("stopped", 130),
    "stop": Ending("stopped", 130),
    "SIGTERM": Ending("preempted", 75),
    "SIGUSR1": Ending("preempted", 75),
    "deadline": Ending("stopped", 75),
}
_HANDLED = ("SIGINT", "SIGTERM", "SIGUSR1")


class Signals:
    """`with Signals() as signals`: handlers are in place inside; `reason` is what came first.

    A second SIGINT leaves the process at once, with exit 130: the last checkpoint is whole.
    Outside the main thread no handler is set, and `request` is the only way.
    """

    def __init__(self) -> None:
        self.reason: str | None = None
        self._before: dict[str, Any] = {}

    def request(self, reason: str) -> None:
        """Ask for the end, as the signal of that name does."""
        self.reason = self.reason or reason

    def __enter__(self) -> Signals:
        for name in _HANDLED:
            try:
                self._before[name] = signal.signal(getattr(signal, name), self._handle)
            except ValueError:  # not the main thread
                break
        return self

    def __exit__(self, *raised: object) -> None:
        for name, handler in self._before.items():
            signal.signal(getattr(signal, name), handler)
        self._before.clear()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        if name == "SIGINT" and self.reason is not None:
            os._exit(130)
        self.request(name)
