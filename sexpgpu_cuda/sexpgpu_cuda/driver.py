"""What a program asks of a GPU's driver: memory, streams, events, code, launches, graphs.

Two drivers answer: `emulated_driver` on the CPU, `real_driver` by cuda.bindings. Sessions and
programs are written against this and know neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from sexpgpu_core.diagnostics import Problem

from .work import Launch, LibraryCall

Handle = Any
"""Of a stream, an event, a module, a function or a graph: the driver's own, opaque to others."""


class Properties(NamedTuple):
    """Of the GPU that a driver drives. Bytes of memory: all, and free now; `versions`: of what
    stands below, by name."""

    name: str
    architecture: str
    memory: int
    free: int
    multiprocessors: int
    versions: tuple[tuple[str, str], ...]


class Work(Protocol):
    """A vendor library's call, made once. `prepare` is asked before anything is captured, and
    `refusal` before that: why the library does not take it, or None."""

    @property
    def workspace_bytes(self) -> int: ...
    def refusal(self) -> str | None: ...
    def prepare(self, driver: Driver) -> None: ...
    def run(self, stream: int, pointers: Sequence[int]) -> None:
        """Enqueue it. `pointers`: the record's arguments, then the workspace's address."""
        ...


class Driver(Protocol):
    """All calls come from the thread that made it. What goes onto a stream comes back at once; its
    failure is raised by a later call, as E-DEVICE-FAULT, and is `last_error` from then on.

    `code`: whether it takes "ptx" or "cubin" (which may be PTX where nothing assembles it).
    """

    code: str

    def properties(self) -> Properties: ...
    def last_error(self) -> Problem | None: ...
    def close(self) -> None:
        """Give all back. Idempotent."""
        ...

    # -- memory
    def allocate(self, size: int) -> int:
        """Address of zeros, a multiple of 256. Raises E-DEVICE-MEMORY."""
        ...

    def pinned(self, size: int) -> Any:
        """Bytes of the host (uint8) that copies can be made from and to while it goes on."""
        ...

    def copy_in(self, address: int, source: Any, stream: Handle) -> None:
        """A contiguous array's bytes. It is read when the stream comes to it."""
        ...

    def copy_out(self, target: Any, address: int, stream: Handle) -> None: ...
    def copy(self, target: int, source: int, size: int, stream: Handle) -> None: ...
    def fill(self, address: int, size: int, byte: int, stream: Handle) -> None: ...

    # -- order
    def stream(self) -> Handle: ...
    def event(self) -> Handle: ...
    def record(self, event: Handle, stream: Handle) -> None: ...
    def wait(self, stream: Handle, event: Handle) -> None:
        """What comes on the stream later is done after what the event was last recorded behind."""
        ...

    def reached(self, event: Handle) -> bool: ...
    def attend(self, event: Handle) -> None:
        """The host waits."""
        ...

    def synchronize(self, stream: Handle) -> None: ...

    # -- code
    def load(self, body: bytes) -> Handle: ...
    def function(self, module: Handle, name: str) -> Handle: ...
    def launch(self, function: Handle, launch: Launch, stream: Handle) -> None: ...
    def prepare(self, call: LibraryCall) -> int:
        """Make a library's call ready; bytes of the workspace that it wants. Raises
        E-DEVICE-OPERATION."""
        ...

    def library(self, call: LibraryCall, workspace: int, stream: Handle) -> None: ...

    # -- graphs
    def begin_capture(self, stream: Handle) -> None:
        """From here on what goes onto the stream is kept, not done."""
        ...

    def end_capture(self, stream: Handle) -> Handle: ...
    def instantiate(self, graph: Handle) -> Handle: ...
    def launch_graph(self, graph: Handle, stream: Handle) -> None: ...
