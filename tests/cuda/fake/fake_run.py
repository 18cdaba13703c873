"""Scenarios of the real driver over a libcuda of the host's memory, in a process of their own:
`fake_run.py LIBRARY` prints what they found as JSON. Kernels are run by the PTX interpreter."""

from __future__ import annotations

import ctypes
import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

FAKE = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np  # noqa: E402
from test_cuda_session import LR, PERSISTENT, batch, step_graph  # noqa: E402

from sexpgpu_core.device import Unit  # noqa: E402
from sexpgpu_core.diagnostics import Problem  # noqa: E402
from sexpgpu_core.ir.ops import OPERATIONS  # noqa: E402
from sexpgpu_core.kernels.fuse import schedule  # noqa: E402
from sexpgpu_core.passes.optimize import optimize  # noqa: E402
from sexpgpu_core.plan.make import make_plan  # noqa: E402
from sexpgpu_cuda import codes, toolchain  # noqa: E402
from sexpgpu_cuda.device import EmulatedDevice  # noqa: E402
from sexpgpu_cuda.gpu import GpuDevice  # noqa: E402
from sexpgpu_cuda.memory import Arena  # noqa: E402
from sexpgpu_cuda.presence import checks, gpu, probe  # noqa: E402
from sexpgpu_cuda.ptx.launch import launch, prepare  # noqa: E402
from sexpgpu_cuda.ptx.memory import Allocation, Memory, Span  # noqa: E402
from sexpgpu_cuda.ptx.text import parse  # noqa: E402
from sexpgpu_cuda.real_driver import RealDriver  # noqa: E402
from sexpgpu_cuda.work import LibraryCall  # noqa: E402

OUT_OF_MEMORY, NO_DEVICE, ILLEGAL_ADDRESS, NO_BINARY = 2, 100, 700, 209
LAUNCHES, GRAPHS, COPIES, CAPTURED, LEFT = range(5)
TEXTS: dict[str, Any] = {}
RUN = ctypes.CFUNCTYPE(
    None, *(ctypes.c_char_p, ctypes.c_uint, ctypes.c_uint, ctypes.c_int),
    ctypes.POINTER(ctypes.c_uint64),
)  # fmt: skip


def memory() -> Memory:
    at, sizes = (ctypes.c_uint64 * 4096)(), (ctypes.c_uint64 * 4096)()
    found = []
    for k in range(FAKE.fake_blocks(at, sizes)):
        raw: Any = (ctypes.c_uint8 * sizes[k]).from_address(at[k])
        found.append(Allocation(at[k], np.frombuffer(raw, np.uint8)))
    return Memory(found, [Span(a.start, a.stop) for a in found])


@RUN
def run(name: bytes, grid: int, block: int, count: int, words: Any) -> None:
    if name in WORKS:
        return WORKS[name]()
    launch(TEXTS[name.decode()], grid, block, [words[k] for k in range(count)], memory())
    return None


WORKS: dict[bytes, Callable[[], Any]] = {}


class Region:
    """A block of the fake's, as a stand-in's arena knows one."""

    def __init__(self, of: Allocation) -> None:
        self.address, self.bytes = of.start, of.views[8]


def enqueued(driver: RealDriver, call: LibraryCall, workspace: int, stream: Any) -> None:
    """A library's call by its stand-in, when the stream or its graph comes to it."""
    name = f"work {len(WORKS)}".encode()

    def work() -> None:
        arena = Arena()
        arena.regions = [Region(a) for a in memory().allocations]  # type: ignore[misc]
        call.run(arena, *call.arguments)

    WORKS[name] = work
    FAKE.fake_work(ctypes.c_void_p(int(stream)), name)


def bodies(code: Any, kind: str, architecture: str) -> Any:
    """As the driver is given them, and kept for the interpreter. No assembler: PTX."""
    for body in BODIES(code, kind, architecture):
        name = body.unit.name
        TEXTS[name] = prepare(parse(body.body.decode())[name])
        yield body


BODIES = codes.bodies


class Product:
    """A library's product, by NumPy over the fake's memory."""

    workspace_bytes = 1000
    prepared = ran = 0

    def __init__(self, arguments: tuple[int, ...]) -> None:
        self._arguments = arguments

    def prepare(self, driver: Any) -> None:
        Product.prepared += 1

    def run(self, stream: int, pointers: Any) -> None:
        assert stream
        assert len(pointers) == len(self._arguments) + 1
        Product.ran += 1


def planned() -> Unit:
    library = EmulatedDevice().library
    small, _ = optimize(step_graph(), OPERATIONS, library)
    return Unit("step", small, make_plan("step", schedule(small, OPERATIONS, library), PERSISTENT))


