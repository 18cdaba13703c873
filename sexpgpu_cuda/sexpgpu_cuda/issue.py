"""Records onto a stream: as graphs where nothing is asked in between, else one after another."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from itertools import groupby

from sexpgpu_core.diagnostics import Problem

from .codes import Codes
from .driver import Driver, Handle
from .work import Fill, Launch, LibraryCall, Loop, Record, moved

NODES = 20_000
"""Of one graph: a loop whose trips are more is launched trip by trip."""


class Issue:
    """`stream`: where it goes. `workspace`: address of what libraries work in. `one_by_one`: after
    each record the host waits, so that a fault has a name."""

    def __init__(
        self, driver: Driver, codes: Codes, stream: Handle, workspace: int, one_by_one: bool
    ) -> None:
        self._driver = driver
        self._functions = codes.functions
        self._stream = stream
        self._workspace = workspace
        self._one_by_one = one_by_one
        self._asked = driver.pinned(8)

    def graph(self, records: Sequence[Record]) -> Handle:
        """The records as one graph, ready to be launched."""
        self._driver.begin_capture(self._stream)
        try:
            for record in records:
                self._one(record)
        except Exception:
            with contextlib.suppress(Problem):
                self._driver.end_capture(self._stream)
            raise
        return self._driver.instantiate(self._driver.end_capture(self._stream))

    def records(self, records: Sequence[Record]) -> None:
        for record in records:
            self._one(record)
            if self._one_by_one:
                self._driver.synchronize(self._stream)

    def launch(self, graph: Handle) -> None:
        self._driver.launch_graph(graph, self._stream)

    def _one(self, record: Record) -> None:
        if isinstance(record, Launch):
            self._driver.launch(self._functions[record.unit.key], record, self._stream)
        elif isinstance(record, LibraryCall):
            self._driver.library(record, self._workspace, self._stream)
        elif isinstance(record, Fill):
            self._driver.fill(record.address, record.size, record.byte, self._stream)
        else:
            self._loop(record)

    def _loop(self, loop: Loop) -> None:
        for trip in range(loop.limit):
            if loop.test and not self._goes_on(loop.test):
                return
            self.records([moved(a, b, trip) for a, b in zip(loop.first, loop.second)])

    def _goes_on(self, address: int) -> bool:
        self._driver.copy_out(self._asked[:1], address, self._stream)
        self._driver.synchronize(self._stream)
        return bool(self._asked[0])


def parts(records: Sequence[Record]) -> Iterator[tuple[bool, list[Record]]]:
    """Runs of records: (whether they may be one graph, these)."""
    for whole, found in groupby(records, fixed):
        yield whole, list(found)


def fixed(record: Record) -> bool:
    """Whether a record is the same nodes each time, and not too many."""
    return not _asks(record) and nodes(record) <= NODES


def nodes(record: Record) -> int:
    """Of a graph."""
    if not isinstance(record, Loop):
        return 1
    return record.limit * sum(nodes(r) for r in record.first)


def _asks(record: Record) -> bool:
    """Whether the host must look at memory before it knows what comes."""
    return isinstance(record, Loop) and (record.test != 0 or any(map(_asks, record.first)))
