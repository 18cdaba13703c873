"""Products that end with a bias, GELU or its slope on the emulated device: beside their expansion,
out of graphs in 16 bits, and never where numbers or sizes forbid it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cuda_programs import ended, graph_of, launched, normal, planned

from sexpgpu_core.autodiff import differentiate
from sexpgpu_core.ir import Builder, Graph, Value
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.passes.calls import bias_refusal, gelu_refusal, library_calls
from sexpgpu_core.passes.optimize import optimize
from sexpgpu_cuda.device import EmulatedDevice

ALLOWED = {"f32": 3e-6, "bf16": 8e-3, "f16": 1e-3}


@pytest.mark.parametrize("dtype", list(ALLOWED))
def test_products_with_epilogues_are_their_expansions(dtype: str) -> None:
    make, inputs = ended(dtype)
    graph = graph_of(make, **inputs)
    wanted, found = run(graph, inputs, OPERATIONS), launched(graph, inputs).results
    for name, value in wanted.items():
        scale, allowed = float(np.abs(value.astype("f8")).max()), ALLOWED[dtype]
        np.testing.assert_allclose(
            found[name].astype("f8"), value.astype("f8"), rtol=allowed, atol=allowed * scale
        )


def feed_forward(approximate: str = "tanh", k: int = 8, n: int = 16) -> Graph:
    """x -> down(gelu(up(x) + bias)), summed."""
    b = Builder(OPERATIONS)
    x, up, down = (
        b.input(name, "parameter", "f32", shape)
        for name, shape in (("x", (2, 4, k)), ("up", (k, n)), ("down", (n, k)))
    )
    bias = b.input("bias", "parameter", "f32", (n,))
    h = b("gelu", b("add", b("matmul", x, up), bias), approximate=approximate)
    y = b("matmul", h, down)
    b.graph.results = {"loss": b("reduce-sum", b("square", y), axes=(0, 1, 2))}
    return b.graph


def gradients(graph: Graph) -> Graph:
    values = {n.get("name"): Value(n) for n in graph.inputs()}
    found = differentiate(graph, OPERATIONS, graph.results["loss"], values)
    graph.results = {n: v for n, v in found.items() if v is not None}
    return graph


def operations(graph: Graph) -> list[str]:
    live = graph.live()
    return sorted(n.operation for n in graph.nodes if n.id in live and "matmul" in n.operation)


def test_gradients_through_epilogues_are_those_of_the_file() -> None:
    plain, called = feed_forward(), feed_forward()
    called = gradients(library_calls(called, OPERATIONS, EmulatedDevice().library, "bf16"))
    assert operations(called) == [
        *("matmul", "matmul", "matmul", "matmul", "matmul-gelu", "matmul-gelu-slope")
    ]
    plain = gradients(plain)
    shapes = {n.get("name"): n.types[0].shape for n in plain.inputs()}
    inputs = {n: normal(s, seed=i) for i, (n, s) in enumerate(shapes.items())}
    wanted, found = run(plain, inputs, OPERATIONS), run(called, inputs, OPERATIONS)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=2e-5, atol=2e-5)


def test_in_f32_nothing_ends_with_an_epilogue() -> None:
    graph = library_calls(feed_forward(), OPERATIONS, EmulatedDevice().library, "f32")
    assert operations(graph) == ["matmul", "matmul"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, None),
        ({"approximate": "none"}, "a library's GELU is the tanh form"),
        ({"n": 12}, "its sizes are no multiples of 8"),
    ],
)
def test_a_gelu_that_no_library_takes_is_refused_with_the_reason(
    given: dict[str, Any], why: str | None
) -> None:
    (node,) = (n for n in feed_forward(**given).nodes if n.operation == "gelu")
    assert gelu_refusal(node, "bf16") == why


def test_a_sum_that_is_used_beside_gelu_is_no_end_of_a_product() -> None:
    graph = feed_forward()
    (gelu,) = (n for n in graph.nodes if n.operation == "gelu")
    b = Builder(OPERATIONS, graph)
    more = b("reduce-sum", gelu.operands[0], axes=(0, 1, 2))
    graph.results["loss"] = b("add", graph.results["loss"], more)
    graph = library_calls(graph, OPERATIONS, EmulatedDevice().library, "bf16")
    assert operations(graph) == ["matmul", "matmul-bias"]


def test_a_vector_beside_rows_is_a_bias_and_a_matrix_is_none() -> None:
    b = Builder(OPERATIONS)
    x, y = b.input("x", "batch", "f32", (8, 8)), b.input("y", "batch", "f32", (8, 8))
    vector = b.input("v", "batch", "f32", (8,))
    product = b("matmul", x, y)
    assert bias_refusal(b("add", vector, product).node, "bf16") is None
    assert bias_refusal(b("add", product, y).node, "bf16") == "it is no product and a bias"


def test_attentions_cotangents_are_written_where_they_lie_side_by_side() -> None:
    b = Builder(OPERATIONS)
    whole = b.input("x", "batch", "f32", (2, 8, 48))
    q, k, v = (
        b(
            "reshape",
            b("slice", whole, starts=(0, 0, at), stops=(2, 8, at + 16), steps=(1, 1, 1)),
            shape=(2, 8, 2, 8),
        )
        for at in (0, 16, 32)
    )
    out = b("attention", q, k, v, causal=True)
    b.graph.results = {"loss": b("reduce-sum", b("square", out), axes=(0, 1, 2, 3))}
    library = EmulatedDevice().library
    graph = gradients(library_calls(b.graph, OPERATIONS, library, "bf16"))
    small, _ = optimize(graph, OPERATIONS, library, "bf16")
    plan = planned(small).plan
    assert plan is not None
    calls = [getattr(c, "node", None) for c in plan.calls]
    (at,) = (i for i, n in enumerate(calls) if n is not None and n.operation[-8:] == "backward")
    outputs = plan.calls[at].outputs  # type: ignore[union-attr]
    assert len({view.storage for view in outputs}) == 1
    assert [view.offset for view in outputs] == [0, 16, 32]
    assert not [n for n in calls[at + 1 :] if n is not None]
