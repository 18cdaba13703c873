"""Checkpoints removed by hand: of a run under its lock, of a store by their manifests."""

from __future__ import annotations

from ..checkpoint.folder import Checkpoints, Saved, surplus
from ..checkpoint.leftovers import Left, clear, left
from ..checkpoint.store import committed, discard
from ..diagnostics import problem
from ..experiment.protocols import Store
from .clock import Clock
from .lock import Lock
from .runs import Run
from .status import ended


def prune(run: Run, keep: int, *, best: bool, dry: bool) -> list[Saved]:
    """All but the last `keep` and the best one go; what went, or with `dry` would go.

    `best` insists that there is one. Raises E-RUN-LOCKED, E-USAGE-VALUE, E-CHECKPOINT-DISK.
    """
    series = _series(run, best)
    checkpoints = Checkpoints(run.path / "checkpoints")
    if dry:
        return checkpoints.surplus(keep, series)
    lock = Lock(run.path / "run.lock", Clock().stamp())
    try:
        checkpoints.sweep()
        gone = checkpoints.surplus(keep, series)
        checkpoints.prune(keep, series)
        return gone
    finally:
        lock.release()


def prune_stored(
    store: Store, run: Run, keep: int, *, best: bool, dry: bool
) -> tuple[list[Saved], Left]:
    """The same of a run's checkpoints in a store, where no lock is: not while the run writes there.
    What uploads that never ended have left goes too, once their process surely has ended.

    Raises E-USAGE-VALUE, E-STORE-*.
    """
    gone = surplus(committed(store), keep, _series(run, best))
    told = run.status
    found = Left((), ())
    if told is not None and ended(told):
        found = (left if dry else clear)(store, int(told["attempt"]))
    for saved in gone if not dry else ():
        discard(store, saved.name)
    return gone, found


def _series(run: Run, best: bool) -> str | None:
    """The number that checkpoints are ranked by. Raises E-USAGE-VALUE where one must be."""
    series = (run.manifest.get("rank") or {}).get("metric")
    if best and series is None:
        told = f"{run.path.name} does not say by which number a checkpoint is the best"
        hint = '(defrun ... :checkpoint (:best ("val/loss" :min))) says it; --keep N.'
        raise problem("E-USAGE-VALUE", told, hint=hint)
    return str(series) if series is not None else None
