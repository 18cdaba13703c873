"""Declared sweeps: to points, to runs of them, to a ranked table."""

from .points import Chosen, Point, Points, Rank, declared, points, rank

__all__ = ["Chosen", "Point", "Points", "Rank", "declared", "points", "rank"]

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..evaluator.evaluator import Evaluator
    from ..experiment.declarations import Experiment


def check(experiment: Experiment, evaluator: Evaluator) -> None:
    """Raises Problems with what is wrong of sweeps; nothing is imported where there are none."""
    if experiment.sweeps:
        from .checks import check_sweeps

        check_sweeps(experiment, evaluator)
