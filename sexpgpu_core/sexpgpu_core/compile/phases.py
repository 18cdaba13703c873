"""How a compilation is carried out: without Python's cycle collector, and with the CPU seconds that
each phase took and how much it made, for the bench and `explain`."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Phases:
    """Seconds of CPU time and a count by phase, summed over programs."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.counts: dict[str, int] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        start = time.process_time()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - start

    def count(self, name: str, n: int) -> None:
        self.counts[name] = self.counts.get(name, 0) + n

    @property
    def total(self) -> float:
        return sum(self.seconds.values())


@contextmanager
def collector_off() -> Iterator[None]:
    """Nothing is collected inside, where graphs are made: they hold many objects and no cycles.
    Afterwards the collector is as it was."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
