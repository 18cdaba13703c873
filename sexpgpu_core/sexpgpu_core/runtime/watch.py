"""A run watched from outside: its status and events as they come, until something holds."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..diagnostics import nearest, problem
from ..records import NamedTuple
from .events import Event, Tail
from .runs import Run

POLL = 0.1
FAR = 5.0
"""Seconds between two looks at a run of a store, whose status comes there every ten."""


class Condition(NamedTuple):
    """`done`, `step=K` or `METRIC<V`. `kind`: done step < > <= >=."""

    text: str
    kind: str
    series: str = ""
    bound: float = 0.0


_BOUND = re.compile(r"([^<>=\s]+)\s*(<=|>=|<|>)\s*(\S+)")
_HOLDS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
}


def condition(text: str) -> Condition:
    """Parse one. Raises E-USAGE-VALUE."""
    if text == "done":
        return Condition(text, "done")
    name, _, number = text.partition("=")
    if name.strip() == "step" and number.strip().isdecimal():
        return Condition(text, "step", bound=int(number))
    found = _BOUND.fullmatch(text.strip())
    try:
        if found is not None:
            return Condition(text, found[2], found[1], float(found[3]))
    except ValueError:
        pass
    hint = "--until done, --until step=500, --until 'val/loss<1.5'"
    raise problem("E-USAGE-VALUE", f"--until cannot wait for {text}", hint=hint, given=text)


class Watch:
    """Looks at one run again and again, every `poll` seconds. `run` is as at the last look; of a
    run that is elsewhere, `bring` brings its files first."""

    def __init__(
        self,
        run: Run,
        until: Condition | None = None,
        bring: Callable[[], object] | None = None,
        poll: float = POLL,
    ) -> None:
        self.run, self.until = run.sound(), until
        self._bring, self._poll = bring, poll
        self._tail = Tail(run.path / "events.jsonl")
        self._hits: list[int] = []  # steps whose events say what is waited for
        self._step = 0
        self._known: Mapping[str, Any] | None = None

    def look(self) -> list[Event]:
        """Read what is new. Raises E-USAGE-BROKEN, E-USAGE-VALUE for a series that is none."""
        if self._bring is not None:
            self._bring()
        # events before the status: what a final status says is in events that were read
        new = self._tail.read()
        self.run = self.run.now()
        if self._ended:
            new += self._tail.read()
        for event in new:
            self._note(event)
        self.run = self._advanced()
        return new

    def _advanced(self) -> Run:
        """With the step that events tell of where they are ahead of the last heartbeat."""
        told, step = self.run.status, self._step
        if told is None or not self.run.live or step <= told["step"]:
            return self.run
        progress = min(1.0, step / told["steps"]) if told.get("steps") else told.get("progress")
        return self.run._replace(status={**told, "step": step, "progress": progress})

    @property
    def _ended(self) -> bool:
        return not self.run.live

    @property
    def met(self) -> bool:
        """Whether the condition holds, or has held at a step that still stands."""
        if self.until is None or self.until.kind == "done":
            return self._ended
        if self.until.kind == "step":
            told = (self.run.status or {}).get("step", 0)
            return max(self._step, int(told)) >= self.until.bound
        return bool(self._hits)

    @property
    def over(self) -> bool:
        """Whether there is nothing more to wait for."""
        return self.met or self._ended

    @property
    def broken(self) -> list[int]:
        """Numbers of the lines that do not parse."""
        return self._tail.broken

    def _note(self, event: Event) -> None:
        self._step = int(event["step"])
        if event["event"] == "open":
            self._names(event)
        if event["event"] == "resume":
            self._hits = [step for step in self._hits if step <= self._step]
        if self.until is not None and self.until.series:
            value = event.get("metrics", {}).get(self.until.series)
            if value is not None and _HOLDS[self.until.kind](float(value), self.until.bound):
                self._hits.append(self._step)

    def _names(self, event: Event) -> None:
        known, wanted = event.get("series", {}), self.until.series if self.until else ""
        if not wanted or not known or wanted in known:
            return
        near = nearest(wanted, known)
        hint = f"did you mean {near}?" if near else f"known: {' '.join(list(known)[:8])}"
        told = f"{self.run.path.name} reports no {wanted}"
        raise problem("E-USAGE-VALUE", told, hint=hint, nearest=near)

    def wait(self, timeout: float | None) -> Iterator[list[Event]]:
        """Look, give what is new, sleep; ends when it is over, or after `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            yield self.look()
            if self.over or (end is not None and time.monotonic() >= end):
                return
            left = self._poll if end is None else max(0.0, end - time.monotonic())
            time.sleep(min(self._poll, left))
