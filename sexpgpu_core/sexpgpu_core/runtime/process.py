"""Whether a process lives: by its number, its start and this machine's boot."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .clock import stamp


def this_host() -> str:
    """This machine's name, as documents say it."""
    return os.uname().nodename


def living(pid: int, told: Mapping[str, Any]) -> bool:
    """Whether a process of this machine is there and the one that documents tell of."""
    there = process_identity(pid)
    known = ("pid_started_at", "boot_id")
    same = all(told.get(key, there.get(key)) == there.get(key) for key in known)
    return same and _exists(pid) and not _dead(pid)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _dead(pid: int) -> bool:
    """Whether only its parent still knows of it: a killed child that nobody waited for."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state in ("Z", "X")


def process_identity(pid: int) -> dict[str, str]:
    """What tells a process from a later one of the same number; empty where no /proc is."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = next(
            int(line.split()[1])
            for line in Path("/proc/stat").read_text().splitlines()
            if line.startswith("btime")
        )
        started = boot + int(fields[19]) / os.sysconf("SC_CLK_TCK")
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except (OSError, StopIteration, ValueError, IndexError):
        return {}
    return {"pid_started_at": stamp(started), "boot_id": boot_id}
