"""What `--resume` means: a new run, or which run goes on from which of its checkpoints (65 B10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..checkpoint.disk import Disk
from ..checkpoint.folder import Checkpoint
from ..data.loader import Loader
from ..diagnostics import problem
from . import runs
from .begin import Listener, begin, reopen
from .clock import Clock
from .folder import RunFolder
from .job import Job
from .machine import Machine

WORDS = ("latest", "best")


def attempt(
    job: Job,
    *,
    root: Path,
    machine: Machine,
    loaders: Mapping[str, Loader],
    resume: str | None = None,
    changed: bool = False,
    name: str | None = None,
    command: Sequence[str] | None = None,
    listener: Listener | None = None,
    clock: Clock | None = None,
    disk: Disk | None = None,
) -> tuple[RunFolder, Checkpoint | None]:
    """A locked folder, and the checkpoint to go on from (None: step 0).

    `resume`: None for a new run; `latest`, `best` or a step of the newest run of this experiment,
    or of the run `name`; `auto` is `latest` where there is one, else a new run; RUN[@STEP] that
    run, for which `changed` may be said. Raises what `begin` and `reopen` do, E-CHECKPOINT-NONE.
    """
    found = None if resume is None else where(job, root, resume, name)
    if found is None:
        folder = begin(
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
        return folder, None
    path, which = found
    return reopen(
        path,
        job,
        which,
        machine=machine,
        changed=changed,
        listener=listener,
        clock=clock,
        disk=disk,
    )


def where(job: Job, root: Path, resume: str, name: str | None) -> tuple[Path, str | int] | None:
    """The run and the checkpoint meant; None where `auto` finds nothing to go on from."""
    if resume != "auto" and resume not in WORDS and not resume.isdigit():
        run, _, step = resume.partition("@")
        return runs.find(root, run).path, _step(step or "latest")
    run_ = runs.resumable(root, job.experiment_id, name)
    if run_ is not None:
        return run_.path, "latest" if resume == "auto" else _step(resume)
    if resume == "auto":
        return None
    raise problem(
        "E-CHECKPOINT-NONE",
        f"no run of experiment {job.experiment_id} below {root} has a checkpoint",
        hint="--resume auto begins anew; --resume RUN --resume-changed goes on with another file.",
        wanted=resume,
    )


def _step(text: str) -> str | int:
    if text in WORDS:
        return text
    if text.isdigit():
        return int(text)
    raise problem("E-USAGE-VALUE", f"a step is a number, latest or best, not {text}")
