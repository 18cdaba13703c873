"""Batches made ahead on threads. What they hold depends on their numbers, never on timing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from .loader import Loader


class Prefetcher:
    """The batches `first`, `first + 1`, ... of a stage, at most as many ahead as the loader says.

    Owns its threads until close(). What the loader raises for a batch is raised when that batch is
    taken. With nothing ahead there is no thread: a batch is made when it is taken.
    """

    def __init__(
        self,
        loader: Loader,
        stage: str,
        first: int,
        last: int,
        names: Iterable[str] | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        wanted = None if names is None else tuple(names)
        self._make: Callable[[int], Any] = lambda number: loader.batch(stage, number, wanted)
        self._clock = clock
        self._depth, threads = loader.ahead
        self._taken = self._begun = first
        self._last = last
        self._made: dict[int, Any] = {}
        self._stop = False
        self._changed = threading.Condition()
        self._threads = [
            threading.Thread(target=self._run, name=f"data {loader.name}:{stage}", daemon=True)
            for _ in range(min(threads, self._depth))
        ]
        for thread in self._threads:
            thread.start()

    def _run(self) -> None:
        while (number := self._next()) is not None:
            try:
                made: Any = self._make(number)
            except BaseException as raised:
                made = raised
            with self._changed:
                self._made[number] = made
                self._changed.notify_all()

    def _next(self) -> int | None:
        """The batch that a thread makes next; None when there is no more to do."""
        with self._changed:
            while not self._stop and self._begun - self._taken >= self._depth:
                self._changed.wait()
            if self._stop or self._begun >= self._last:
                return None
            self._begun += 1
            return self._begun - 1

    def take(self) -> tuple[dict[str, np.ndarray], float]:
        """The next batch, and the seconds that its maker kept us waiting."""
        start = self._clock()
        number = self._taken
        if not self._threads:
            self._taken += 1
            return self._make(number), self._clock() - start
        with self._changed:
            waits = number not in self._made
            while number not in self._made:
                self._changed.wait()
            item = self._made.pop(number)
            self._taken += 1
            self._changed.notify_all()
        if isinstance(item, BaseException):
            raise item
        return item, self._clock() - start if waits else 0.0

    def close(self) -> None:
        """Drop what was made and end the threads."""
        with self._changed:
            self._stop = True
            self._made.clear()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(timeout=5)
