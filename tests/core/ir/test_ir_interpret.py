"""The interpreter: bodies, f64, what it needs."""

from __future__ import annotations

import numpy as np
import pytest

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir import Builder, Origin
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.ops.update import apply_body, body_of, inline
from sexpgpu_core.ir.verify import verify
from sexpgpu_core.spans import Source, Span


def _body():
    b = Builder(OPERATIONS)
    p, g = (b.input(n, "parameter", "f32", (3,)) for n in ("p", "g"))
    rate = b.input("rate", "scalar", "f32", ())
    b.graph.results["p"] = b("subtract", p, b("multiply", rate, g))
    b.graph.results["g"] = b("square", g)
    return b.graph


def _outer():
    b = Builder(OPERATIONS)
    x, y = (b.input(n, "batch", "f32", (3,)) for n in ("x", "y"))
    return b, {"p": x, "g": y, "rate": b.input("r", "scalar", "f32", ())}


GIVEN = {"x": np.arange(3.0), "y": np.ones(3), "r": np.float32(0.5)}


def test_an_update_is_its_body() -> None:
    body = _body()
    b, operands = _outer()
    b.graph.results = apply_body(b, body_of(body, OPERATIONS), operands)
    verify(b.graph, OPERATIONS)
    found = run(b.graph, GIVEN, OPERATIONS)
    assert found["p"].tolist() == [-0.5, 0.5, 1.5]
    assert found["g"].tolist() == [1.0, 1.0, 1.0]


def test_a_body_put_inline_gives_the_same() -> None:
    b, operands = _outer()
    b.graph.results = inline(b, _body(), operands)
    assert run(b.graph, GIVEN, OPERATIONS)["p"].tolist() == [-0.5, 0.5, 1.5]


def test_f64_computes_every_float_in_f64() -> None:
    b, operands = _outer()
    b.graph.results["s"] = b("cast", b("softplus", operands["p"]), dtype="bf16")
    found = run(b.graph, GIVEN, OPERATIONS, f64=True)["s"]
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, np.log1p(np.exp(GIVEN["x"])), rtol=1e-15)


def test_only_what_results_need_is_computed() -> None:
    b, operands = _outer()
    b("gather", operands["p"], b.constant(9, "i32", (1,)), axis=0)
    b.graph.results["s"] = operands["p"]
    assert run(b.graph, GIVEN, OPERATIONS)["s"].tolist() == [0.0, 1.0, 2.0]


def test_results_are_the_callers_own() -> None:
    b, operands = _outer()
    b.graph.results["s"] = b("reshape", operands["p"], shape=(1, 3))
    given = {"x": np.arange(3, dtype=np.float32)}
    run(b.graph, given, OPERATIONS)["s"][0, 0] = 9
    assert given["x"][0] == 0


def test_an_input_of_another_shape_is_refused() -> None:
    b, operands = _outer()
    b.graph.results["s"] = operands["p"]
    with pytest.raises(ValueError, match="input x"):
        run(b.graph, {"x": np.zeros((1, 3))}, OPERATIONS)
    assert run(b.graph, {"x": 2.0}, OPERATIONS)["s"].tolist() == [2.0, 2.0, 2.0]


def test_a_fault_of_the_data_is_placed() -> None:
    place = Span(Source("a.lisp", "(gather x i)"), 0, 12)
    b = Builder(OPERATIONS, origin=lambda node: Origin(place, "gpt"))
    x, i = b.input("x", "batch", "f32", (3,)), b.input("i", "batch", "i32", (1,))
    b.graph.results["s"] = b("gather", x, i, axis=0)
    with pytest.raises(Problem, match="gather: index 7 of an axis with size 3") as caught:
        run(b.graph, {"x": np.zeros(3), "i": np.array([7])}, OPERATIONS)
    assert (caught.value.diagnostic.span, caught.value.diagnostic.scope) == (place, "gpt")


def test_an_input_that_is_missing_is_a_key_error() -> None:
    b, operands = _outer()
    b.graph.results["s"] = operands["p"]
    with pytest.raises(KeyError):
        run(b.graph, {}, OPERATIONS)