def refused(work: Callable[[], Any]) -> dict[str, Any]:
    try:
        work()
    except Problem as found:
        d = found.diagnostic
        return {"code": d.code, "message": d.message, "hint": d.hint}
    return {}


def opened(device: Any) -> Any:
    own = RealDriver.prepare, RealDriver.library
    RealDriver.prepare, RealDriver.library = (lambda driver, call: 0), enqueued  # type: ignore
    try:
        session = device.open([planned()], PERSISTENT)
    finally:
        RealDriver.prepare, RealDriver.library = own  # type: ignore[method-assign]
    rng = np.random.default_rng(1)
    for name, (_, shape) in PERSISTENT.types.items():
        session.write(name, rng.standard_normal(shape).astype("f4"))
    return session


def steps(session: Any) -> list[str]:
    """Bits of three losses and of what they leave."""
    rng = np.random.default_rng(2)
    flying = [session.program("step").launch(batch(rng), {LR: 0.1}) for _ in range(3)]
    found = [f.outcome().results["loss"].tobytes().hex() for f in flying]
    return found + [session.read(n).tobytes().hex() for n in PERSISTENT.types]


def training() -> dict[str, Any]:
    real, emulated = opened(GpuDevice()), opened(EmulatedDevice())
    before = [FAKE.fake_count(k) for k in range(5)]
    found, wanted = steps(real), steps(emulated)
    graphs, captured = FAKE.fake_count(GRAPHS) - before[GRAPHS], before[CAPTURED]
    error = real.driver.last_error()
    real.close()
    real.close()
    return {
        "same": found == wanted, "graphs": graphs, "captured": captured,
        "error": error is not None, "left": FAKE.fake_count(LEFT),
    }  # fmt: skip


def memory_is_full() -> dict[str, Any]:
    driver = RealDriver()
    FAKE.fake_limit(ctypes.c_size_t(10_000_000))
    found = refused(lambda: driver.allocate(20_000_000))
    small = [driver.allocate(100) for _ in range(3)]
    apart = sorted(b - a for a, b in itertools.pairwise(small))
    FAKE.fake_limit(ctypes.c_size_t(1 << 32))
    driver.close()
    return {**found, "apart": apart}


def a_fault() -> dict[str, Any]:
    session = opened(GpuDevice())
    program = session.program("step")
    flight = program.launch(batch(np.random.default_rng(0)), {LR: 0.1})
    FAKE.fake_fault(ILLEGAL_ADDRESS)
    first = refused(flight.outcome)
    again = refused(lambda: session.read("parameter:w"))
    last = session.driver.last_error()
    FAKE.fake_fault(0)
    session.close()
    names = [r.unit.name for r in program.records if hasattr(r, "unit")]
    named = any(n in first["message"] for n in names)
    return {**first, "named": named, "again": again == first, "last": last is not None}


def one_by_one() -> dict[str, Any]:
    driver = RealDriver()
    stream = driver.stream()
    record = LibraryCall("product", print, (1, 2), (), Product((1, 2)))
    wanted = driver.prepare(record)
    driver.library(record, 4096, stream)
    FAKE.fake_fault(ILLEGAL_ADDRESS)
    found = refused(lambda: driver.synchronize(stream))
    FAKE.fake_fault(0)
    driver.close()
    return {**found, "wanted": wanted, "ran": Product.ran}


def absences() -> dict[str, Any]:
    found = {}
    for name, (version, count) in {"old": (11040, 1), "none": (13000, 0)}.items():
        FAKE.fake_machine(version, count)
        found[name] = refused(RealDriver)
    FAKE.fake_machine(12040, 1)
    found["ptx"] = {"code": RealDriver().code}
    FAKE.fake_machine(13000, 1)
    FAKE.fake_fail(b"cuInit", NO_DEVICE, 0)
    found["hidden"] = refused(RealDriver)
    FAKE.fake_fail(b"cuLibraryLoadData", NO_BINARY, 0)
    found["binary"] = refused(lambda: opened(GpuDevice()))
    return found


def seen() -> dict[str, Any]:
    return {
        "gpu": gpu()._asdict(), "probe": probe(), "facts": GpuDevice().probe().present,
        "key": sorted(GpuDevice().numerics()), "checks": list(checks()),
    }  # fmt: skip


def main() -> None:
    FAKE.fake_run(run)
    codes.bodies = bodies
    toolchain.found = lambda tool: None
    rows = (seen, training, memory_is_full, a_fault, one_by_one, absences)
    json.dump({row.__name__: row() for row in rows}, sys.stdout)


main()
