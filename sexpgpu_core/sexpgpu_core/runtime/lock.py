"""run.lock: one process a run, and who it is."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

from ..diagnostics import problem
from .process import process_identity, this_host


class Lock:
    """run.lock: one process a run. The kernel lets go of it however the process ends."""

    def __init__(self, path: Path, started: str) -> None:
        try:
            self._file = open(path, "a+", encoding="utf-8")  # noqa: SIM115 (closed by release)
        except OSError as refused:
            raise problem("E-RUN-WRITE", f"{path}: {refused.strerror}") from refused
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.seek(0)
            holder = _holder(self._file.read())
            self._file.close()
            raise problem(
                "E-RUN-LOCKED",
                f"process {holder.get('pid', '?')} on {holder.get('host', '?')} runs it since "
                f"{holder.get('started', '?')}",
                **{key: holder[key] for key in ("host", "pid", "started") if key in holder},
            ) from None
        self._file.truncate(0)
        told = {"host": this_host(), "pid": os.getpid(), "started": started}
        self._file.write(json.dumps({**told, **process_identity(os.getpid())}) + "\n")
        self._file.flush()

    def release(self) -> None:
        self._file.close()


def holder(path: Path) -> dict[str, Any] | None:
    """Who made a lock file last, alive or not; None where nobody did."""
    try:
        return _holder(path.read_text(encoding="utf-8", errors="replace")) or None
    except OSError:
        return None


def _holder(text: str) -> dict[str, Any]:
    try:
        told = dict(json.loads(text))
    except (ValueError, TypeError):
        return {}
    return told if isinstance(told.get("pid"), int) else {}
