"""Whether what a run keeps fits on its disk: told before step 0, not when it is full."""

from __future__ import annotations

import shutil

from ..diagnostics import problem
from .folder import RunFolder
from .job import Job


def fits(job: Job, folder: RunFolder) -> None:
    """Raises E-DEVICE-DISK where checkpoints that are kept at once need more than is free.

    Those that the folder has already are counted.
    """
    needed = int(job.summary.get("disk_bytes", 0))
    needed -= sum(saved.bytes for saved in folder.checkpoints.whole())
    free = shutil.disk_usage(folder.path).free
    if needed > free:
        raise problem(
            "E-DEVICE-DISK",
            f"checkpoints take {needed:,} bytes, and {free:,} are free in {folder.path}",
            hint="A smaller :keep in :checkpoint, or another --runs DIR.",
            needed=needed,
            free=free,
        )
