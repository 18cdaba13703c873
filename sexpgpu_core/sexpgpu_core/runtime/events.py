"""events.jsonl: one JSON object a line, appended and flushed, never rewritten, by one writer.

A reader may tail it; a last line that a crash cut short is nobody's error.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import orjson

from ..diagnostics import Diagnostic, Problem, problem
from ..diagnostics.render_json import diagnostic_json, value_json
from ..records import NamedTuple
from . import documents
from .clock import Clock, stamp

VERSION = 1
_WRITER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_NULL = b"null"
_PLAIN = frozenset({str, int, bool, type(None)})
Event = Mapping[str, Any]


class Moment(NamedTuple):
    """When something was: seconds since 1970, and active seconds over all attempts."""

    time: float
    elapsed: float


class Said(NamedTuple):
    """An event that is to be written, with the keys that are its own."""

    event: str
    step: int
    at: Moment
    keys: Mapping[str, Any]


class EventLog:
    """The writer. `elapsed`: active seconds of earlier attempts; `listener` sees each event.

    `earlier` is called before anything is written: who holds events back writes them then.
    `feed` is called with each event once it is written; it never raises.
    """

    def __init__(
        self,
        path: Path,
        run: str,
        attempt: int,
        clock: Clock,
        elapsed: float = 0.0,
    ) -> None:
        self.path, self.run, self.attempt = path, run, attempt
        self.listener: Callable[[Event], None] | None = None
        self.earlier: Callable[[], object] = _nothing
        self.feed: Callable[[Event], object] = _nothing
        self.warnings: dict[str, int] = {}
        self._torn = False
        self._clock, self._before, self._start = clock, elapsed, clock.monotonic()
        try:
            self.lines = _lines(path)
            self._file = open(path, "ab", buffering=0)  # noqa: SIM115 (closed by close)
        except OSError as refused:
            raise _unwritable(path, refused) from refused

    @property
    def elapsed(self) -> float:
        """Active seconds over all attempts."""
        return self._before + self._clock.monotonic() - self._start

    def moment(self) -> Moment:
        """Now."""
        return self.moments([self._clock.monotonic()])[0]

    def moments(self, marks: Sequence[float]) -> list[Moment]:
        """Of what the monotonic clock was: a clock of days is asked once, now."""
        days = self._clock.now() - self._clock.monotonic()
        active = self._before - self._start
        return [Moment(days + mark, active + mark) for mark in marks]

    def write(self, event: str, step: int, **keys: Any) -> Event:
        """Append one event with the keys that all have. Raises E-RUN-WRITE."""
        return self.write_all([Said(event, step, self.moment(), keys)])[0]

    def write_all(self, events: Sequence[Said]) -> list[Event]:
        """Append some at once. Raises E-RUN-WRITE."""
        self.earlier()
        told = [as_line(self._event(said, self.lines + at)) for at, said in enumerate(events)]
        self._append(b"".join([line for line, _ in told]), len(told))
        for _, event in told:
            self._show(event)
        return [event for _, event in told]

    def _event(self, said: Said, seq: int) -> Event:
        return {
            "v": VERSION,
            "event": said.event,
            "run": self.run,
            "attempt": self.attempt,
            "seq": seq,
            "time": stamp(said.at.time),
            "elapsed": round(said.at.elapsed, 6),
            "step": said.step,
            **said.keys,
        }

    def _show(self, event: Event) -> None:
        self.feed(event)
        if self.listener is not None:
            try:
                self.listener(event)
            except OSError:  # who watched has gone; the run has not
                self.listener = None

    def _append(self, lines: bytes, count: int) -> None:
        """Whole or an error; what a full disk cut short stays a line of its own."""
        data = b"\n" + lines if self._torn else lines
        self._torn = True
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as refused:
            self.lines += count - data.count(b"\n") + 1
            raise _unwritable(self.path, refused) from refused
        self.lines += count
        self._torn = False

    def warn(self, found: Diagnostic, step: int, once: bool = True) -> None:
        """A `warning` event: once a code, later ones are only counted."""
        count = self.warnings.get(found.code, 0)
        self.warnings[found.code] = count + 1
        if count == 0 or not once:
            self.write("warning", step, diagnostic={**diagnostic_json(found), "repeats": count + 1})

    @property
    def gone(self) -> bool:
        """Whether the file, or the folder that it is in, was deleted."""
        return os.fstat(self._file.fileno()).st_nlink == 0

    def sync(self) -> None:
        """Make what was written durable."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


