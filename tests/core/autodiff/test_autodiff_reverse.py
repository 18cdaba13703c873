"""Reverse mode over whole graphs: sharing, zeros, what has no gradient, origins, second order."""

from __future__ import annotations

import numpy as np
import pytest

from sexpgpu_core.autodiff import GradientBuilder, differentiate
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir import Builder, Graph, Origin, Value
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.verify import verify
from sexpgpu_core.spans import Source, Span


def _sum(b: Builder, x: Value) -> Value:
    return b("reduce-sum", x, axes=tuple(range(len(x.shape))), keep=False)


def _start(shape=(3,), dtype="f64") -> tuple[Builder, Value]:
    b = Builder(OPERATIONS)
    return b, b.input("x", "parameter", dtype, shape)


def _value(graph: Graph, value: Value, **given) -> np.ndarray:
    graph.results = {"it": value}
    verify(graph, OPERATIONS)
    return run(graph, given, OPERATIONS)["it"]


def test_shared_values_add_up() -> None:
    b, x = _start()
    y = b("multiply", b("exp", x), x)
    g = differentiate(b.graph, OPERATIONS, _sum(b, b("add", y, x)), {"x": x})["x"]
    at = np.array([0.1, -0.4, 2.0])
    np.testing.assert_allclose(_value(b.graph, g, x=at), np.exp(at) * (1 + at) + 1, rtol=1e-14)


def test_what_the_loss_does_not_reach_is_none() -> None:
    b, x = _start()
    other = b.input("z", "parameter", "f64", (3,))
    b("exp", other)
    found = differentiate(b.graph, OPERATIONS, _sum(b, b("exp", x)), {"x": x, "z": other})
    assert found["z"] is None
    assert found["x"] is not None


@pytest.mark.parametrize("operation", ["stop-gradient", "sign", "floor"])
def test_zero_gradients_are_silent(operation: str) -> None:
    b, x = _start()
    found = differentiate(b.graph, OPERATIONS, _sum(b, b(operation, x)), {"x": x})
    assert found == {"x": None}


def test_an_operation_without_gradient_is_named_at_its_place() -> None:
    place = Span(Source("a.lisp", "(digamma x)"), 0, 11)
    b = Builder(OPERATIONS, origin=lambda node: Origin(place, "m"))
    x = b.input("x", "parameter", "f32", (1, 4, 1))
    g = b("digamma", x)
    with pytest.raises(Problem) as caught:
        differentiate(b.graph, OPERATIONS, _sum(b, g), {"x": x})
    assert caught.value.diagnostic.code == "E-GRADIENT"
    assert caught.value.diagnostic.span == place


def test_an_operation_without_gradient_off_the_path_is_no_matter() -> None:
    b = Builder(OPERATIONS)
    x, data = (b.input(n, "batch", "f32", (1, 4, 1)) for n in "xd")
    g = b("digamma", data)
    assert differentiate(b.graph, OPERATIONS, _sum(b, b("multiply", x, g)), {"x": x})["x"] == g


@pytest.mark.parametrize("stop", ["stop-gradient", "sign", "floor"])
def test_an_operation_without_gradient_behind_one_of_zero_gradient_is_no_matter(stop: str) -> None:
    b = Builder(OPERATIONS)
    x = b.input("x", "parameter", "f32", (1, 4, 1))
    held = b(stop, x)
    at = {"sizes": (2,), "strides": (2,), "padding": ((0, 0),)}
    g = b("max-pool-gradient", held, b("max-pool", held, **at), **at)
    assert differentiate(b.graph, OPERATIONS, _sum(b, b("multiply", x, g)), {"x": x})["x"] == g


def test_second_order_works_through_composites() -> None:
    b, x = _start((2, 3))
    builder = GradientBuilder(OPERATIONS, b.graph)
    y = b("softmax", b("gelu", x), axis=1)
    first = differentiate(b.graph, OPERATIONS, _sum(b, b("square", y)), {"x": x}, builder=builder)
    second = differentiate(
        b.graph, OPERATIONS, _sum(builder, builder("square", first["x"])), {"x": x}, builder=builder
    )
    at = np.linspace(-1, 1.3, 6).reshape(2, 3)
    slope = np.zeros(at.shape)
    for i in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[i] += 1e-5
        down[i] -= 1e-5
        gains = [(_value(b.graph, first["x"], x=v) ** 2).sum() for v in (up, down)]
        slope[i] = (gains[0] - gains[1]) / 2e-5
    np.testing.assert_allclose(_value(b.graph, second["x"], x=at), slope, atol=1e-8)


