"""Whether a run fits on its disk and into its time: told before step 0, not when it is too late."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any

from ..checkpoint.shared import held
from ..diagnostics import Diagnostic, diagnostic, problem
from .folder import RunFolder
from .job import Job


def fits(job: Job, folder: RunFolder) -> None:
    """Raises E-DEVICE-DISK where checkpoints that are kept at once need more than is free.

    Those that the folder has already are counted.
    """
    needed = int(job.summary.get("disk_bytes", 0))
    needed -= held(folder.checkpoints.whole())
    free = shutil.disk_usage(folder.path).free
    if needed > free:
        raise problem(
            "E-DEVICE-DISK",
            f"checkpoints take {needed:,} bytes, and {free:,} are free in {folder.path}",
            hint="A smaller :keep in :checkpoint, or another --runs DIR.",
            needed=needed,
            free=free,
        )


def in_time(
    predicted: Mapping[str, Any], deadline: float, steps: int, left: int, error: float
) -> Diagnostic | None:
    """W-RUN-DEADLINE where the deadline will come before the last of `left` steps of `steps`.

    `error`: the factor that a prediction may be wrong by. Raises E-DEVICE-TIME where not one step
    will be done by then: such a run could be resumed for ever and never get on.
    """
    step, total = predicted["step_s"], predicted["total_s"] * left / max(1, steps)
    facts = {"deadline": deadline, "step_s": step, "total_s": total, "basis": predicted["basis"]}
    if step > error * deadline:
        told = f"a step takes about {step:.3g} s, and the deadline is after {deadline:g} s"
        raise problem("E-DEVICE-TIME", told, hint="A later deadline, or smaller steps.", **facts)
    if total <= deadline:
        return None
    reached = min(left, int(left * deadline / total))
    told = (
        f"{left:,} steps take about {total:.3g} s, and the deadline is after {deadline:g} s: "
        f"after about {reached:,} of them"
    )
    return diagnostic("W-RUN-DEADLINE", told, **facts)
