"""control/: what other processes ask of a live run, a JSON file each, taken up between steps."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..diagnostics import problem

KINDS = ("annotate", "checkpoint", "diagnostics", "stop")
_EVERY = 0.5


class Inbox:
    """Looks at most twice a second; a file counts once it is renamed to NAME.json."""

    def __init__(self, folder: Path, clock: Callable[[], float]) -> None:
        self._folder, self._clock, self._next = folder, clock, clock()

    def take(self) -> list[dict[str, Any]]:
        """Requests since the last look, in order of name; each file is removed."""
        if self._clock() < self._next:
            return []
        self._next = self._clock() + _EVERY
        if not self._folder.is_dir():
            return []
        return [request for path in sorted(self._folder.glob("*.json")) if (request := _read(path))]


def stop_asked(run: Path) -> bool:
    """Takes up what asks a run to stop, and nothing else; whether anything did."""
    found = [_read(path) for path in sorted((run / "control").glob("*-stop.json"))]
    return any(request is not None for request in found)


def forget(run: Path) -> None:
    """Drops what an attempt that ended was asked and did not do: to stop, to save. Notes stay."""
    for kind in ("stop", "checkpoint"):
        for path in (run / "control").glob(f"*-{kind}.json"):
            with contextlib.suppress(OSError):
                path.unlink()


def _read(path: Path) -> dict[str, Any] | None:
    """One request; what is none is put out of sight, or it would be looked at for ever."""
    try:
        request = json.loads(path.read_bytes())
        path.unlink()
    except ValueError:
        with contextlib.suppress(OSError):
            path.rename(path.with_suffix(".refused"))
        return None
    except OSError:
        return None
    known = isinstance(request, dict) and request.get("request") in KINDS
    return request if known else None


def ask(run: Path, request: str, **keys: Any) -> Path:
    """Put a request into a run's inbox: written beside, then renamed in. Raises E-RUN-WRITE."""
    folder = run / "control"
    name = f"{time.time_ns():020d}-{os.getpid()}-{request}.json"
    scratch = folder / f"{name}.part"
    try:
        folder.mkdir(exist_ok=True)
        told = {"version": 1, "document": "request", "request": request, **keys}
        scratch.write_text(json.dumps(told), encoding="utf-8")
        os.replace(scratch, folder / name)
    except OSError as refused:
        raise problem("E-RUN-WRITE", f"{folder}: {refused.strerror}") from refused
    return folder / name
