"""Graphs on the emulated device, every byte watched, beside the references of their operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from sexpgpu_core.device import Outcome, Unit
from sexpgpu_core.ir import Builder, Graph, Value
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_core.kernels.fuse import schedule
from sexpgpu_core.passes.optimize import optimize
from sexpgpu_core.plan.make import layout_persistent, make_plan
from sexpgpu_core.plan.plan import Persistent
from sexpgpu_cuda.device import EmulatedDevice
from sexpgpu_cuda.emulated_driver import EmulatedDriver
from sexpgpu_cuda.session import CudaSession, Ways
from sexpgpu_cuda.work import Launch

NOTHING = layout_persistent({})
TOLERANCE = {"f32": 3e-6, "f64": 1e-13, "bf16": 1.6e-2, "f16": 2e-3}
Make = Callable[..., "Value | dict[str, Value]"]


def graph_of(make: Make, **inputs: Any) -> Graph:
    """A graph of what `make` gives of a builder and its inputs; `r` where it is one value."""
    b = Builder(OPERATIONS)
    given = {k: b.input(k, "batch", dtype_name(v), v.shape) for k, v in inputs.items()}
    made = make(b, **given)
    b.graph.results = made if isinstance(made, dict) else {"r": made}
    return b.graph


def dtype_name(array: Any) -> str:
    if array.dtype.name == "bfloat16":
        return "bf16"
    return "bool" if array.dtype.kind == "b" else f"{array.dtype.kind}{8 * array.dtype.itemsize}"


def planned(graph: Graph, persistent: Persistent = NOTHING) -> Unit:
    device = EmulatedDevice()
    small, _ = optimize(graph, OPERATIONS, device.library)
    plan = make_plan(
        "step", schedule(small, OPERATIONS, device.library, cells=device.cells), persistent
    )
    return Unit("step", small, plan)


def opened(unit: Unit, persistent: Persistent = NOTHING, races: bool = True) -> CudaSession:
    """`races`: as with SEXPGPU_CHECK=1."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEXPGPU_CHECK", "1" if races else "0")
        return EmulatedDevice().open([unit], persistent)


def opened_so(unit: Unit, persistent: Persistent, ways: Ways) -> CudaSession:
    return CudaSession([unit], persistent, EmulatedDriver(), ways)


def launched(graph: Graph, inputs: Mapping[str, Any]) -> Outcome:
    session = opened(planned(graph))
    scalars = {n.get("name"): 0.5 for n in graph.inputs() if n.get("kind") == "scalar"}
    return session.program("step").launch(inputs, scalars).outcome()


def check(make: Make, tolerance: float = 0.0, **inputs: Any) -> dict[str, Any]:
    """The device's results, which agree with the references'. A tolerance of 0 is the dtype's."""
    graph = graph_of(make, **inputs)
    outcome = launched(graph, inputs)
    assert outcome.error is None
    wanted = run(graph, inputs, OPERATIONS)
    for name, value in wanted.items():
        found = outcome.results[name]
        assert found.dtype == value.dtype
        assert found.shape == value.shape
        if value.dtype.kind in "iub":
            np.testing.assert_array_equal(found, value)
            continue
        allowed = tolerance or TOLERANCE[dtype_name(value)]
        a, b = found.astype("f8"), value.astype("f8")
        finite = np.abs(b[np.isfinite(b)])
        scale = float(finite.max()) if finite.size else 1.0
        np.testing.assert_allclose(a, b, rtol=allowed, atol=allowed * max(scale, 1e-30))
    return outcome.results


def ended(dtype: str) -> tuple[Make, dict[str, Any]]:
    """Products with each of their ends, and inputs."""
    shapes = {"x": (2, 5, 16), "y": (16, 24), "bias": (24,), "g": (2, 5, 8), "w": (24, 8)}

    def make(b: Builder, x: Value, y: Value, bias: Value, g: Value, w: Value) -> dict[str, Value]:
        out, given = b.several("matmul-gelu", x, y, bias)
        slope = b("matmul-gelu-slope", g, w, given, **{"transpose-y": True})
        return {"sum": b("matmul-bias", x, y, bias), "out": out, "given": given, "slope": slope}

    return make, {n: normal(s, dtype, i) for i, (n, s) in enumerate(shapes.items())}


def launches(graph: Graph) -> list[Launch]:
    """The kernels that a graph becomes."""
    program = opened(planned(graph)).program("step")
    return [r for r in program.records if isinstance(r, Launch)]


def normal(shape: tuple[int, ...], dtype: str = "f32", seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(numpy_dtype(dtype))


def integers(high: int, shape: tuple[int, ...], dtype: str = "i32", seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, high, shape).astype(numpy_dtype(dtype))