def test_a_value_in_the_middle_may_be_asked_for() -> None:
    b, x = _start()
    y = b("exp", x)
    z = b("square", y)
    found = differentiate(b.graph, OPERATIONS, _sum(b, z), {"y": y, "x": x})
    at = np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(_value(b.graph, found["y"], x=at), 2 * np.exp(at))
    np.testing.assert_allclose(_value(b.graph, found["x"], x=at), 2 * np.exp(2 * at))


def test_a_seed_scales_and_may_be_a_value() -> None:
    b, x = _start()
    found = differentiate(b.graph, OPERATIONS, _sum(b, x), {"x": x}, seed=8.0)["x"]
    assert _value(b.graph, found, x=np.zeros(3)).tolist() == [8.0, 8.0, 8.0]
    scale = b.input("scale", "persistent", "f64", ())
    found = differentiate(b.graph, OPERATIONS, _sum(b, x), {"x": x}, seed=scale)["x"]
    assert _value(b.graph, found, x=np.zeros(3), scale=4.0).tolist() == [4.0, 4.0, 4.0]


def test_a_barrier_and_a_scale_hand_gradients_on() -> None:
    b, x = _start()
    y = b("gradient-scale", b("barrier", x, b("exp", x)), factor=-1.0)
    found = differentiate(b.graph, OPERATIONS, _sum(b, y), {"x": x})["x"]
    assert _value(b.graph, found, x=np.zeros(3)).tolist() == [-1.0, -1.0, -1.0]


def test_gradient_nodes_have_origin_and_policy_of_their_primal() -> None:
    where = [Origin(None, "a")]
    b = Builder(OPERATIONS, origin=lambda node: where[0])
    x = b.input("x", "parameter", "f32", (3,))
    b.policy, where[0] = "f32", Origin(None, "a/b")
    y = b("exp", x)
    b.policy, where[0] = "", Origin(None, "a/c")
    loss = _sum(b, b("tanh", y))
    made = len(b.graph.nodes)
    differentiate(b.graph, OPERATIONS, loss, {"x": x})
    fresh = b.graph.nodes[made:]
    for node in fresh:
        if node.operation == "constant":
            continue
        origin = b.graph.origin(node)
        assert origin is not None
        assert origin.grad
        assert node.policy == ("f32" if origin.scope == "a/b" else "")
    assert {b.graph.origin(n).scope for n in fresh if b.graph.origin(n)} >= {"a/b", "a/c"}


def test_weight_gradients_are_one_product() -> None:
    b = Builder(OPERATIONS)
    x, w = b.input("x", "batch", "f32", (4, 5, 8)), b.input("w", "parameter", "f32", (8, 6))
    made = len(b.graph.nodes) + 2
    loss = _sum(b, b("square", b("matmul", x, w)))
    found = differentiate(b.graph, OPERATIONS, loss, {"w": w})["w"]
    products = [n for n in b.graph.nodes[made:] if n.operation == "matmul"]
    assert found.node in products
    assert [v.shape for v in found.node.operands] == [(20, 8), (20, 6)]
    assert len(products) <= 2


def test_deep_graphs_need_no_recursion() -> None:
    b, x = _start(())
    y = x
    for _ in range(5000):
        y = b("sin", y)
    assert differentiate(b.graph, OPERATIONS, y, {"x": x})["x"] is not None


@pytest.mark.parametrize(
    ("operation", "shape", "times", "attributes"),
    [
        ("dot", (3,), 2, {}),
        ("outer", (3,), 2, {}),
        ("einsum", (3,), 2, {"subscripts": "i,i->i"}),
        ("attention", (1, 3, 1, 2), 3, {}),
    ],
)
def test_an_operand_that_is_given_twice_counts_once_a_place(
    operation: str, shape: tuple[int, ...], times: int, attributes: dict[str, object]
) -> None:
    b, x = _start(shape)
    several = [b.input(f"x{i}", "parameter", "f64", shape) for i in range(times)]
    names = {"x": x, **{f"x{i}": v for i, v in enumerate(several)}}
    one = _sum(b, b(operation, *[x] * times, **attributes))
    apart = _sum(b, b(operation, *several, **attributes))
    found = differentiate(b.graph, OPERATIONS, b("add", one, apart), names)
    b.graph.results = found
    at = np.random.default_rng(0).standard_normal(shape)
    values = run(b.graph, dict.fromkeys(names, at), OPERATIONS)
    np.testing.assert_allclose(values.pop("x"), sum(values.values()), rtol=1e-12)
