"""Groups that are updated every so many steps: which are due at each step of their cycle (R33)."""

from __future__ import annotations

import math

from ..diagnostics import problem
from .traced import Optimization

MOST = 4
"""Patterns of due groups of a stage: each is a program of its own."""


def cycle(optimization: Optimization) -> tuple[frozenset[int], ...]:
    """Indices of the groups that are due, by step modulo the length. E-GROUP-PATTERNS."""
    trained = [(i, g) for i, g in enumerate(optimization.groups) if not g.frozen]
    length = math.lcm(*(g.every for _, g in trained))
    found: list[frozenset[int]] = []
    patterns: set[frozenset[int]] = set()
    for step in range(length):
        due = frozenset(i for i, g in trained if step % g.every == g.offset)
        found.append(due)
        patterns.add(due)
        if len(patterns) > MOST:
            slow = next(g for _, g in trained if g.every != 1)
            raise problem(
                "E-GROUP-PATTERNS",
                f"the groups are due in more than {MOST} patterns over {length} steps",
                hint="periods that divide each other, as :every 2 and :every 4",
            ).locate(slow.span)
    return tuple(found)


def cadence(every: int, offset: int) -> str:
    """How a group's own count of updates is named; "" where it is that of the run."""
    return "" if every == 1 else f"{every}/{offset}"


def cadences(optimization: Optimization) -> dict[str, tuple[int, int]]:
    """The counts that a stage's groups keep: every, offset."""
    slow = [(g.every, g.offset) for g in optimization.groups if g.every != 1]
    return {cadence(*pair): pair for pair in slow}
