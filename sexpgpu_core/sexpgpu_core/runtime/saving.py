"""Checkpoints of a run: when one is begun, what it says, how its end is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..checkpoint.folder import Saved
from ..checkpoint.writer import Done, Writer, Written
from ..data.loader import Loader
from ..diagnostics import Problem
from .events import numbers
from .folder import RunFolder
from .job import Job
from .ledger import Ledger
from .progress import Progress

if TYPE_CHECKING:
    from ..device import Session, Snapshot

VERSION = 1


class Saver:
    """Saves beside the steps. A failed write is told at the next `collect`."""

    def __init__(self, job: Job, session: Session, folder: RunFolder) -> None:
        self._job, self._session, self._folder = job, session, folder
        self._clock = folder.clock.monotonic
        self._writer = Writer(self._clock)
        self.last: int | None = None  # step of the last one begun
        self._lost: Written | None = None  # the last one that could not be written
        self._unstored: Problem | None = None  # why the last one is not in the store

    def save(self, document: Mapping[str, Any], best: bool) -> None:
        """Take a snapshot and begin to write it; waits for a write that is in flight."""
        declared = self._job.experiment.run.checkpoint
        names = list(self._job.persistent.saved)
        began = self._clock()
        self._writer.wait()
        checkpoints, events = self._folder.checkpoints, self._folder.events
        snapshot = self._snapshot()
        stall = self._clock() - began
        step = int(document["step"])

        def work() -> Done:
            saved = checkpoints.save(
                step,
                names,
                snapshot.array,
                document,
                before_rename=events.sync,
                fixed=self._job.fixed,
            )
            series = declared.best[0] if declared.best else None
            removed = checkpoints.prune(declared.keep, series)
            return saved, removed, self._stored(saved, removed, series)

        self.last = step
        self._writer.start(step, work, snapshot.release, stall, best)
        if not declared.staging:
            self._writer.wait()

    def _snapshot(self) -> Snapshot:
        """Of what is written: without what no step changes, where a checkpoint has it already."""
        held = self._job.fixed if self._folder.checkpoints.holds_fixed() else ()
        return self._session.snapshot([n for n in self._job.persistent.saved if n not in held])

    def _stored(self, saved: Saved, removed: list[str], series: str | None) -> Problem | None:
        """Put it into the store as well; what keeps it from there."""
        if self._folder.mirror is None:
            return None
        keep = self._job.experiment.run.checkpoint.keep
        try:
            self._folder.mirror.checkpoint(saved, removed, keep, series)
        except Problem as refused:
            return refused
        return None

    def halt(self, document: Mapping[str, Any], batch: Mapping[str, Any]) -> Saved:
        """`halt-STEP`: the state of before the bad step, and its batch. Returns when durable."""
        self._writer.wait()
        snapshot = self._snapshot()
        try:
            return self._folder.checkpoints.save(
                int(document["step"]),
                list(self._job.persistent.saved),
                snapshot.array,
                document,
                before_rename=self._folder.events.sync,
                prefix="halt",
                batch=batch,
                fixed=self._job.fixed,
            )
        finally:
            snapshot.release()

    def collect(self, wait: bool = False, ending: bool = False) -> None:
        """Tell what ended. A write that failed is a warning while an older one is whole.

        Raises E-CHECKPOINT-DISK where there is none, or where the last one of the `ending` run
        is lost, whenever that was told; E-STORE-* where the store has not taken the last one.
        """
        if wait:
            self._writer.wait()
        for written in self._writer.collect():
            if written.saved is not None:
                self._tell(written, written.saved)
                self._unstored = written.unstored
                self._trouble(written.unstored, written.step)
            else:
                self._lost = written
                self._warn(written)
        if self._folder.mirror is not None:
            self._trouble(self._folder.mirror.trouble(), self.last or 0)
        if self._folder.sinks is not None:
            for failed in self._folder.sinks.failures():
                self._folder.events.warn(failed, self.last or 0, once=False)
        if ending and self._unstored is not None:
            raise self._unstored
        lost = self._lost
        if ending and lost is not None and lost.step == self.last and lost.error is not None:
            raise lost.error

    def _trouble(self, met: Problem | None, step: int) -> None:
        """A store that is refused or gone: the run goes on, what it would hold is here."""
        if met is not None:
            self._folder.events.warn(met.diagnostic, step)
            self._folder.log(str(met))

    def _warn(self, written: Written) -> None:
        assert written.error is not None
        if written.error.diagnostic.facts.get("older") is None:
            raise written.error
        self._folder.events.warn(written.error.diagnostic, written.step, once=False)
        self._folder.log(str(written.error))

    def _tell(self, written: Written, saved: Saved) -> None:
        told = {
            "path": f"checkpoints/{saved.name}",
            "bytes": saved.bytes,
            "duration_s": round(written.duration, 6),
            "stall_s": round(written.stall, 6),
            "best": written.best,
            "removed": [f"checkpoints/{name}" for name in written.removed],
            "verified": None,
        }
        self._folder.events.write("checkpoint", written.step, **told)
        if self._folder.proof is not None:
            self._folder.proof.saved(saved, told)
        point = savepoint(saved)
        self._folder.status.set(
            checkpoint=point, **({"best_checkpoint": point} if written.best else {})
        )


def savepoint(saved: Saved) -> dict[str, Any]:
    """How status.json names a checkpoint."""
    return {
        "step": saved.step,
        "path": f"checkpoints/{saved.name}",
        "time": saved.document["time"],
        "bytes": saved.bytes,
        "verified": None,
    }


def document(
    job: Job,
    folder: RunFolder,
    stage: str,
    progress: Progress,
    ledger: Ledger,
    loaders: Mapping[str, Loader],
    allowed: int,
    due: list[str],
    now: Callable[[], str],
) -> dict[str, Any]:
    """checkpoint.json but for the files, by contracts/schemas/checkpoint.json."""
    machine, seed = folder.machine, job.experiment.run.seed
    said = {
        "version": VERSION,
        "document": "checkpoint",
        "run": folder.run,
        "attempt": folder.attempt,
        "step": progress.step,
        "time": now(),
        "elapsed": round(folder.events.elapsed, 6),
        "experiment_id": job.experiment_id,
        "ir_sha256": job.ir_hash,
        "seed": seed,
        "stage": {
            "loader": job.stages[stage].loader,
            "name": job.stages[stage].stage,
            "step": progress.batches.get(stage, 0),
        },
        "counters": dict(progress.counters),
        "loaders": {
            key: _position(job, key, number, loaders) for key, number in progress.batches.items()
        },
        "rng": {"seed": seed, "step": progress.step},
        "loss_scale": progress.scale,
        "loss_scale_steps": progress.steady,
        "guard": {"skipped": progress.skipped, "allowed": allowed},
        "targets": ledger.targets,
        "best": ledger.best,
        "metrics": {name: value for name, (value, _) in ledger.last.items()},
        "device": dict(machine.device),
        "versions": dict(machine.versions),
        "updates": progress.updates,
        **({"group_updates": dict(progress.groups)} if progress.groups else {}),
        "numerics": dict(machine.numerics),
        "due": list(due),
        **({"series": ledger.history()} if job.curriculum is not None else {}),
    }
    return dict(numbers(said))


def _position(job: Job, key: str, number: int, loaders: Mapping[str, Loader]) -> dict[str, Any]:
    facts = job.stages[key]
    epoch, _ = loaders[facts.loader].epoch(facts.stage, number)
    return {"stage": facts.stage, "position": number * facts.step.rows, "epoch": epoch}
