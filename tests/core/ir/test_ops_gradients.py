"""Every gradient rule against central differences in f64, at five shapes or more."""

from __future__ import annotations

import numpy as np
import pytest
from op_cases import Case, arrays, built
from op_shape_cases import LEAST, asked, every_shape, shapes_of

from sexpgpu_core.autodiff import differentiate
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS

STEP = 1e-5
TOLERANCE = 1e-6
"""Relative to the greatest slope, as a difference of f64 numbers can be told from it."""
WITHOUT: dict[str, tuple[int, ...]] = {
    "straight-through": (0,),
    "mod": (1,),
    "rem": (1,),
    "cross-entropy": (1,),
}
"""Operands that have no gradient by the operation's contract."""


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


def _wanted(given: Case, graph, data, name: str) -> np.ndarray:
    """The slope; of the two operations whose gradient is not it by design, what they promise."""
    if given.operation == "straight-through":
        return data["w0"]
    slope = _difference(graph, data, name)
    return slope * given.attributes["factor"] if given.operation == "gradient-scale" else slope


ALL = every_shape()


@pytest.mark.parametrize("given", ALL, ids=lambda c: c.id)
def test_gradient_is_the_slope_of_the_reference(given: Case) -> None:
    b, inputs, loss = _loss(given)
    graph = b.graph
    graph.results["loss"] = loss
    wrt = {str(i): v for i, v in enumerate(inputs) if v.dtype == "f64"}
    found = differentiate(graph, OPERATIONS, loss, wrt)
    data = _given(b, given)
    for name, g in found.items():
        if int(name) in WITHOUT.get(given.operation, ()):
            assert g is None
            continue
        graph.results = {"loss": loss}
        slope = _wanted(given, graph, data, name)
        got = np.zeros(slope.shape)
        if g is not None:
            assert g.type == wrt[name].type
            graph.results = {"g": g}
            got = run(graph, data, OPERATIONS, f64=True)["g"]
        scale = max(1.0, float(np.abs(slope).max(initial=0.0)))
        np.testing.assert_allclose(got, slope, rtol=TOLERANCE, atol=TOLERANCE * scale)


def test_every_differentiable_operation_is_measured_at_five_shapes_or_more() -> None:
    shapes = shapes_of(ALL)
    assert {n: len(shapes.get(n, ())) for n in asked() if len(shapes.get(n, ())) < LEAST} == {}


@pytest.mark.parametrize(
    "kind",
    [lambda n: n == 0, lambda n: n == 1, lambda n: n > 1 and n % 2 == 1],
    ids=["empty", "of-size-1", "odd"],
)
def test_axes_of_every_kind_are_among_the_shapes(kind) -> None:
    shapes = shapes_of(ALL)
    seen = {n for n, found in shapes.items() if any(kind(x) for s in found for t in s for x in t)}
    assert sorted(set(asked()) - seen) == []
