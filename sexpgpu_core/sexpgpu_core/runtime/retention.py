"""Checkpoints removed by hand, under the run's lock."""

from __future__ import annotations

from ..checkpoint.folder import Checkpoints, Saved
from ..diagnostics import problem
from .clock import Clock
from .lock import Lock
from .runs import Run


def prune(run: Run, keep: int, *, best: bool, dry: bool) -> list[Saved]:
    """All but the last `keep` and the best one go; what went, or with `dry` would go.

    `best` insists that there is one. Raises E-RUN-LOCKED, E-USAGE-VALUE, E-CHECKPOINT-DISK.
    """
    series = (run.manifest.get("rank") or {}).get("metric")
    if best and series is None:
        told = f"{run.path.name} does not say by which number a checkpoint is the best"
        hint = '(defrun ... :checkpoint (:best ("val/loss" :min))) says it; --keep N.'
        raise problem("E-USAGE-VALUE", told, hint=hint)
    checkpoints = Checkpoints(run.path / "checkpoints")
    if dry:
        return checkpoints.surplus(keep, series)
    lock = Lock(run.path / "run.lock", Clock().stamp())
    try:
        gone = checkpoints.surplus(keep, series)
        checkpoints.prune(keep, series)
        return gone
    finally:
        lock.release()
