"""What a run takes of a device's memory, by what takes it, before anything is allocated (45.33)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sexpgpu_core.device import Unit
from sexpgpu_core.diagnostics import problem
from sexpgpu_core.kernels.kernel import NodeCall
from sexpgpu_core.plan.plan import Persistent, Plan, Region

from . import attention, libraries, products
from .program import IN_FLIGHT
from .rooms import CHUNK
from .tuning import WORKSPACE

LIBRARIES = 512 << 20
"""Bytes of cuBLASLt's and cuDNN's handles and of the kernels that they load, on a GPU: from
knowledge, not measured."""
WORDS = 16
"""Of scalars and of an error, a call: more than any takes."""
KEYS = 128
"""Keys whose sums are apart in the backward pass of attention, as cuDNN 9.19 builds its plans."""
CALLED = frozenset((*products.ROWS, *attention.ROWS, *libraries.ROWS, "scan", "while"))
"""Operations that a library may do, and loops, whose bodies may have them."""


class Footprint(NamedTuple):
    """Bytes. `staging`: of batches that are on their way; `words`: of scalars and errors."""

    persistent: int
    transient: int
    input: int
    staging: int
    output: int
    words: int
    workspace: int
    libraries: int

    @property
    def total(self) -> int:
        return sum(self)


def footprint(units: Iterable[Unit], persistent: Persistent, on_gpu: bool) -> Footprint:
    """Of a session with these programs. `on_gpu`: libraries are NVIDIA's, not stand-ins."""
    plans = [u.plan for u in units if u.plan is not None]

    def of(region: Region) -> list[int]:
        return [p.bytes.get(region, 0) for p in plans]

    given = sum(of(Region.INPUT))
    workspace = max(map(workspace_of, plans), default=0) if on_gpu else 0
    return Footprint(
        persistent.bytes,
        max(of(Region.TRANSIENT), default=0),
        given,
        IN_FLIGHT * given,
        sum(of(Region.OUTPUT)),
        sum(of(Region.SCALAR)) + sum(8 * (CHUNK + WORDS * len(p.calls)) for p in plans),
        workspace,
        LIBRARIES if workspace else 0,
    )


def workspace_of(plan: Plan) -> int:
    """Bytes that libraries are given to work in, at most; 0 where none is called."""
    called = [c for c in plan.calls if isinstance(c, NodeCall) and c.node.operation in CALLED]
    wanted = (_backward(c) for c in called if c.node.operation == "attention-backward")
    return max([WORKSPACE, *wanted]) if called else 0


def _backward(call: NodeCall) -> int:
    """A sum in f32 of the queries' gradient for every 128 keys, and a row of logarithms."""
    queries, keys = call.inputs[1].shape, call.inputs[2].shape
    batch, rows, heads, size = queries
    each = 4 * batch * rows * heads
    return each * (size * -(-keys[1] // KEYS) + 1) + 256


def refuse_memory(needed: Footprint, there: int, told: str) -> None:
    """Raises E-DEVICE-MEMORY where a run needs more than `there` is; 0 where nothing says."""
    if there and needed.total > there:
        parts = sorted(needed._asdict().items(), key=lambda part: -part[1])
        most = ", ".join(f"{name} {size / 1e9:.1f}" for name, size in parts[:3] if size)
        raise problem(
            "E-DEVICE-MEMORY",
            f"the run needs {needed.total / 1e9:.1f} GB ({most}), {told} {there / 1e9:.1f} GB",
            needed=needed.total,
            available=there,
        )
