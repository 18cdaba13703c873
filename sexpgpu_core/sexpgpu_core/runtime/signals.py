"""Signals to a wish to stop that the loop reads between steps."""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from ..data.files import REACH
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


class Left(KeyboardInterrupt):
    """A signal that came before a run had a folder. `exit`: what the process is to leave with."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}: ended before the run had a folder; nothing of it is kept")
        self.exit = ENDINGS[reason].exit


class Early(KeyboardInterrupt):
    """An end was asked for while a run that has a folder is compiled: there is nothing to save."""


@contextlib.contextmanager
def leaving() -> Iterator[None]:
    """Within it a signal ends at once what is done, since there is no run to be saved yet.
    Raises Left."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise Left(signal.Signals(number).name)

    before = _taken(leave)
    try:
        yield
    finally:
        _given_back(before)


def _taken(handler: Callable[[int, FrameType | None], None]) -> dict[str, Any]:
    """Sets the handler; what was set before, by signal. Nothing outside the main thread."""
    before: dict[str, Any] = {}
    with contextlib.suppress(ValueError):  # not the main thread
        for name in _HANDLED:
            before[name] = signal.signal(getattr(signal, name), handler)
    return before


def _after(handler: Any) -> Any:
    """What a run leaves behind it: one that only waited for a run to hear has done its part."""
    return signal.SIG_DFL if getattr(handler, "until_a_run", False) else handler


def _given_back(before: dict[str, Any]) -> None:
    for name, handler in before.items():
        signal.signal(getattr(signal, name), handler)


class Signals:
    """`with Signals() as signals`: handlers are in place inside; `reason` is what came first.

    A second SIGINT calls `last` and leaves the process at once, with exit 130: the last checkpoint
    is whole.
    Outside the main thread no handler is set, and `request` is the only way.
    """

    def __init__(self) -> None:
        self.reason: str | None = None
        self.last: Callable[[], object] = lambda: None
        self._before: dict[str, Any] = {}
        self._at_once = False

    def request(self, reason: str) -> None:
        """Ask for the end, as the signal of that name does."""
        self.reason = self.reason or reason

    def __enter__(self) -> Signals:
        taken = _taken(self._handle)
        self._before = {name: _after(handler) for name, handler in taken.items()}
        return self

    def __exit__(self, *raised: object) -> None:
        _given_back(self._before)
        self._before = {}

    @contextlib.contextmanager
    def scanning(self) -> Iterator[None]:
        """Within it a scan of data ends where an end was asked for. Raises Left."""
        REACH.pause = self._leave
        try:
            yield
        finally:
            REACH.pause = None

    @contextlib.contextmanager
    def compiling(self, stop_asked: Callable[[], bool]) -> Iterator[None]:
        """Within it an end that is asked for breaks off what is done, at the next instruction of
        Python. `stop_asked`: whether another process asks for it. Raises Early."""
        if not self._before:  # not the main thread: nobody could be interrupted
            yield
            return
        done = threading.Event()
        looks = threading.Thread(target=self._look, args=(stop_asked, done), daemon=True)
        looks.start()
        self._at_once = True
        try:
            self._early()
            yield
        finally:
            self._at_once = False
            done.set()
            looks.join()

    def _look(self, stop_asked: Callable[[], bool], done: threading.Event) -> None:
        while not done.wait(0.5):
            if stop_asked():
                self.request("stop")
                _thread.interrupt_main(signal.SIGUSR1)
                return

    def _early(self) -> None:
        if self._at_once and self.reason is not None:
            raise Early(self.reason)

    def _leave(self) -> None:
        if self.reason is not None:
            raise Left(self.reason)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        if name == "SIGINT" and self.reason is not None:
            try:
                self.last()
            finally:
                os._exit(130)
        self.request(name)
        self._early()