def as_line(event: Event) -> tuple[bytes, Event]:
    """A line, and what it says. Where there is a null, which is also what orjson writes for a
    number that is not finite, or what JSON cannot say, it is made with more care."""
    try:
        line = orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        line = _NULL
    if _NULL not in line:
        return line, event
    sayable = numbers(event)
    return f"{_WRITER.encode(sayable)}\n".encode(), sayable


def numbers(value: Any) -> Any:
    """Whole documents with every non-finite number as "nan", "inf" or "-inf"."""
    kind = (
        value.__class__
    )  # asked first: a log has many numbers, and instances of Mapping cost more
    if kind in _PLAIN or (kind is float and isfinite(value)):
        return value
    if kind is dict or isinstance(value, Mapping):
        return {name: numbers(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [numbers(item) for item in value]
    return value if isinstance(value, str) else value_json(value)


def _nothing(*_: Event) -> None:
    """Nobody holds events back, or wants them."""


def deleted(folder: Path) -> Problem:
    """E-RUN-WRITE of a run whose folder is gone."""
    told = f"{folder} was deleted while the run goes on"
    return problem("E-RUN-WRITE", told, hint="Its checkpoints went with it.")


def _unwritable(path: Path, refused: OSError) -> Exception:
    return problem("E-RUN-WRITE", f"{path.name} cannot be written: {refused.strerror}")


def _lines(path: Path) -> int:
    """Lines that are there; one that was cut short is ended, so that it stays alone."""
    if not path.exists():
        return 0
    with open(path, "r+b") as file:
        count, last = 0, b"\n"
        while chunk := file.read(1 << 20):
            count += chunk.count(b"\n")
            last = chunk[-1:]
        if last != b"\n":
            file.write(b"\n")
            count += 1
    return count


class Tail:
    """Reads what was added since the last look. `broken`: numbers of whole lines that do not parse.

    A last line without its end is left for the next look.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._at, self._line = path, 0, 0
        self.broken: list[int] = []

    def read(self) -> list[Event]:
        """Whole events that are new, in order. Raises E-USAGE-BROKEN for those of a later v."""
        try:
            with open(self._path, "rb") as file:
                file.seek(self._at)
                data = file.read()
        except FileNotFoundError:
            return []
        except OSError as refused:
            why = refused.strerror or str(refused)
            raise documents.broken(self._path, why, "unreadable") from refused
        whole = data[: data.rfind(b"\n") + 1]
        self._at += len(whole)
        return [event for line in whole.splitlines() if (event := self._event(line)) is not None]

    def _event(self, line: bytes) -> Event | None:
        self._line += 1
        event = parsed(line)
        if event is None:
            if line.strip():
                self.broken.append(self._line)
            return None
        documents.newer(self._path, event.get("v", VERSION))
        return event


def parsed(line: bytes) -> Event | None:
    """An event of one line, or None."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    known = isinstance(event, dict) and {"event", "step", "attempt", "seq"} <= set(event)
    return event if known else None


def read(path: Path) -> list[Event]:
    """Every event that can be read, in order; lines that do not parse are passed over."""
    return Tail(path).read()


def current(events: Iterable[Event]) -> list[Event]:
    """What stands: at each `resume` the lines of earlier attempts past its step are dropped."""
    kept: list[Event] = []
    for event in events:
        if event["event"] == "resume":
            kept = [
                e for e in kept if e["attempt"] >= event["attempt"] or e["step"] <= event["step"]
            ]
        kept.append(event)
    return kept
