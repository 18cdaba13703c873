"""What is written into a run that no process has: a note, or the end its process did not write."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

from ..diagnostics import Problem, problem
from ..records import NamedTuple
from . import documents, events, status
from .clock import Clock
from .events import Event, EventLog
from .lock import Lock


class Last(NamedTuple):
    """How far a run is by whatever was written last. `elapsed`: active seconds."""

    attempt: int = 1
    elapsed: float = 0.0
    step: int = 0


def last(path: Path) -> Last:
    """Of a run's folder; documents that do not parse say nothing."""
    found = Last()
    for event in events.read(path / "events.jsonl"):
        attempt = max(found.attempt, int(event["attempt"]))
        elapsed = max(found.elapsed, float(event["elapsed"]))
        found = Last(attempt, elapsed, int(event["step"]))
    told: dict[str, Any] | None = None
    with contextlib.suppress(Problem):
        told = status.read(path / "status.json")
    if told is None:
        return found
    return Last(
        max(found.attempt, told["attempt"]), max(found.elapsed, told["elapsed"]), told["step"]
    )


def annotate(path: Path, text: str, by: str = "cli", clock: Clock | None = None) -> Event:
    """Append a note under the run's lock. Raises E-RUN-LOCKED, E-RUN-WRITE."""
    clock = clock or Clock()
    lock = _locked(path, clock)
    try:
        before = last(path)
        log = EventLog(path / "events.jsonl", path.name, before.attempt, clock, before.elapsed)
        try:
            event = log.write("annotation", before.step, text=text, by=by)
        finally:
            log.close()
        with contextlib.suppress(Problem, OSError):  # the note stands, whatever the status is
            told = status.read(path / "status.json")
            if told is not None:
                documents.replace(path / "status.json", {**told, "events": log.lines})
        return event
    finally:
        lock.release()


def close(path: Path, reason: str, clock: Clock | None = None) -> dict[str, Any]:
    """End a run whose process is gone as stopped, exit 130. Returns its status.

    Raises E-RUN-LOCKED, E-RUN-WRITE.
    """
    clock = clock or Clock()
    lock = _locked(path, clock)
    try:
        return _closed(path, reason, clock)
    except OSError as refused:
        raise problem("E-RUN-WRITE", f"{path}: {refused.strerror}") from refused
    finally:
        lock.release()


def _locked(path: Path, clock: Clock, patience: float = 2.0) -> Lock:
    """The lock of a run that has ended: its process lets go of it just after its last status."""
    end = clock.monotonic() + patience
    while True:
        try:
            return Lock(path / "run.lock", clock.stamp())
        except Problem:
            if clock.monotonic() >= end:
                raise
        time.sleep(0.02)


def _closed(path: Path, reason: str, clock: Clock) -> dict[str, Any]:
    before, told = last(path), status.read(path / "status.json")
    if told is None:
        raise problem("E-USAGE-RUN", f"{path.name} has no status.json", run=path.name)
    log = EventLog(path / "events.jsonl", path.name, before.attempt, clock, before.elapsed)
    summary = _summary(told)
    try:
        log.write(
            "close",
            before.step,
            state="stopped",
            exit=130,
            reason=reason,
            error=None,
            summary=summary,
        )
    finally:
        log.close()
    ended = {**told, "state": "stopped", "exit": 130, "eta": None, "summary": summary}
    ended.update(heartbeat=clock.stamp(), events=log.lines)
    documents.replace(path / "status.json", ended, sync=True)
    return ended


def _summary(told: dict[str, Any]) -> dict[str, Any]:
    return {
        "steps": told["step"],
        "elapsed": told["elapsed"],
        "metrics": {name: at["value"] for name, at in told["metrics"].items()},
        "best": told["best"],
        "targets": told["targets"],
        "evaluation_ids": {},
    }
