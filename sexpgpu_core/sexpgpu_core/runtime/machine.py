"""Where a run runs, as its documents say it: device, numerics key, versions, host, git."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import __version__
from ..device import Device, DeviceFacts
from ..records import NamedTuple
from .process import this_host

TUNING = "tuning"
"""Of the numerics key: what libraries were given. It is known once a session is open."""

_SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD")


class Machine(NamedTuple):
    """`device`: name, kind, model, count, ranks, threads, memory_bytes; `numerics`: what bits
    depend on (45.11)."""

    device: Mapping[str, Any]
    numerics: Mapping[str, str]
    versions: Mapping[str, str]
    plugins: Mapping[str, str]
    host: str


def machine(
    device: Device,
    facts: DeviceFacts,
    *,
    kind: str | None = None,
    threads: int | None = None,
    plugins: Mapping[str, str] | None = None,
) -> Machine:
    """What is said of a device that was probed. `threads`: those it was opened with."""
    import platform

    described: dict[str, Any] = {"name": device.name, "kind": kind or device.name}
    model = processor()
    if model:
        described["model"] = model
    described.update(count=1, ranks=1, threads=threads or facts.cores or 1)
    described["memory_bytes"] = facts.memory
    versions = {"python": platform.python_version(), "sexpgpu": __version__}
    versions.update(numpy=_numpy(), **dict(facts.versions))
    numerics = {"compiler": __version__, **device.numerics()}
    return Machine(described, numerics, versions, dict(plugins or {}), this_host())


def _numpy() -> str:
    import numpy as np

    return str(np.__version__)


def processor() -> str | None:
    """The processor's model name, where the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    import platform

    return platform.processor() or None


def git(folder: Path) -> dict[str, Any] | None:
    """Commit of the folder's work tree, and whether it was changed; None outside one."""
    import subprocess

    command = ["git", "status", "--porcelain=v2", "--branch", "--untracked-files=no"]
    try:
        told = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=5, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    lines = told.splitlines()
    commits = [line.split()[-1] for line in lines if line.startswith("# branch.oid")]
    if not commits or commits[0] == "(initial)":
        return None
    return {"commit": commits[0], "dirty": any(not line.startswith("#") for line in lines)}


def environment() -> dict[str, str]:
    """SEXPGPU_* variables, without those whose names say that they are secret."""
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith("SEXPGPU_") and not any(word in name for word in _SECRET)
    }


def peak_bytes() -> int:
    """The most memory this process has held; the kernel counts KiB, macOS bytes."""
    import resource
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)
