"""Whether a checkpoint is this job's, and its values back into a session."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..checkpoint.folder import Checkpoint
from ..diagnostics import Diagnostic, Problem, diagnostic, problem
from ..diagnostics.places import shown_path
from .fates import AVERAGE, OPTIMIZER, Fate, fitted, flags, idle, path_of, types_of
from .job import Job
from .machine import TUNING, Machine

if TYPE_CHECKING:
    from ..device import Session

Words = Callable[[Path, str], Sequence[str]]
"""What tells the file of the run in a folder, of an experiment, from the one now: a text each."""
SHOWN = 3
"""Of them in a message."""


def unknown(run: Path, experiment_id: str) -> Sequence[str]:
    """Nobody says."""
    return ()


def another(job: Job, checkpoint: Checkpoint, run: Path, words: Words, allowed: bool) -> list[str]:
    """What tells the file from the experiment that was saved; nothing where it is that one.

    Raises E-RESUME-CHANGED, unless allowed.
    """
    before, now = checkpoint.document["experiment_id"], job.experiment_id
    if before == now:
        return []
    ids = f"experiment {before}, now {now}"
    told = list(words(run, before)) or [ids]
    if allowed:
        return told
    more = f" and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
    raise problem(
        "E-RESUME-CHANGED",
        f"the file is not what {run.name} was trained by: {', '.join(told[:SHOWN])}{more}",
        hint=f"sexpgpu diff {run.name} {_side(job)} shows it all; "
        f"--resume {run.name} --resume-changed goes on with it.",
        checkpoint=before,
        file_now=now,
        changes=told,
    )


def _side(job: Job) -> str:
    """The file and what was chosen of it, as `sexpgpu diff` takes them."""
    chosen = job.experiment.chosen()
    parts = [chosen[name] for name in ("variant", "point") if chosen[name]]
    parts += [f"{knob}={value}" for knob, value in chosen["set"].items()]
    path = shown_path(job.experiment.path)
    return shlex.quote(f"{path}:{','.join(parts)}" if parts else path)


def fits(
    job: Job, checkpoint: Checkpoint, run: Path, globs: Sequence[str], changed: bool
) -> tuple[list[Fate], list[Diagnostic]]:
    """What begins anew of the parameters that `globs` name, and warnings. `changed`: the file is
    another experiment. Raises E-RESUME-PARAM with the flags that let it go on."""
    try:
        fates = fitted(job, checkpoint, globs)
    except Problem as refused:
        found = refused.diagnostic
        also = " --resume-changed" if changed else ""
        named = flags([*globs, *found.facts["globs"]])
        hint = f"--resume {run.name}{also} {named}: what differs of them begins anew."
        raise Problem(found._replace(hint=hint)) from None
    return fates, idle(job, fates, globs) if changed else []


def forks(job: Job, checkpoint: Checkpoint, save: str) -> None:
    """Raises E-RESUME-PARAM where the values of another run are not this file's."""
    try:
        fitted(job, checkpoint, ())
    except Problem as refused:
        told, (run, _, step) = refused.diagnostic.facts, save.partition("@")
        theirs, ours = types_of(checkpoint), job.persistent.saved
        reshaped = [n for n in told["reshaped"] if theirs[n].shape != ours[n].shape]
        here = _option("missing", [*told["new"], *reshaped])
        there = _option("ignore", [*told["missing"], *reshaped])
        kept = f'(run-checkpoint "{run}" :at {step})'
        hint = f"(load-params {kept}{here}{there}), without --from"
        raise Problem(refused.diagnostic._replace(hint=hint)) from None


def _option(name: str, values: Sequence[str]) -> str:
    """Of load-params, which takes parameters and states alone."""
    own = [n for n in values if not n.startswith((OPTIMIZER, AVERAGE))]
    paths = " ".join(dict.fromkeys(f'"{path_of(n)}"' for n in own))
    return f" :{name} ({paths})" if paths else ""


def differing_numerics(document: Mapping[str, Any], machine: Machine) -> list[Diagnostic]:
    """W-RESUME-NUMERICS where the bits of a checkpoint need not come again on a machine. The
    tuning record is compared by runtime.tuning."""
    before, now = document.get("numerics", {}), machine.numerics
    differing = [k for k in sorted({*before, *now} - {TUNING}) if before.get(k) != now.get(k)]
    if not differing:
        return []
    told = ", ".join(f"{k} was {before.get(k)}, is {now.get(k)}" for k in differing)
    return [diagnostic("W-RESUME-NUMERICS", told, differs=differing)]


def restore(session: Session, job: Job, checkpoint: Checkpoint | None) -> None:
    """Every persistent value: from the checkpoint, whose arrays are let go, or as at step 0, as
    those are that no checkpoint holds."""
    saved = checkpoint.arrays if checkpoint is not None else {}
    for name in job.persistent.types:
        session.write(name, saved[name] if name in saved else job.initial(name))
    if checkpoint is not None:
        checkpoint.arrays.clear()
