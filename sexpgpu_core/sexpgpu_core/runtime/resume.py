"""Whether a checkpoint is this job's, and its values back into a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..checkpoint.folder import Checkpoint
from ..checkpoint.tensors import dtype_of
from ..diagnostics import Diagnostic, diagnostic, problem
from ..ir.types import Type
from .job import Job
from .machine import TUNING, Machine

if TYPE_CHECKING:
    from ..device import Session


def changes(
    job: Job, checkpoint: Checkpoint, machine: Machine, *, allowed: bool = False
) -> list[Diagnostic]:
    """Warnings of what differs. Raises E-RESUME-CHANGED (unless allowed) and E-RESUME-PARAM."""
    document = checkpoint.document
    if document["experiment_id"] != job.experiment_id and not allowed:
        raise problem(
            "E-RESUME-CHANGED",
            f"the checkpoint is of experiment {document['experiment_id']}, "
            f"the file is {job.experiment_id}",
            hint=f"sexpgpu diff {document['run']} FILE shows what; --resume-changed goes on.",
            checkpoint=document["experiment_id"],
            file_now=job.experiment_id,
        )
    _same_values(job, checkpoint)
    return differing_numerics(document, machine)


def _same_values(job: Job, checkpoint: Checkpoint) -> None:
    there = {n: Type(dtype_of(a), tuple(a.shape)) for n, a in checkpoint.arrays.items()}
    here = job.persistent.saved
    wrong = {
        "new": sorted(set(here) - set(there)),
        "missing": sorted(set(there) - set(here)),
        "reshaped": sorted(n for n in set(here) & set(there) if here[n] != there[n]),
    }
    if not any(wrong.values()):
        return
    told = "; ".join(
        f"{kind}: {' '.join(names[:5])}{' ...' if len(names) > 5 else ''}"
        for kind, names in wrong.items()
        if names
    )
    raise problem("E-RESUME-PARAM", f"the checkpoint's values are not the file's: {told}", **wrong)


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
