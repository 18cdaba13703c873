"""Events to other tools while a run runs: a thread and a bounded queue for each sink.

A sink is given what is in events.jsonl already. It can neither stop nor change a run: one that
raises, or falls too far behind, gets no more events, and a warning says so.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping

from ..diagnostics import Diagnostic, diagnostic
from ..experiment.protocols import Sink
from .events import Event, EventLog, numbers, read

BEHIND = 10_000
"""Events that may wait for a sink."""
LINGER = 10.0
"""Seconds that the end of a run waits for its sinks."""


class Feed:
    """One sink. `open` is called by its own thread: a network may be slow."""

    def __init__(self, name: str, open: Callable[[], Sink]) -> None:
        self.name, self._open = name, open
        self.failed: str | None = None
        self._waiting: queue.Queue[Event | None] = queue.Queue(BEHIND)
        self._thread = threading.Thread(target=self._feed, name=f"sink {name}", daemon=True)
        self._thread.start()

    def event(self, event: Event) -> None:
        """Take one; never waits."""
        if self.failed is None:
            try:
                self._waiting.put_nowait(event)
            except queue.Full:
                self.failed = f"{BEHIND:,} events wait for it"

    def close(self) -> None:
        """Give it what waits, for some seconds; then it is left behind."""
        if self.failed is None:
            self.event(None)  # type: ignore[arg-type]
            self._thread.join(LINGER)
            if self._thread.is_alive() and self.failed is None:
                self.failed = f"it has not taken its events {LINGER:g} s after the end"

    def _feed(self) -> None:
        try:
            sink = self._open()
            while self.failed is None and (event := self._waiting.get()) is not None:
                sink.event(event)
            sink.close()
        except BaseException as raised:  # whatever it is, it is the sink's and not the run's
            self.failed = f"{type(raised).__name__}: {raised}"


class Sinks:
    """Feeds every event to all. A failure is told once a sink."""

    def __init__(self, opened: Mapping[str, Callable[[], Sink]]) -> None:
        self._feeds = [Feed(name, open) for name, open in opened.items()]
        self._untold = list(self._feeds)

    def begin(self, log: EventLog) -> None:
        """Take what this attempt has said already, and whatever it says from now on."""
        for event in read(log.path):
            if event["attempt"] == log.attempt:
                self.event(event)
        log.feed = self.event

    def event(self, event: Event) -> None:
        """Each has one of its own: another thread reads it, and may change it."""
        for feed in self._feeds:
            feed.event(numbers(event))

    def failures(self) -> list[Diagnostic]:
        """W-SINK-FAILED of those that failed since the last call."""
        found = [feed for feed in self._untold if feed.failed is not None]
        self._untold = [feed for feed in self._untold if feed not in found]
        return [
            diagnostic("W-SINK-FAILED", f"sink {feed.name}: {feed.failed}", sink=feed.name)
            for feed in found
        ]

    def close(self) -> list[Diagnostic]:
        """End them; what failed since the last call of `failures`."""
        for feed in self._feeds:
            feed.close()
        return self.failures()
