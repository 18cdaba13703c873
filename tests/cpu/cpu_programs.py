"""Plans for single nodes, so that calls can be tested without fusion."""

from __future__ import annotations

from typing import Any

import numpy as np

from sexpgpu_core.device import Outcome, Unit
from sexpgpu_core.ir import Builder, Type
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_core.kernels.kernel import NodeCall, Schedule, Storage, View
from sexpgpu_core.plan.make import layout_persistent, make_plan
from sexpgpu_cpu.calls.frame import row_major
from sexpgpu_cpu.session import CpuSession


def one_node(operation: str, types: list[Type], **attributes: Any) -> tuple[Schedule, Any]:
    """A schedule with one call on batch inputs "0", "1", ...; and the node."""
    b = Builder(OPERATIONS)
    operands = [b.input(str(i), "batch", t.dtype, t.shape) for i, t in enumerate(types)]
    node = b.node(operation, tuple(operands), attributes)
    storages = [Storage(i, t, "batch", str(i)) for i, t in enumerate(types)]
    storages += [Storage(len(types) + i, t, "temp") for i, t in enumerate(node.types)]
    views = [View(s.id, s.type.dtype, s.type.shape, row_major(s.type.shape)) for s in storages]
    inputs, outputs = tuple(views[: len(types)]), tuple(views[len(types) :])
    results = {str(i): v for i, v in enumerate(outputs)}
    return Schedule(storages, [NodeCall(node, inputs, outputs)], 1, results), node


def run_node(
    operation: str, arrays: list[Any], threads: int = 1, **attributes: Any
) -> tuple[list[Any], Outcome]:
    """Results of one node on the CPU device."""
    types = [Type(dtype_name(a.dtype), a.shape) for a in arrays]
    schedule, node = one_node(operation, types, **attributes)
    return run_schedule(schedule, arrays, threads), node


def run_schedule(schedule: Schedule, arrays: list[Any], threads: int = 1) -> Outcome:
    persistent = layout_persistent({})
    plan = make_plan("test", schedule, persistent)
    session = CpuSession([Unit("test", None, plan)], persistent, threads)  # type: ignore[arg-type]
    try:
        batch = {str(i): a for i, a in enumerate(arrays)}
        return session.program("test").launch(batch, {}).outcome()
    finally:
        session.close()


def reference(operation: str, arrays: list[Any], node: Any) -> tuple[Any, ...]:
    return OPERATIONS[operation].reference(tuple(arrays), dict(node.attributes), node.types)


def check(
    operation: str, arrays: list[Any], tolerance: float = 2e-6, threads: int = 1, **attributes: Any
) -> Outcome:
    """The device agrees with the reference."""
    outcome, node = run_node(operation, arrays, threads, **attributes)
    wanted = reference(operation, arrays, node)
    for i, value in enumerate(wanted):
        found = outcome.results[str(i)]
        assert found.dtype == value.dtype
        assert found.shape == value.shape
        if value.dtype.kind in "iub":
            np.testing.assert_array_equal(found, value)
        else:
            a, b = found.astype("f8"), value.astype("f8")
            finite = np.abs(b[np.isfinite(b)])
            scale = float(finite.max()) if finite.size else 1.0
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(scale, 1e-30))
    return outcome


def dtype_name(dtype: Any) -> str:
    if dtype.name == "bfloat16":
        return "bf16"
    if dtype.kind == "b":
        return "bool"
    return f"{dtype.kind}{8 * dtype.itemsize}"


def array(rng: Any, shape: tuple[int, ...], dtype: str = "f32") -> Any:
    """Normal floats; small integers."""
    if dtype[0] in "iu":
        return rng.integers(0, 50, shape).astype(numpy_dtype(dtype))
    return rng.standard_normal(shape).astype(numpy_dtype(dtype))
