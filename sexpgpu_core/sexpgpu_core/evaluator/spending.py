"""What builtins that walk data cost in steps, so that the limit of steps covers them too."""

from __future__ import annotations

from ..diagnostics import Problem, problem
from .machine import current, running

CELLS_A_STEP = 10
"""Cells or elements walked that cost as much as one step of evaluation."""

WALK_LIMIT = 2_000_000
"""Most cells that one walk visits: a circular structure ends there."""


def spend(name: str, cells: int) -> None:
    """Pay for a walk over that many cells."""
    if cells >= CELLS_A_STEP and running():
        current().spend(cells // CELLS_A_STEP, name)


def endless(name: str) -> Problem:
    """E-LIMIT-CELLS for a walk that does not end."""
    return problem(
        "E-LIMIT-CELLS",
        f"{name} has walked {WALK_LIMIT:,} cells: the structure is circular or too large",
        limit=WALK_LIMIT,
    )
