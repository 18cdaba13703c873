"""A driver of an NVIDIA GPU, by cuda.bindings. Every answer of the driver is looked at."""

from __future__ import annotations

from typing import Any

from sexpgpu_core.diagnostics import Problem

from .bindings import described, driver_module, told, versions
from .device_memory import Blocks
from .driver import Properties
from .failures import failure, refused
from .work import Launch, LibraryCall

CUBINS = 13000
"""Cubins are assembled by CUDA 13: an older driver is given PTX."""
NAMED = 8
"""Kernels that a fault names, at most."""


class RealDriver:
    """GPU 0 of those that CUDA_VISIBLE_DEVICES leaves."""

    def __init__(self) -> None:
        self._d = driver_module()
        self._error: Problem | None = None
        self._since: dict[str, None] = {}
        self._noted = self._since
        self._closed = False
        version = versions(self._d)
        self.code = "cubin" if version >= CUBINS else "ptx"
        self._version = told(version)
        count = self._ask("counting GPUs", self._d.cuDeviceGetCount())
        if not count:
            raise refused("CUDA_ERROR_NO_DEVICE", "counting GPUs")
        self._device = self._ask("taking the GPU", self._d.cuDeviceGet(0))
        context = self._ask("taking the GPU", self._d.cuDevicePrimaryCtxRetain(self._device))
        self._do("taking the GPU", self._d.cuCtxSetCurrent(context))
        self._blocks = Blocks(self._d, self._ask)
        self._made: list[tuple[Any, Any]] = []

    # -- answers

    def _ask(self, doing: str, answer: tuple[Any, ...], **facts: Any) -> Any:
        """What the driver gave. Raises the problem of its error code."""
        result, *given = answer
        if result != self._d.CUresult.CUDA_SUCCESS:
            self._refuse(result.name, doing, facts)
        return given[0] if given else None

    _do = _ask

    def _refuse(self, name: str, doing: str, facts: dict[str, Any]) -> None:
        if self._error is not None:
            raise self._error
        sticky = failure(name).sticky
        if sticky and self._since:
            facts = {"kernel" if len(self._since) == 1 else "one_of": self._named(), **facts}
        found = refused(name, doing, **facts)
        if sticky:
            self._error = found
        raise found

    def _named(self) -> str:
        names = list(self._since)
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        return " ".join(names[:NAMED]) + more

    def last_error(self) -> Problem | None:
        return self._error

    def properties(self) -> Properties:
        found, (free, total) = described(self._d, self._device, self._ask), self._blocks.left()
        versions = (("driver", self._version),)
        return Properties(
            found.name, found.architecture, total, free, found.multiprocessors, versions
        )

    def close(self) -> None:
        """What fails on the way out is not told: the memory goes with the process."""
        if self._closed:
            return
        self._closed = True
        for give_back, handle in reversed(self._made):
            give_back(handle)
        self._blocks.close()
        self._d.cuDevicePrimaryCtxRelease(self._device)

    def _keep(self, give_back: Any, handle: Any) -> Any:
        self._made.append((give_back, handle))
        return handle

    # -- memory

    def allocate(self, size: int) -> int:
        return self._blocks.allocate(size)

    def pinned(self, size: int) -> Any:
        return self._blocks.pinned(size)

    def copy_in(self, address: int, source: Any, stream: Any) -> None:
        at = source.ctypes.data
        answer = self._d.cuMemcpyHtoDAsync(address, at, source.nbytes, stream)
        self._do("copying to the GPU", answer, bytes=source.nbytes)

    def copy_out(self, target: Any, address: int, stream: Any) -> None:
        at = target.ctypes.data
        answer = self._d.cuMemcpyDtoHAsync(at, address, target.nbytes, stream)
        self._do("copying from the GPU", answer, bytes=target.nbytes)

    def copy(self, target: int, source: int, size: int, stream: Any) -> None:
        answer = self._d.cuMemcpyDtoDAsync(target, source, size, stream)
        self._do("copying on the GPU", answer, bytes=size)

    def fill(self, address: int, size: int, byte: int, stream: Any) -> None:
        answer = self._d.cuMemsetD8Async(address, byte, size, stream)
        self._do("filling memory", answer, bytes=size)

    # -- order

    def stream(self) -> Any:
        flag = self._d.CUstream_flags.CU_STREAM_NON_BLOCKING
        made = self._ask("making a stream", self._d.cuStreamCreate(flag))
        return self._keep(self._d.cuStreamDestroy, made)

    def event(self) -> Any:
        flag = self._d.CUevent_flags.CU_EVENT_DISABLE_TIMING
        made = self._ask("making an event", self._d.cuEventCreate(flag))
        return self._keep(self._d.cuEventDestroy, made)

    def record(self, event: Any, stream: Any) -> None:
        self._do("recording an event", self._d.cuEventRecord(event, stream))

    def wait(self, stream: Any, event: Any) -> None:
        self._do("waiting for an event", self._d.cuStreamWaitEvent(stream, event, 0))

    def reached(self, event: Any) -> bool:
        answer = self._d.cuEventQuery(event)
        if answer[0] == self._d.CUresult.CUDA_ERROR_NOT_READY:
            return False
        self._do("asking for an event", answer)
        return True

    def attend(self, event: Any) -> None:
        self._do("waiting for the GPU", self._d.cuEventSynchronize(event))

    def synchronize(self, stream: Any) -> None:
        self._do("waiting for the GPU", self._d.cuStreamSynchronize(stream))
        self._since.clear()

    # -- code

    def load(self, body: bytes) -> Any:
        text = body if body.startswith(b"\x7fELF") else body + b"\0"
        made = self._d.cuLibraryLoadData(text, None, None, 0, None, None, 0)
        library = self._ask("loading a kernel", made)
        return self._keep(self._d.cuLibraryUnload, library)

    def function(self, module: Any, name: str) -> Any:
        kernel = self._ask(f"finding {name}", self._d.cuLibraryGetKernel(module, name.encode()))
        return self._ask(f"finding {name}", self._d.cuKernelGetFunction(kernel))

    def launch(self, function: Any, launch: Launch, stream: Any) -> None:
        """The driver copies the arguments before it comes back. Each is the low bytes of a word."""
        import numpy as np

        name, low = launch.unit.name, (1 << 64) - 1
        words = np.array([a & low for a in launch.arguments], np.uint64)
        places = np.arange(len(words), dtype=np.uint64) * np.uint64(8)
        places += np.uint64(words.ctypes.data)
        self._note(name)
        answer = self._d.cuLaunchKernel(
            *(function, launch.grid, 1, 1, launch.threads, 1, 1, 0, stream),
            *(places.ctypes.data, 0),
        )
        self._do(f"launching {name}", answer)

    def _note(self, name: str) -> None:
        """A kernel that a later fault may be of, or one of the graph that is being captured."""
        self._noted[name] = None

    def prepare(self, call: LibraryCall) -> int:
        call.work.prepare(self)
        return call.work.workspace_bytes

    def library(self, call: LibraryCall, workspace: int, stream: Any) -> None:
        self._note(call.name)
        call.work.run(int(stream), (*call.arguments, workspace))

    # -- graphs

    def begin_capture(self, stream: Any) -> None:
        mode = self._d.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        self._do("capturing a graph", self._d.cuStreamBeginCapture(stream, mode))
        self._noted = {}

    def end_capture(self, stream: Any) -> Any:
        names, self._noted = tuple(self._noted), self._since
        return self._ask("capturing a graph", self._d.cuStreamEndCapture(stream)), names

    def instantiate(self, graph: Any) -> Any:
        captured, names = graph
        made = self._ask("making a graph", self._d.cuGraphInstantiate(captured, 0))
        self._do("making a graph", self._d.cuGraphDestroy(captured))
        return self._keep(self._d.cuGraphExecDestroy, made), names

    def launch_graph(self, graph: Any, stream: Any) -> None:
        executable, names = graph
        self._since.update(dict.fromkeys(names))
        self._do("launching a graph", self._d.cuGraphLaunch(executable, stream))
