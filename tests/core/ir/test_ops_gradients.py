"""Every gradient rule against central differences in f64, also of its own gradient's graph."""

from __future__ import annotations

import numpy as np
import pytest
from op_cases import DIFFERENTIABLE, Case, arrays, built

from sexpgpu_core.autodiff import differentiate
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS

STEP = 1e-5


def _loss(given: Case):
    """Sum of the float results, each element weighted by its own number."""
    b, inputs, results = built(given)
    total = None
    for i, y in enumerate(r for r in results if r.dtype in ("f64", "f32")):
        weight = b.input(f"w{i}", "batch", y.dtype, y.shape)
        product = b("multiply", y, weight)
        part = b("reduce-sum", product, axes=tuple(range(len(y.shape))), keep=False)
        part = b("cast", part, dtype="f64") if part.dtype != "f64" else part
        total = part if total is None else b("add", total, part)
    return b, inputs, total


def _given(b, given: Case) -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    found = arrays(given)
    for node in b.graph.inputs():
        name = node.get("name")
        if name.startswith("w"):
            found[name] = random.uniform(0.5, 1.5, node.types[0].shape)
    return found


def _difference(graph, data, name: str) -> np.ndarray:
    def at(x: np.ndarray) -> float:
        return float(run(graph, {**data, name: x}, OPERATIONS, f64=True)["loss"])

    base = data[name]
    slope = np.zeros(base.shape)
    for i in np.ndindex(base.shape):
        up, down = base.copy(), base.copy()
        up[i] += STEP
        down[i] -= STEP
        slope[i] = (at(up) - at(down)) / (2 * STEP)
    return slope


@pytest.mark.parametrize("given", DIFFERENTIABLE, ids=lambda c: c.id)
def test_gradient_is_the_slope_of_the_reference(given: Case) -> None:
    b, inputs, loss = _loss(given)
    graph = b.graph
    graph.results["loss"] = loss
    wrt = {str(i): v for i, v in enumerate(inputs) if v.dtype == "f64"}
    found = differentiate(graph, OPERATIONS, loss, wrt)
    data = _given(b, given)
    forward = {"loss": loss}
    for name, g in found.items():
        if name == "0" and given.operation == "straight-through":
            assert g is None
            continue
        if name == "1" and given.operation in ("mod", "rem"):
            continue
        graph.results = forward
        slope = _difference(graph, data, name)
        if given.operation == "straight-through":
            slope = _given(b, given)["w0"]
        got = np.zeros(slope.shape)
        if g is not None:
            assert g.type == wrt[name].type
            graph.results = {"g": g}
            got = run(graph, data, OPERATIONS, f64=True)["g"]
        np.testing.assert_allclose(got, slope, rtol=2e-6, atol=2e-6)
