"""Batches made ahead on a thread. What they hold depends on their numbers, never on timing."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from .loader import Loader


class Prefetcher:
    """The batches `first`, `first + 1`, ... of a stage, `depth` at most ready and unread.

    Owns one thread until close(). What the loader raises is raised by `take`.
    """

    def __init__(
        self,
        loader: Loader,
        stage: str,
        first: int,
        last: int,
        names: Iterable[str] | None = None,
        depth: int = 2,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        wanted = None if names is None else tuple(names)
        self._make: Callable[[int], Any] = lambda number: loader.batch(stage, number, wanted)
        self._ready: queue.Queue[Any] = queue.Queue(maxsize=depth)
        self._stop = threading.Event()
        self._clock = clock
        self._next = first
        self._thread = threading.Thread(
            target=self._run, args=(first, last), name=f"data {loader.name}:{stage}", daemon=True
        )
        self._thread.start()

    def _run(self, first: int, last: int) -> None:
        for number in range(first, last):
            try:
                made: Any = self._make(number)
            except BaseException as raised:
                self._put(raised)
                return
            if not self._put(made):
                return

    def _put(self, item: Any) -> bool:
        while not self._stop.is_set():
            try:
                self._ready.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def take(self) -> tuple[dict[str, np.ndarray], float]:
        """The next batch, and the seconds that its maker kept us waiting."""
        try:
            item, waited = self._ready.get_nowait(), 0.0
        except queue.Empty:
            start = self._clock()
            item = self._ready.get()
            waited = self._clock() - start
        if isinstance(item, BaseException):
            raise item
        self._next += 1
        return item, waited

    def close(self) -> None:
        """Drop what was made and end the thread."""
        self._stop.set()
        while not self._ready.empty():
            self._ready.get_nowait()
        self._thread.join(timeout=5)
