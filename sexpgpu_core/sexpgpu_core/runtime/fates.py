"""What becomes of each value of a checkpoint in a file with other parameters (page 50, resume).

A parameter that differs and is named begins anew, with its optimizer's state and its average; where
it is the same and only those differ, they begin anew. All else is the checkpoint's, bit for bit.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from ..checkpoint import tensors
from ..checkpoint.folder import Checkpoint, Saved, file_of
from ..checkpoint.tensors import dtype_of
from ..diagnostics import Diagnostic, Problem, diagnostic, problem
from ..ir.types import Type
from ..records import NamedTuple
from ..staging.selectors import glob_pattern
from .job import Job

OPTIMIZER, AVERAGE = "optimizer", "ema"
SHOWN = 5
"""Of paths in a message."""

Types = Mapping[str, Type]


class Fate(NamedTuple):
    """One path whose values differ. `kind`: new, missing or reshaped; `optimizer` or `ema` where
    the parameter is the same and its optimizer's state or its average is not. `names`: of the
    values that differ."""

    path: str
    kind: str
    names: tuple[str, ...]


def path_of(name: str) -> str:
    """The parameter's or state's path of a persistent name."""
    kind, _, path = name.partition(":")
    return path.rpartition("/")[0] if kind == OPTIMIZER else path


def differing(there: Types, here: Types) -> list[Fate]:
    """What differs between a checkpoint's values and a file's, in order of paths."""
    found: dict[str, list[str]] = {}
    for name in sorted({*there, *here}):
        if there.get(name) != here.get(name):
            found.setdefault(path_of(name), []).append(name)
    return [
        Fate(path, _kind(names, there, here), tuple(names)) for path, names in sorted(found.items())
    ]


def _kind(names: Sequence[str], there: Types, here: Types) -> str:
    kinds = {name.partition(":")[0]: name for name in names}
    own = next((name for kind, name in kinds.items() if kind not in (OPTIMIZER, AVERAGE)), None)
    if own is None:
        return OPTIMIZER if OPTIMIZER in kinds else AVERAGE
    return "new" if own not in there else "missing" if own not in here else "reshaped"


def fitted(job: Job, checkpoint: Checkpoint, globs: Sequence[str]) -> list[Fate]:
    """Take out of a checkpoint's arrays what begins anew, and say of which parameters.

    Raises E-RESUME-PARAM where one that differs is not named by `globs`.
    """
    here = job.persistent.saved
    found = differing(types_of(checkpoint), here)
    unnamed = [fate for fate in found if not _named(fate.path, globs)]
    if unnamed:
        raise _refused(unnamed, types_of(checkpoint), here)
    for fate in found:
        _begin_anew(checkpoint, fate, here)
    return found


def foreseen(job: Job, saved: Saved) -> dict[str, str]:
    """What would differ if the job went on from a checkpoint, of which no array is read: path ->
    kind."""
    there: dict[str, Type] = {}
    for file in saved.document["files"]:
        there.update(typed(saved.path / file["path"], file["path"]))
    return {fate.path: fate.kind for fate in differing(there, job.persistent.saved)}


def typed(path: Path, file: str) -> dict[str, Type]:
    """Types of the values in a checkpoint's file."""
    named = tensors.header(path)
    return {file_of(file, name): Type(dtype, shape) for name, (dtype, shape) in named.items()}


def types_of(checkpoint: Checkpoint) -> dict[str, Type]:
    """Of a checkpoint's values, by persistent name."""
    return {n: Type(dtype_of(a), tuple(a.shape)) for n, a in checkpoint.arrays.items()}


def _named(path: str, globs: Iterable[str]) -> bool:
    return any(glob_pattern(glob).match(path) for glob in globs)


def _begin_anew(checkpoint: Checkpoint, fate: Fate, here: Types) -> None:
    """What is not among the arrays is given its initial value (runtime.resume.restore)."""
    arrays, kept = checkpoint.arrays, fate.kind in (OPTIMIZER, AVERAGE)
    anew = [name for name in arrays if path_of(name) == fate.path]
    if kept:  # all states of an optimizer, or none: one without the others means nothing
        states = [n for n in anew if n.startswith(OPTIMIZER)] if fate.kind == OPTIMIZER else []
        anew = [*states, *(name for name in fate.names if name in arrays)]
    for name in dict.fromkeys(anew):
        del arrays[name]
    average, value = f"{AVERAGE}:{fate.path}", arrays.get(f"parameter:{fate.path}")
    if kept and value is not None and average in here and average not in arrays:
        arrays[average] = value  # an average begins as its parameter (45.1)


def _refused(unnamed: Sequence[Fate], there: Types, here: Types) -> Problem:
    words = {OPTIMIZER: "of another optimizer", AVERAGE: "with another average"}
    kinds: dict[str, list[str]] = {}
    for fate in unnamed:
        recast = fate.kind == "reshaped" and all(
            there[n].shape == here[n].shape for n in fate.names if n in there and n in here
        )
        kinds.setdefault("of another dtype" if recast else fate.kind, []).append(fate.path)
    told = "; ".join(
        f"{words.get(kind, kind)}: {' '.join(paths[:SHOWN])}{' ...' if paths[SHOWN:] else ''}"
        for kind, paths in kinds.items()
    )
    every = {path_of(name) for name in (*there, *here)}
    return problem(
        "E-RESUME-PARAM",
        f"the checkpoint's values are not the file's: {told}",
        new=[n for fate in unnamed for n in fate.names if n not in there],
        missing=[n for fate in unnamed for n in fate.names if n not in here],
        reshaped=[n for fate in unnamed for n in fate.names if n in there and n in here],
        globs=covering([fate.path for fate in unnamed], every),
    )


def covering(paths: Collection[str], every: Collection[str]) -> list[str]:
    """Few globs that match these paths and none of the others."""
    others = [path for path in every if path not in paths]
    found = []
    for path in paths:
        parts = path.split("/")
        scopes = ("".join(f"{part}/" for part in parts[:at]) for at in range(len(parts)))
        whole = (s for s in scopes if not any(other.startswith(s) for other in others))
        scope = next(whole, None)
        alone = scope is None or [p for p in paths if p.startswith(scope)] == [path]
        found.append(path if alone else f"{scope}**")
    return list(dict.fromkeys(found))


def flags(globs: Iterable[str]) -> str:
    """As they are written on a command line."""
    return " ".join(f"--resume-params {shlex.quote(glob)}" for glob in globs)


def idle(job: Job, fates: Sequence[Fate], globs: Sequence[str]) -> list[Diagnostic]:
    """W-RESUME-PARAM of globs that name nothing, or what goes on as it is."""
    anew = {fate.path for fate in fates}
    every = {path_of(name) for name in job.persistent.saved} | anew
    found = []
    for glob in globs:
        matched = [path for path in sorted(every) if _named(path, [glob])]
        same = [path for path in matched if path not in anew]
        if not matched:
            found.append(_idle(f"no parameter is named by --resume-params {glob}", glob, []))
        elif same:
            shown = " ".join(same[:SHOWN]) + (" ..." if same[SHOWN:] else "")
            told = f"--resume-params {glob} names what is the same and goes on as it is: {shown}"
            found.append(_idle(told, glob, same))
    return found


def _idle(told: str, glob: str, same: Sequence[str]) -> Diagnostic:
    return diagnostic("W-RESUME-PARAM", told, glob=glob, same=list(same))
