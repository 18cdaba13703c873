"""A run's JSON documents: replaced whole, read back whole, of a known version, or not at all."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from ..diagnostics import Problem, problem

VERSION = 1


def _number(value: Any) -> bool:
    """As documents write numbers (65 A2)."""
    return isinstance(value, (int, float)) or value in ("nan", "inf", "-inf")


def _time(value: Any) -> bool:
    return isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", value) is not None


TEXTS = {"*": str}
AT = {"value": _number, "step": int}

SHAPES: dict[str, dict[str, Any]] = {
    "status": {
        **{"state": str, "step": int, "pid": int, "host": str, "heartbeat": _time},
        **{"attempt": int, "elapsed": (int, float), "metrics": {"*": AT}},
        "best": {"*": {**AT, "goal": str}},
        "targets": [{"metric": str, "goal": str, "threshold": _number, "met": bool}],
        **{"checkpoint?": {"step": int}, "error?": {"code": str, "message": str}},
        **{"steps?": int, "eta?": (int, float), "exit?": int, "summary?": {"test_reads?": int}},
        "diagnostics~": {"select~": [str], "live~": [str]},
    },
    "manifest": {
        **{"created_at": _time, "experiment_id": str, "ir_sha256": str, "file": str},
        "selection": {"variant?": str, "point?": str, "set": TEXTS, "values": TEXTS},
        **{"seed": int, "steps": int, "evaluation_ids": TEXTS, "cwd~": str},
        "files~": [{"path": str, "sha256": str}],
        "modules~": [{"module": str, "path": str, "sha256": str}],
        "data~": [{"loader": str, "source": str, "fingerprint": str}],
        **{"versions~": TEXTS, "numerics~": TEXTS, "device?": {"name": str}, "command~": [str]},
        **{"parent?": {"run": str, "step": int}, "sweep?": {"name": str, "point": str}},
        **{"rank?": {"metric": str, "goal": str}, "sweep_rank?": {"metric": str, "goal": str}},
    },
}
"""What readers cannot do without. `key~` may be absent, `key?` null as well; `*` is any key."""


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
    if (amiss := misfit(document, SHAPES[kind])) is not None:
        raise broken(path, amiss, "key")
    return document


def misfit(value: Any, shape: Any, at: str = "") -> str | None:
    """What of a value is not of its shape: `it has no KEY`, or what stands there in its place."""
    if not _fits(value, shape):
        return f"{at or 'it'} is {json.dumps(value)[:40]}"
    parts: list[tuple[str, Any, Any]] = []
    if isinstance(shape, list):
        parts = [(f"{at}[{n}]", part, shape[0]) for n, part in enumerate(value)]
    elif isinstance(shape, dict):
        if (lacking := _lacking(value, shape)) is not None:
            return f"{at or 'it'} has no {lacking}"
        parts = _parts(value, shape, f"{at}." if at else "")
    found = (misfit(part, of, name) for name, part, of in parts)
    return next((told for told in found if told is not None), None)


def _fits(value: Any, shape: Any) -> bool:
    """Of the type, or what a function of it says; true is no number here."""
    if isinstance(value, bool):
        return shape is bool
    if isinstance(shape, (dict, list)):
        return isinstance(value, type(shape))
    return isinstance(value, shape) if isinstance(shape, (type, tuple)) else bool(shape(value))


def _lacking(value: dict[str, Any], shape: dict[str, Any]) -> str | None:
    return next((k for k in shape if k[-1] not in "~?*" and k not in value), None)


def _parts(value: dict[str, Any], shape: dict[str, Any], at: str) -> list[tuple[str, Any, Any]]:
    if "*" in shape:
        return [(at + key, part, shape["*"]) for key, part in value.items()]
    said = ((key.rstrip("~?"), key[-1] == "?", part) for key, part in shape.items())
    there = ((key, null, part) for key, null, part in said if key in value)
    return [(at + k, value[k], part) for k, null, part in there if value[k] is not None or not null]


def newer(path: Path, version: Any) -> None:
    """Refuse what a later program wrote. Raises E-USAGE-BROKEN."""
    if not isinstance(version, int) or version > VERSION:
        told = f"it is of version {version}, this program reads {VERSION}"
        raise broken(path, told, "version", "Upgrade sexpgpu.")


def broken(path: Path, why: str, kind: str, hint: str | None = None) -> Problem:
    """E-USAGE-BROKEN of a file in a run's folder."""
    where = f"{path.parent.name}/{path.name}"
    return problem("E-USAGE-BROKEN", f"{where}: {why}", hint=hint, file=str(path), kind=kind)
