"""Gradients of gradients against central differences of the gradient, of every operation once."""

from __future__ import annotations

import numpy as np
import pytest
from op_cases import DIFFERENTIABLE, Case, arrays, built

from sexpgpu_core.autodiff import GradientBuilder, differentiate
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir import Graph, Value
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS

STEP = 1e-5
TOLERANCE = 2e-6
ONCE = {
    "lgamma": "digamma has no gradient",
    "ctc-loss": "alignments are counted once",
}
"""Operations whose gradient has none: E-GRADIENT says so."""
BY_DESIGN = ("mod", "rem", "straight-through")
"""Whose gradient is not the slope of the value (`test_ops_gradients`)."""


def first_of_each() -> list[Case]:
    """The smallest case of each operation that has a float operand with elements."""
    found: dict[str, Case] = {}
    for given in DIFFERENTIABLE:
        data = arrays(given)
        floats = [x for x in data.values() if x.dtype == np.float64]
        known = given.operation in found or given.operation in BY_DESIGN
        if floats and min(x.size for x in floats) and not known:
            found[given.operation] = given
    return list(found.values())


def _summed(b: GradientBuilder, values: list[Value]) -> Value:
    """A sum of squares of the values, and each weighted: no second derivative is 0 by symmetry."""
    total = None
    for i, y in enumerate(values):
        wide = b("cast", y, dtype="f64") if y.dtype != "f64" else y
        part = b("multiply", wide, b("add", wide, b.constant(0.3 + 0.2 * i, "f64")))
        part = b("reduce-sum", part, axes=tuple(range(len(y.shape))), keep=False)
        total = part if total is None else b("add", total, part)
    assert total is not None
    return total


def _at(graph: Graph, data: dict[str, np.ndarray], **results: Value) -> dict[str, np.ndarray]:
    graph.results = results
    found: dict[str, np.ndarray] = run(graph, data, OPERATIONS, f64=True)
    return found


ALL = [*first_of_each(), *[c for c in DIFFERENTIABLE if c.operation == "max-pool"][1:]]


@pytest.mark.parametrize("given", ALL, ids=lambda c: c.id)
def test_a_gradient_of_a_gradient_is_its_slope(given: Case) -> None:
    plain, inputs, results = built(given)
    b = GradientBuilder(OPERATIONS, plain.graph)
    wrt = {str(i): v for i, v in enumerate(inputs) if v.dtype == "f64"}
    loss = _summed(b, [r for r in results if r.dtype in ("f64", "f32")])
    first = differentiate(b.graph, OPERATIONS, loss, wrt, builder=b)
    gradients = {n: g for n, g in first.items() if g is not None}
    if not gradients:
        return
    gain = _summed(b, list(gradients.values()))
    if given.operation in ONCE:
        with pytest.raises(Problem, match="E-GRADIENT"):
            differentiate(b.graph, OPERATIONS, gain, wrt, builder=b)
        return
    second = differentiate(b.graph, OPERATIONS, gain, wrt, builder=b)
    data = arrays(given)
    random = np.random.default_rng(4)
    for name, value in wrt.items():
        way = random.uniform(0.5, 1.0, value.shape)
        up, down = ({**data, name: data[name] + s * STEP * way} for s in (1, -1))
        slope = _at(b.graph, up, gain=gain)["gain"] - _at(b.graph, down, gain=gain)["gain"]
        slope = float(slope) / (2 * STEP)
        g = second[name]
        got = 0.0 if g is None else float((_at(b.graph, data, g=g)["g"] * way).sum())
        size = max(1.0, abs(slope), float(np.abs(_at(b.graph, data, gain=gain)["gain"])))
        assert abs(got - slope) < TOLERANCE * size, (name, got, slope)
