"""The device's own threads: compiled loops on pthreads that spin shortly, then sleep on a futex."""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Any

from .driver import LINE, POOL_WORDS
from .memory import Words

WORKER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 5)
"""A CFUNCTYPE call releases the GIL for the whole step."""
STACK = 4 << 20
"""Bytes of a worker's stack: kernels keep rows and panels there, and some systems give 128 KB."""
ATTRIBUTE_BYTES = 256
"""Room for a pthread_attr_t: 56 bytes with glibc, 64 on macOS."""


def line_words(threads: int) -> int:
    """Words of a record's counters: whole cache lines for one count and a queue a thread."""
    return LINE * -(-(1 + threads) // LINE)


class Pool:
    """`threads` includes the caller's. After a fork the workers are gone; they are made anew."""

    def __init__(self, threads: int, entry: dict[str, int]) -> None:
        self.threads = threads
        self.entry = entry
        self._launch = LAUNCH(entry["launch_all"])
        self._stop = WORKER(entry["stop_all"])
        self._start()

    def _start(self) -> None:
        self.pid = os.getpid()
        self.words = Words(POOL_WORDS)
        self._arguments = Words(LINE * self.threads)
        self._handles: list[Any] = []
        # Signals are for the interpreter's own thread.
        masked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            for thread in range(1, self.threads):
                self._handles.append(self._thread(thread))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)

    def _thread(self, number: int) -> Any:
        at = LINE * number
        self._arguments[at] = self.words.address
        self._arguments[at + 1] = number
        handle = ctypes.c_void_p()
        attributes = ctypes.create_string_buffer(ATTRIBUTE_BYTES)
        library = _pthread()
        library.pthread_attr_init(attributes)
        library.pthread_attr_setstacksize(attributes, ctypes.c_size_t(STACK))
        error = library.pthread_create(
            ctypes.byref(handle),
            attributes,
            ctypes.c_void_p(self.entry["worker"]),
            ctypes.c_void_p(self._arguments.address + 8 * at),
        )
        if error:
            raise OSError(error, "no thread can be made")
        return handle

    def launch(
        self, table: int, counters: int, records: int, launch: int, line: int, commit: int
    ) -> bool:
        """Run a table once. False where its gate stopped it. `launch` counts from 1."""
        if self.pid != os.getpid():
            self._start()
        reached = self._launch(
            self.words.address, table, counters, records, launch, self.threads, line, commit
        )
        return bool(reached)

    def launch_alone(self, table: int, records: int, launch: int) -> bool:
        """On the caller's thread only."""
        none = ctypes.c_void_p()
        return bool(self._launch(none, table, none, records, launch, 1, 0, records))

    def close(self) -> None:
        """Stop and join the workers. Idempotent."""
        if self.pid == os.getpid() and self._handles:
            self._stop(self.words.address)
            for handle in self._handles:
                _pthread().pthread_join(handle, None)
        self._handles = []


def _pthread() -> Any:
    library = ctypes.CDLL(None)
    library.pthread_join.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    return library
