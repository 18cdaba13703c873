"""The weights that a pass reads: the live ones, or those of the best checkpoint in their place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..diagnostics import Problem, problem
from .folder import RunFolder
from .job import Job
from .ledger import Ledger
from .saving import Saver

if TYPE_CHECKING:
    import numpy as np

    from ..device import Session

OF_WEIGHTS = ("parameter:", "state:")
"""Kinds of values that a pass reads of another checkpoint."""


class Unread(Exception):
    """The weights of a pass are not there; `why` is told and the pass left out."""

    def __init__(self, why: Problem) -> None:
        super().__init__(str(why))
        self.why = why


class Weights:
    """What `:weights (:best SERIES)` of a pass stands for (R28)."""

    def __init__(
        self, job: Job, session: Session, folder: RunFolder, ledger: Ledger, saver: Saver
    ) -> None:
        self._job, self._session, self._folder = job, session, folder
        self._ledger, self._saver = ledger, saver

    def of_best(self, name: str) -> bool:
        """Whether a pass reads them."""
        return isinstance(self._job.experiment.passes[name].weights, tuple)

    @contextmanager
    def given(self, name: str, step: int) -> Iterator[None]:
        """The values of the best checkpoint in place of the live ones, which come back. Raises
        Unread."""
        if not self.of_best(name) or self._best_now(name, step):
            yield
            return
        best = self._read_best(name)
        names = [n for n in self._job.persistent.types if n.startswith(OF_WEIGHTS) and n in best]
        live = {n: self._session.read(n).copy() for n in names}
        try:
            for n in names:
                self._session.write(n, best[n])
            yield
        finally:
            for n, value in live.items():
                self._session.write(n, value)

    def _best_now(self, name: str, step: int) -> bool:
        best = self._ledger.best.get(self._series(name))
        return best is not None and best["step"] == step

    def _series(self, name: str) -> str:
        return str(self._job.experiment.passes[name].weights[1])

    def _read_best(self, name: str) -> Mapping[str, np.ndarray]:
        series = self._series(name)
        self._saver.collect(wait=True)
        try:
            if series not in self._ledger.best:
                raise problem("E-CHECKPOINT-NONE", f'pass {name}: no "{series}" was the best')
            checkpoints = self._folder.checkpoints
            return checkpoints.load(checkpoints.choose("best", series)).arrays
        except Problem as why:
            raise Unread(why) from why
