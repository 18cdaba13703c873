"""The name of a run's folder: STEM[-VARIANT][-KNOBVALUE]...-HASH (contracts/verbs.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath

from ..diagnostics import problem

LONGEST = 80
"""Characters before the hash."""

LONGEST_NAME = 96
"""Of --name: with -2 to -999 it is still a name of the schemas, which have 100 characters."""

WORDS = ("latest", "best")


def slug(file: str, variant: str | None, given: Mapping[str, str], experiment_id: str) -> str:
    """`chars-smoke-lr0.003-a530c5`. `given`: knobs chosen by a point or --set, as Lisp text."""
    parts = [PurePath(file).stem if file != "-" else "stdin", variant or ""]
    parts += [name.rpartition(":")[2] + value for name, value in given.items()]
    head = "-".join(clean(part) for part in parts if clean(part))
    return f"{head[:LONGEST].rstrip('-.') or 'run'}-{experiment_id[:6]}"


def check_name(name: str) -> None:
    """E-USAGE-VALUE for a name that no folder of a run has, or that means another run."""
    if name in WORDS:
        told = f"{name} is no name of a run: as RUN it means the {name} one"
        raise problem("E-USAGE-VALUE", told, hint=f"--name {name}-one", given=name)
    if len(name) > LONGEST_NAME:
        told = f"a name of {len(name)} characters is too long for a run: at most {LONGEST_NAME}"
        hint = f"--name {clean(name[:40])}"
        raise problem("E-USAGE-VALUE", told, hint=hint, given=f"{name[:40]}...")
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
