"""A driver on the CPU: kernels by their PTX, library calls by stand-ins, streams as queues.

A stream's work is done as late as may be: when the host or another stream waits for it. So a wait
that was forgotten shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sexpgpu_core.diagnostics import Problem, problem

from .driver import Properties
from .memory import Arena
from .ptx.faults import PtxFault
from .ptx.launch import Code, launch, prepare
from .ptx.memory import Memory, Span
from .ptx.text import parse
from .work import Launch, LibraryCall

ARCHITECTURE = "sm_90"

_entries: dict[bytes, dict[str, Code]] = {}
"""What was parsed in this process, by its text."""


class Mark(NamedTuple):
    """Where an event was recorded: a stream, and how much of it is done by then."""

    stream: Stream
    place: int


class Stream:
    """Work in its order. `capture`: where it goes instead, if anywhere."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []
        self.done = 0
        self.capture: list[Callable[[], None]] | None = None

    def add(self, work: Callable[[], None]) -> None:
        (self.waiting if self.capture is None else self.capture).append(work)

    @property
    def place(self) -> int:
        return self.done + len(self.waiting)

    def run(self, place: int) -> None:
        """All up to a place. What comes after a failure is never done."""
        while self.done < place and self.waiting:
            work = self.waiting.pop(0)
            self.done += 1
            try:
                work()
            except Exception:
                self.waiting.clear()
                raise


class Event:
    """Reached where it was never recorded."""

    def __init__(self) -> None:
        self.mark: Mark | None = None


class EmulatedDriver:
    """`races`: every byte is watched with shadow memory."""

    code = "ptx"

    def __init__(self, races: bool = False) -> None:
        self.arena = Arena()
        self._races = races
        self._error: Problem | None = None

    def properties(self) -> Properties:
        from .device import llvm_version, memory

        there = memory()
        return Properties(
            "PTX in NumPy", ARCHITECTURE, there, there, 1, (("llvmlite", llvm_version()),)
        )

    def last_error(self) -> Problem | None:
        return self._error

    def close(self) -> None:
        """Memory is freed when nothing refers to it."""

    # -- memory

    def allocate(self, size: int) -> int:
        return self.arena.room(size).address

    def pinned(self, size: int) -> Any:
        import numpy as np

        return np.zeros(size, np.uint8)

    def copy_in(self, address: int, source: Any, stream: Stream) -> None:
        raw = _bytes(source)
        stream.add(lambda: self.arena.bytes_at(address, raw.nbytes).__setitem__(..., raw))

    def copy_out(self, target: Any, address: int, stream: Stream) -> None:
        raw = _bytes(target)
        stream.add(lambda: raw.__setitem__(..., self.arena.bytes_at(address, raw.nbytes)))

    def copy(self, target: int, source: int, size: int, stream: Stream) -> None:
        def work() -> None:
            self.arena.bytes_at(target, size)[...] = self.arena.bytes_at(source, size)

        stream.add(work)

    def fill(self, address: int, size: int, byte: int, stream: Stream) -> None:
        stream.add(lambda: self.arena.bytes_at(address, size).fill(byte))

    # -- order

    def stream(self) -> Stream:
        return Stream()

    def event(self) -> Event:
        return Event()

    def record(self, event: Event, stream: Stream) -> None:
        event.mark = Mark(stream, stream.place)

    def wait(self, stream: Stream, event: Event) -> None:
        mark = event.mark
        if mark is not None:
            stream.add(lambda: mark.stream.run(mark.place))

    def reached(self, event: Event) -> bool:
        return event.mark is None or event.mark.stream.done >= event.mark.place

    def attend(self, event: Event) -> None:
        if event.mark is not None:
            self._run(event.mark)

    def synchronize(self, stream: Stream) -> None:
        self._run(Mark(stream, stream.place))

    def _run(self, mark: Mark) -> None:
        """Raises E-DEVICE-FAULT, from then on."""
        if self._error is not None:
            raise self._error
        try:
            mark.stream.run(mark.place)
        except PtxFault as fault:
            self._error = problem("E-DEVICE-FAULT", str(fault), hint=HINT, kind=fault.kind)
            raise self._error from fault

    # -- code

    def load(self, body: bytes) -> dict[str, Code]:
        """The module's kernels, by name. PtxFault (unknown) for what the interpreter has not."""
        found = _entries.get(body)
        if found is None:
            parsed = parse(body.decode())
            found = _entries[body] = {name: prepare(entry) for name, entry in parsed.items()}
        return found

    def function(self, module: dict[str, Code], name: str) -> Code:
        return module[name]

    def launch(self, function: Code, launch: Launch, stream: Stream) -> None:
        """It may touch what its spans say, and nothing else."""
        regions = {id(m): m for m in (self.arena.find(s.start) for s in launch.spans)}
        memory = Memory([m.allocation for m in regions.values()], [Span(*s) for s in launch.spans])
        stream.add(lambda: self._kernel(function, launch, memory))

    def _kernel(self, function: Code, given: Launch, memory: Memory) -> None:
        launch(function, given.grid, given.threads, given.arguments, memory, self._races)

    def prepare(self, call: LibraryCall) -> int:
        return 0

    def library(self, call: LibraryCall, workspace: int, stream: Stream) -> None:
        stream.add(lambda: call.run(self.arena, *call.arguments))

    # -- graphs

    def begin_capture(self, stream: Stream) -> None:
        stream.capture = []

    def end_capture(self, stream: Stream) -> tuple[Callable[[], None], ...]:
        assert stream.capture is not None, "nothing is being captured"
        found, stream.capture = tuple(stream.capture), None
        return found

    def instantiate(self, graph: tuple[Callable[[], None], ...]) -> Any:
        return graph

    def launch_graph(self, graph: tuple[Callable[[], None], ...], stream: Stream) -> None:
        def work() -> None:
            for node in graph:
                node()

        stream.add(work)


HINT = "a mistake of the code generator, not of the file: please report it with the file"


def _bytes(array: Any) -> Any:
    """The memory of a contiguous array, as uint8."""
    import numpy as np

    assert array.flags.c_contiguous
    return array.reshape(-1).view(np.uint8)
