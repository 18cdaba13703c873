"""A checkpoint's weights as one plain safetensors file, under names of one's own."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..diagnostics import nearest, problem
from ..records import NamedTuple
from ..staging.selectors import glob_pattern
from . import tensors
from .disk import Disk, replaceable
from .folder import Saved, file_of

if TYPE_CHECKING:
    import numpy as np

KINDS = {"live": "parameter:", "ema": "ema:"}


class Rule(NamedTuple):
    """A=B: a name, or its beginning up to a slash; `{i}` is one part, the same in B. `/` alone
    stands for every slash."""

    text: str
    wanted: re.Pattern[str] | None
    given: str

    def of(self, name: str) -> str:
        """The name after this rule."""
        if self.wanted is None:
            return name.replace("/", self.given)
        found = self.wanted.match(name)
        if found is None:
            return name
        parts = found.groupdict()
        new = re.sub(r"\{(\w+)\}", lambda part: parts.get(part[1], part[0]), self.given)
        return new + name[found.end() :]


def rule(text: str) -> Rule:
    """Parse `A=B`. Raises E-USAGE-VALUE."""
    old, equals, new = text.partition("=")
    if not equals or not old:
        hint = "--rename 'net/h/{i}=layers/{i}', --rename /=."
        raise problem("E-USAGE-VALUE", f"--rename wants A=B, not {text}", hint=hint)
    if old == "/":
        return Rule(text, None, new)
    pieces = re.split(r"\{(\w+)\}", old)
    seen: set[str] = set()
    pattern = "".join(_piece(at, piece, seen) for at, piece in enumerate(pieces))
    return Rule(text, re.compile(rf"{pattern}(?=/|$)"), new)


def _piece(at: int, piece: str, seen: set[str]) -> str:
    if at % 2 == 0:
        return re.escape(piece)
    again = piece in seen
    seen.add(piece)
    return f"(?P={piece})" if again else f"(?P<{piece}>[^/]+)"


def renamed(names: Sequence[str], rules: Sequence[Rule]) -> dict[str, str]:
    """Old name -> new, by all rules in order. Raises E-USAGE-VALUE where a rule does nothing, or
    two names become one."""
    new = {name: name for name in names}
    for each in rules:
        after = {name: each.of(now) for name, now in new.items()}
        if after == new:
            old = each.text.partition("=")[0]
            near = nearest(old, new.values())
            hint = f"did you mean {near}?" if near else f"names: {' '.join(list(new.values())[:5])}"
            raise problem("E-USAGE-VALUE", f"--rename {each.text} renames nothing", hint=hint)
        new = after
    back: dict[str, str] = {}
    for name, now in new.items():
        if now in back:
            told = f"{back[now]} and {name} would both be {now}"
            raise problem("E-USAGE-VALUE", told, hint="Rules that keep them apart.")
        back[now] = name
    return new


def weights(saved: Saved, which: str) -> dict[str, np.ndarray]:
    """Arrays by parameter path. Raises E-USAGE-VALUE where there are none of these weights."""
    prefix, found = KINDS[which], {}
    for file in saved.document["files"]:
        for name, array in _read(saved, file["path"]).items():
            if name.startswith(prefix):
                found[name.removeprefix(prefix)] = array
    if not found:
        told = f"{saved.name} holds no {which} weights"
        raise problem("E-USAGE-VALUE", told, hint="(groups :ema decay ...) keeps an average.")
    return found


def values(saved: Saved, which: str) -> dict[str, np.ndarray]:
    """What a model is read with, by persistent name: these weights as its parameters, its states,
    and what an average is kept of. Raises E-USAGE-VALUE."""
    found = {f"parameter:{path}": array for path, array in weights(saved, which).items()}
    for file in saved.document["files"]:
        every = _read(saved, file["path"])
        found.update({n: a for n, a in every.items() if n.startswith(("state:", "ema:"))})
    return found


def _read(saved: Saved, file: str) -> dict[str, np.ndarray]:
    return {file_of(file, name): array for name, array in tensors.load(saved.path / file).items()}


def turned(arrays: Mapping[str, np.ndarray], globs: Sequence[str]) -> dict[str, np.ndarray]:
    """With the axes reversed of those whose path a glob matches. Raises E-USAGE-VALUE where one
    matches nothing."""
    found = dict(arrays)
    for glob in globs:
        pattern = glob_pattern(glob)
        names = [name for name in arrays if pattern.match(name)]
        if not names:
            near = nearest(glob, arrays)
            hint = f"did you mean {near}?" if near else f"paths: {' '.join(list(arrays)[:5])}"
            raise problem("E-USAGE-VALUE", f"--transpose {glob} matches nothing", hint=hint)
        found.update({name: arrays[name].T for name in names})
    return found


def export(
    saved: Saved, out: Path, which: str, rules: Sequence[Rule], transposed: Sequence[str] = ()
) -> tuple[list[str], int]:
    """Write `out`, whole or not at all. `transposed`: globs of paths whose axes are reversed.
    Returns its names and bytes. Raises E-USAGE-FILE, E-USAGE-VALUE."""
    arrays = turned(weights(saved, which), transposed)
    new = renamed(sorted(arrays), rules)
    named = {new[name]: array for name, array in arrays.items()}
    scratch = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        target = replaceable(out)
        scratch = target.with_name(f".{target.name}.{os.getpid()}")
        _, size = Disk().write(scratch, tensors.chunks(list(named), named.__getitem__))
        os.replace(scratch, target)
    except OSError as refused:
        scratch.unlink(missing_ok=True)
        reason = (refused.strerror or str(refused)).lower()
        raise problem("E-USAGE-FILE", f"{out}: {reason}", file=str(out)) from refused
    return sorted(named), size
