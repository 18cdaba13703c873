"""The interpreter: bodies, f64, what it needs."""

from __future__ import annotations

import numpy as np
import pytest

from sexpgpu_core.ir import Builder
from sexpgpu_core.ir.hash import graph_hash
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.ops.update import apply_body, inline
from sexpgpu_core.ir.verify import verify


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
    b.graph.results = apply_body(b, graph_hash(body, OPERATIONS), body, operands)
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


def test_an_input_that_is_missing_is_a_key_error() -> None:
    b, operands = _outer()
    b.graph.results["s"] = operands["p"]
    with pytest.raises(KeyError):
        run(b.graph, {}, OPERATIONS)
