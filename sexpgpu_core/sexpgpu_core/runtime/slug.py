"""The name of a run's folder: STEM[-VARIANT][-KNOBVALUE]...-HASH (contracts/verbs.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath

from ..diagnostics import problem

_LONGEST = 80


def slug(file: str, variant: str | None, given: Mapping[str, str], experiment_id: str) -> str:
    """`chars-smoke-lr0.003-a530c5`. `given`: knobs chosen by a point or --set, as Lisp text."""
    parts = [PurePath(file).stem if file != "-" else "stdin", variant or ""]
    parts += [name.rpartition(":")[2] + value for name, value in given.items()]
    head = "-".join(clean(part) for part in parts if clean(part))
    return f"{head[:_LONGEST].rstrip('-.') or 'run'}-{experiment_id[:6]}"


def check_name(name: str) -> None:
    """E-USAGE-VALUE for a name that no folder of a run has."""
    if clean(name) == name and name:
        return
    near = clean(name)
    told = f"{name!r} is no name of a run: a-z 0-9 . _ -, a letter or digit first and last"
    hint = f"--name {near}" if near else "leave it out: a name is made of file, knobs and a hash"
    raise problem("E-USAGE-VALUE", told, hint=hint, given=name)


def clean(text: str) -> str:
    """Lower case, only letters, digits, dot, underscore and dash; begins with a letter or digit."""
    kept = re.sub(r"[^a-z0-9._-]+", "-", text.lower())
    return re.sub(r"--+", "-", kept).strip("-._")
