"""What `--resume` means: a new run, or which run goes on from which of its checkpoints (65 B10)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from ..checkpoint.disk import Disk
from ..checkpoint.folder import Checkpoint, Checkpoints
from ..data.loader import Loader
from ..diagnostics import problem
from . import runs
from .begin import Listener, begin, no_step_left, reopen
from .clock import Clock
from .folder import RunFolder
from .job import Job
from .machine import Machine
from .resume import Words, differing_numerics, forks, unknown
from .tuning import inherited

WORDS = ("latest", "best")


def attempt(
    job: Job,
    *,
    root: Path,
    machine: Machine,
    loaders: Mapping[str, Loader],
    resume: str | None = None,
    changed: bool = False,
    anew: Sequence[str] = (),
    words: Words = unknown,
    origin: str | None = None,
    name: str | None = None,
    command: Sequence[str] | None = None,
    listener: Listener | None = None,
    clock: Clock | None = None,
    disk: Disk | None = None,
) -> tuple[RunFolder, Checkpoint | None]:
    """A locked folder, and the checkpoint to go on from (None: step 0).

    `resume`: None for a new run; `latest`, `best` or a step of the newest run of this experiment,
    or of the run `name`; `auto` is `latest` where there is one, else a new run; RUN[@STEP] that
    run, for which `changed` may be said, with globs of parameters that begin `anew`; `words`
    tells what did. `origin`: RUN[@STEP] that a new run begins from. Raises what `begin` and
    `reopen` do, E-CHECKPOINT-NONE.
    """
    fresh = partial(
        begin,
        job,
        root=root,
        machine=machine,
        loaders=loaders,
        name=name,
        command=command,
        listener=listener,
        clock=clock,
        disk=disk,
    )
    if origin is not None:
        return fork(fresh, job, origin, root, machine)
    found = None if resume is None else where(job, root, resume, name)
    if found is None:
        return fresh(), None
    path, which = found
    return reopen(
        path,
        job,
        which,
        machine=machine,
        loaders=loaders,
        command=command,
        changed=changed,
        anew=anew,
        words=words,
        listener=listener,
        clock=clock,
        disk=disk,
    )


def fork(
    fresh: Callable[..., RunFolder], job: Job, origin: str, root: Path, machine: Machine
) -> tuple[RunFolder, Checkpoint]:
    """A new run, which `fresh` begins, from a checkpoint of another, of whichever experiment.

    Raises what `runs.save` and `begin` do, E-RESUME-PARAM, E-USAGE-VALUE with no step left.
    """
    parent, saved = runs.save(root, origin)
    checkpoint = Checkpoints(saved.path.parent).load(saved)
    forks(job, checkpoint, f"{parent.path.name}@{saved.step}")
    differing = differing_numerics(checkpoint.document, machine)
    if saved.step >= job.steps:
        raise no_step_left(job, parent.path, saved.step)
    folder = fresh(parent={"run": parent.path.name, "step": saved.step})
    inherited(parent.path, folder.path)
    for found in differing:
        folder.events.warn(found, saved.step)
    folder.status.set(step=saved.step)
    return folder, checkpoint


def named(resume: str | None) -> bool:
    """Whether it says which checkpoint of this experiment's run, not which run."""
    return resume is not None and (resume in WORDS or resume.isdigit())


def where(job: Job, root: Path, resume: str, name: str | None) -> tuple[Path, str | int] | None:
    """The run and the checkpoint meant; None where `auto` finds nothing to go on from."""
    if resume != "auto" and not named(resume):
        run, _, step = resume.partition("@")
        return runs.find(root, run).path, runs.step(step or "latest")
    run_ = runs.resumable(root, job.experiment_id, name)
    if run_ is not None:
        return run_.path, "latest" if resume == "auto" else runs.step(resume)
    if resume == "auto":
        return None
    raise problem(
        "E-CHECKPOINT-NONE",
        f"no run of experiment {job.experiment_id} below {root} has a checkpoint",
        hint="--resume auto begins anew; --resume RUN --resume-changed goes on with another file.",
        wanted=resume,
    )
