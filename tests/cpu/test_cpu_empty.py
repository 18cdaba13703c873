"""Values of no elements: nothing is written of them, and products and sums over none are zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cpu_programs import run_schedule

from sexpgpu_core.autodiff import differentiate
from sexpgpu_core.ir import Builder
from sexpgpu_core.ir.interpret import run as interpret
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.kernels.fuse import schedule
from sexpgpu_core.passes.optimize import optimize
from sexpgpu_cpu.device import CpuDevice

AT = {"strides": (2,), "dilations": (1,), "padding": ((1, 1),), "groups": 1}
CASES: list[tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ("matmul", (0, 4), (4, 2), {}),
    ("matmul", (3, 0), (0, 2), {}),
    ("matmul", (3, 4), (4, 0), {}),
    ("matmul", (2, 3, 0), (0, 2), {}),
    ("matmul", (0, 3), (0, 2), {"transpose-x": True}),
    ("gather", (5, 3), (0,), {"axis": 0}),
    ("gather", (5, 3), (2, 0), {"axis": 1}),
    ("take-along", (3, 4), (3, 0), {"axis": 1}),
    ("conv", (0, 5, 2), (3, 2, 3), AT),
    ("conv", (2, 5, 0), (3, 0, 3), AT),
    ("conv", (2, 5, 2), (3, 2, 0), AT),
]


@pytest.mark.parametrize("tuned", [False, True], ids=["traced", "optimized"])
@pytest.mark.parametrize(("operation", "x", "y", "attributes"), CASES)
def test_an_operation_of_none_and_its_gradient_are_the_reference(
    operation: str,
    x: tuple[int, ...],
    y: tuple[int, ...],
    attributes: dict[str, Any],
    tuned: bool,
) -> None:
    b = Builder(OPERATIONS)
    second = "f32" if operation in ("matmul", "conv") else "i32"
    left, right = b.input("0", "batch", "f32", x), b.input("1", "batch", second, y)
    computed = b("tanh", left)  # stored, and written by no call where it is empty
    out = b(operation, computed, right, **attributes)
    wrt = {"0": left, "1": right} if second == "f32" else {"0": left}
    found = differentiate(b.graph, OPERATIONS, out, wrt)
    b.graph.results = {"out": out, "used": b("exp", out)}
    b.graph.results.update({f"gradient:{n}": g for n, g in found.items() if g is not None})
    library = CpuDevice().library
    graph = optimize(b.graph, OPERATIONS, library)[0] if tuned else b.graph
    arrays = [np.full(x, 0.5, np.float32), np.ones(y, np.float32 if second == "f32" else np.int32)]
    want = interpret(graph, dict(zip("01", arrays)), OPERATIONS)
    got = run_schedule(schedule(graph, OPERATIONS, library), arrays).results
    for name, expected in want.items():
        assert got[name].shape == expected.shape
        np.testing.assert_allclose(got[name], expected, 1e-6, 1e-6, err_msg=name)
