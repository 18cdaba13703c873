"""A curriculum run ahead of the run (R39): which stage trains from which step, and how many steps.

It is exact where no metric is read; where one is, `defrun`'s own number of steps is an upper bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..data.loader import Loader
from ..records import NamedTuple
from ..runtime.curriculum import Ask, context, default_key
from ..runtime.job import ProgramFacts, StageFacts
from ..runtime.progress import Progress

LONGEST = 100_000
"""Steps that are run ahead; of a longer run the rest is taken to go on as it is."""


class Ahead(NamedTuple):
    """`borders`: (LOADER:STAGE, its first step). `steps`: how many there will be, None where they
    are not known. `reads`: series that were asked for, in that order."""

    borders: tuple[tuple[str, int], ...]
    steps: int | None
    reads: tuple[str, ...]


def planned(loader: str, stage: str, rows: int, counters: Mapping[str, int]) -> StageFacts:
    """What is known of a stage before it is traced."""
    return StageFacts(loader, stage, ProgramFacts("", {}, {}, (), rows), 1, counters, 0)


def run_ahead(
    ask: Ask,
    stages: Mapping[str, StageFacts],
    loaders: Mapping[str, Loader],
    steps: int | None,
    until: tuple[str, int] | None,
) -> Ahead:
    """Asks step by step until the run ends, a metric is read, or it has gone on for long."""
    reads: dict[str, None] = {}

    def metrics(series: str, which: str) -> Any:
        reads[series] = None
        return 0 if which == "count" else None

    counters = {name: 0 for stage in stages.values() for name in stage.counters}
    progress, key = Progress(steps or 0, counters=counters), default_key(stages)
    borders: list[tuple[str, int]] = []
    while not _over(progress, steps, until):
        if progress.step == LONGEST:
            return Ahead(tuple(borders), steps, ())
        found = ask(context(progress, key, stages, loaders), metrics)
        if reads:
            return Ahead(tuple(borders), steps, tuple(reads))
        if found is None:
            return Ahead(tuple(borders), progress.step, ())
        if not borders or borders[-1][0] != found:
            borders.append((found, progress.step))
        key = found
        progress.advance(key, stages[key])
    return Ahead(tuple(borders), progress.step, ())


def _over(progress: Progress, steps: int | None, until: tuple[str, int] | None) -> bool:
    if steps is not None:
        return progress.step >= steps
    return until is not None and progress.counters.get(until[0], 0) >= until[1]
