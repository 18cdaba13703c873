"""The cache folder, and small facts remembered in it by what they were computed from.

A cache only saves time: a folder that cannot be written and an entry that cannot be read are no
errors.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def cache_folder(
    environment: Mapping[str, str] = os.environ, configured: Path | None = None
) -> Path:
    """Where caches of rows, facts and kernels lie: SEXPGPU_CACHE, else what sexpgpu.toml says
    (`configured`), else the platform's folder."""
    given = environment.get("SEXPGPU_CACHE")
    if given:
        return Path(given)
    if configured is not None:
        return configured
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "sexpgpu"
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sexpgpu"


def remembered(kind: str, stamp: Any, make: Callable[[], Any], *, anew: bool = False) -> Any:
    """What `make` gives (a JSON value), computed once for a stamp; `anew`: once more.

    `stamp` says all that the value depends on and prints the same in every process.
    """
    found = None if anew else recalled(kind, stamp)
    if found is not None:
        return found
    value = make()
    with contextlib.suppress(OSError):
        write_whole(_entry(kind, stamp), json.dumps(value).encode())
    return value


def recalled(kind: str, stamp: Any) -> Any | None:
    """What is remembered for a stamp; None where nothing is."""
    with contextlib.suppress(OSError, ValueError):
        return json.loads(_entry(kind, stamp).read_text(encoding="utf-8"))
    return None


def _entry(kind: str, stamp: Any) -> Path:
    import hashlib

    key = hashlib.sha256(repr((kind, stamp)).encode()).hexdigest()[:32]
    return cache_folder() / kind / f"{key}.json"


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file whole or not at all. OSError where that is refused."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(data)
        os.replace(beside, path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
