"""A run's JSON documents: replaced whole, read back whole, of a known version, or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ..diagnostics import Problem, problem

VERSION = 1

NEEDED: dict[str, dict[str, type | tuple[type, ...]]] = {
    "status": {
        **{"state": str, "step": int, "pid": int, "host": str, "heartbeat": str},
        **{"attempt": int, "elapsed": (int, float), "metrics": dict, "best": dict},
        **{"targets": list},
    },
    "manifest": {
        **{"created_at": str, "experiment_id": str, "ir_sha256": str, "file": str},
        **{"selection": dict, "seed": int, "steps": int, "evaluation_ids": dict},
    },
}
"""What a reader cannot do without, and its type."""


def replace(path: Path, document: dict[str, Any], sync: bool = False) -> None:
    """Write beside, then rename over; `sync` makes it durable. Raises OSError; nothing is left."""
    scratch = path.with_name(f".{path.name}-{os.getpid()}")
    text = json.dumps(document, allow_nan=False, indent=1) + "\n"
    try:
        _written(scratch, text, sync)
        os.replace(scratch, path)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise


def _written(path: Path, text: str, sync: bool) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
        if sync:
            file.flush()
            os.fsync(file.fileno())


def read(path: Path, kind: str) -> dict[str, Any] | None:
    """A document; None where there is no file. Raises E-USAGE-BROKEN."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as refused:
        raise broken(path, refused.strerror or str(refused), "unreadable") from refused
    try:
        document = json.loads(data)
    except ValueError as wrong:
        raise broken(path, f"it does not parse ({wrong})", "syntax") from None
    if not isinstance(document, dict):
        raise broken(path, "it is no object", "syntax")
    newer(path, document.get("version", VERSION))
    for key, kinds in NEEDED[kind].items():
        if not isinstance(document.get(key), kinds):
            raise broken(path, f"it has no {key}", "key")
    return document


def newer(path: Path, version: Any) -> None:
    """Refuse what a later program wrote. Raises E-USAGE-BROKEN."""
    if not isinstance(version, int) or version > VERSION:
        told = f"it is of version {version}, this program reads {VERSION}"
        raise broken(path, told, "version", "Upgrade sexpgpu.")


def broken(path: Path, why: str, kind: str, hint: str | None = None) -> Problem:
    """E-USAGE-BROKEN of a file in a run's folder."""
    where = f"{path.parent.name}/{path.name}"
    return problem("E-USAGE-BROKEN", f"{where}: {why}", hint=hint, file=str(path), kind=kind)
