"""16 bits: the device rounds where the graph has a node, to the bits of the reference (45.10)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sexpgpu_core.autodiff import differentiate
from sexpgpu_core.ir import Builder, Graph, Value
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_cpu.device import CpuDevice
from sexpgpu_cpu.reference import ReferenceDevice

sys.path.insert(0, str(Path(__file__).parents[1] / "graphs"))
from both_devices import launched

Make = Callable[[Builder, Value, Value], Value]


def product(b: Builder, x: Value, y: Value) -> Value:
    return b("matmul", x, y, **{"transpose-y": True})


def half(b: Builder, x: Value) -> Value:
    return b("cast", x, dtype="f16")


MAKERS: dict[str, Make] = {
    "a product": product,
    "products in a row": lambda b, x, y: product(b, product(b, x, y), product(b, y, x)),
    "a product and a residual": lambda b, x, y: b("add", product(b, x, y), b("slice", x, **HEAD)),
    "a product and a number": lambda b, x, y: b("multiply", product(b, x, y), b.like(0.1, x)),
    "elementwise between products": lambda b, x, y: product(
        b, b("maximum", product(b, x, y), b.like(0.0, x)), b("square", product(b, y, x))
    ),
    "a quotient of products": lambda b, x, y: b("divide", product(b, x, y), product(b, y, y)),
    "moves between products": lambda b, x, y: product(
        b, b("permute", product(b, x, y), axes=(1, 0)), b("flip", product(b, x, y), axes=(0,))
    ),
    "a sum": lambda b, x, y: b("reduce-sum", product(b, x, y), axes=(1,), keep=False),
    "casts of the file": lambda b, x, y: b(
        "add", half(b, product(b, x, y)), half(b, b("slice", y, **HEAD))
    ),
}  # fmt: skip
HEAD: dict[str, Any] = {"starts": (0, 0), "stops": (5, 5), "steps": (1, 1)}


def whole_numbers() -> dict[str, np.ndarray]:
    """So small that sums of products are exact in whatever order."""
    chance = np.random.default_rng(0)
    return {n: chance.integers(-8, 9, (5, 16)).astype("f4") for n in "xy"}


def graph_of(make: Make, gradients: bool = False) -> Graph:
    b = Builder(OPERATIONS)
    x, y = (b.input(n, "batch", "f32", (5, 16)) for n in "xy")
    out = make(b, x, y)
    results = {"r": out}
    if gradients:
        wide = b("cast", out, dtype="f32")
        total = b("reduce-sum", wide, axes=tuple(range(len(wide.shape))), keep=False)
        found = differentiate(b.graph, OPERATIONS, total, {"x": x, "y": y})
        results.update({f"gradient:{n}": g for n, g in found.items() if g is not None})
    b.graph.results = results
    return b.graph


@pytest.mark.parametrize("policy", ["bf16", "f16"])
@pytest.mark.parametrize("what", MAKERS)
def test_rounding_is_the_references_to_the_bit(what: str, policy: str) -> None:
    graph, data = graph_of(MAKERS[what]), whole_numbers()
    ours, plain = (
        launched(device, graph, data, policy, 2) for device in (CpuDevice(), ReferenceDevice())
    )
    for name, wanted in plain.items():
        assert np.isfinite(wanted.astype("f4")).any()
        np.testing.assert_array_equal(ours[name], wanted)


@pytest.mark.parametrize("policy", ["bf16", "f16"])
def test_gradients_are_rounded_alike(policy: str) -> None:
    graph, data = graph_of(MAKERS["elementwise between products"], gradients=True), whole_numbers()
    data = {n: np.sign(x) for n, x in data.items()}
    ours, plain = (
        launched(device, graph, data, policy, 1) for device in (CpuDevice(), ReferenceDevice())
    )
    assert set(plain) == {"r", "gradient:x", "gradient:y"}
    for name, wanted in plain.items():
        np.testing.assert_array_equal(ours[name], wanted)
