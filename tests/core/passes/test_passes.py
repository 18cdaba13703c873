"""Passes keep what a graph computes, its results' names and dtypes, and its origins."""

from __future__ import annotations

import numpy as np
import pytest

from sexpgpu_core.ir import Builder, Graph, Origin, Value
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.passes.dead import drop_dead
from sexpgpu_core.passes.expand import expansion
from sexpgpu_core.passes.optimize import PASSES, apply_precision, optimize
from sexpgpu_core.passes.precision import precision_change
from sexpgpu_core.passes.rebuild import rebuild

TY = {"transpose-y": True}


def builder() -> Builder:
    return Builder(OPERATIONS)


def names(graph: Graph) -> list[str]:
    return [n.operation for n in graph.nodes]


def nothing(operation: str) -> bool:
    return False


def small() -> tuple[Builder, Value, Value]:
    b = builder()
    return b, b.input("x", "batch", "f32", (3, 4)), b.input("y", "batch", "f32", (3, 4))


def inputs() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {k: rng.standard_normal((3, 4)).astype("f4") for k in "xy"}


def test_dead_code_goes() -> None:
    b, x, y = small()
    b("exp", y)
    b.graph.results = {"r": b("sin", x)}
    assert names(drop_dead(b.graph)) == ["input", "sin"]


def test_a_graph_without_dead_code_stays_itself() -> None:
    b, x, _ = small()
    b.graph.results = {"r": b("add", x, Value(b.graph.nodes[1]))}
    assert drop_dead(b.graph) is b.graph


def test_rebuilding_merges_equal_nodes() -> None:
    b, x, _ = small()
    b.copy = 1
    one = b("exp", x)
    b.copy = 2
    two = b("exp", x)
    b.graph.results = {"r": b("add", one, two)}

    def same(b: Builder, node: object, operands: object) -> None:
        b.copy = 0

    assert names(rebuild(b.graph, OPERATIONS, same)).count("exp") == 1
    assert names(rebuild(b.graph, OPERATIONS)).count("exp") == 2


def test_origins_follow_what_replaces_a_node() -> None:
    b, x, _ = small()
    origin = Origin(None, "gpt/h/0")
    b.origin = lambda node: origin
    made = b("softmax", x, axis=1)
    b.graph.results = {"r": made}
    graph = rebuild(b.graph, OPERATIONS, *expansion(OPERATIONS, nothing))
    assert "softmax" not in names(graph)
    assert all(graph.origins[n.id] == (origin,) for n in graph.nodes if n.operation != "input")


def test_composites_are_expanded_all_the_way() -> None:
    b, x, _ = small()
    b.graph.results = {"r": b("log-softmax", b("gelu", x, approximate="tanh"), axis=1)}
    graph = rebuild(b.graph, OPERATIONS, *expansion(OPERATIONS, nothing))
    probe = builder()
    for node in graph.nodes:
        if node.operation not in ("input", "constant"):
            assert OPERATIONS[node.operation].expand(probe, node) is None, node.operation
    given = inputs()
    np.testing.assert_allclose(
        run(graph, given, OPERATIONS)["r"], run(b.graph, given, OPERATIONS)["r"], rtol=1e-6
    )


def test_what_the_device_takes_stays() -> None:
    b, x, _ = small()
    b.graph.results = {"r": b("softmax", x, axis=1)}
    graph = rebuild(b.graph, OPERATIONS, *expansion(OPERATIONS, lambda name: name == "softmax"))
    assert "softmax" in names(graph)


@pytest.mark.parametrize("operation", ["add", "subtract"])
@pytest.mark.parametrize("side", [0, 1])
def test_a_product_and_a_sum_are_rounded_once(operation: str, side: int) -> None:
    b, x, y = small()
    product = b("multiply", x, y)
    operands = (product, y) if side == 0 else (y, product)
    b.graph.results = {"r": b(operation, *operands)}
    graph = rebuild(b.graph, OPERATIONS, *expansion(OPERATIONS, nothing))
    assert "fma" in names(graph)
    given = inputs()
    exact = run(b.graph, given, OPERATIONS, f64=True)["r"]
    np.testing.assert_array_equal(run(graph, given, OPERATIONS)["r"], exact.astype("f4"))


def test_another_use_of_a_product_changes_no_bit() -> None:
    def graph(tap: bool) -> Graph:
        b, x, y = small()
        product = b("multiply", x, y)
        b.graph.results = {"r": b("add", product, x)}
        if tap:
            b.graph.results["tap"] = product
        return optimize(b.graph, OPERATIONS, nothing)[0]

    given = inputs()
    with_tap, without = (run(graph(t), given, OPERATIONS)["r"] for t in (True, False))
    np.testing.assert_array_equal(with_tap, without)


def test_the_bf16_policy_casts_operands_of_products() -> None:
    b, x, y = small()
    b.graph.results = {"r": b("reduce-sum", b("matmul", x, y, **{"transpose-y": True}), axes=(1,))}
    graph = rebuild(b.graph, OPERATIONS, precision_change(OPERATIONS, "bf16"))
    product = next(n for n in graph.nodes if n.operation == "matmul")
    total = next(n for n in graph.nodes if n.operation == "reduce-sum")
    assert [v.dtype for v in product.operands] == ["bf16", "bf16"]
    assert product.types[0].dtype == "bf16"
    assert total.operands[0].dtype == "f32"
    assert total.types[0].dtype == "f32"


def test_elementwise_work_follows_its_widest_operand() -> None:
    b, x, y = small()
    product = b("matmul", x, b("permute", y, axes=(1, 0)))
    wide = b.input("z", "batch", "f32", (3, 3))
    b.graph.results = {"r": b("add", product, wide), "s": b("negate", product)}
    graph, _ = optimize(b.graph, OPERATIONS, nothing, "bf16")
    add = next(n for n in graph.nodes if n.operation == "add")
    negate = next(n for n in graph.nodes if n.operation == "negate")
    assert add.types[0].dtype == "f32"
    assert negate.types[0].dtype == "bf16"
    assert {v.dtype for v in graph.results.values()} == {"f32"}


def test_a_policy_of_f32_changes_nothing() -> None:
    b, x, y = small()
    b.graph.results = {"r": b("matmul", x, y, **{"transpose-y": True})}
    graph, reports = optimize(b.graph, OPERATIONS, lambda name: True)
    assert names(graph) == names(b.graph)
    assert [r.name for r in reports] == list(PASSES[1:])
    assert {(r.before, r.after) for r in reports} == {(3, 3)}


def test_each_pass_is_told_of_with_the_graph_after_it() -> None:
    b, x, _ = small()
    b.graph.results = {"r": b("softmax", x, axis=1)}
    seen: dict[str, list[str]] = {}
    optimize(b.graph, OPERATIONS, nothing, watch=lambda name, g: seen.update({name: names(g)}))
    assert list(seen) == list(PASSES[1:])
    assert "softmax" in seen["hoist"]
    assert "softmax" not in seen["expand"]


def test_optimizing_keeps_what_is_computed() -> None:
    b, x, y = small()
    normal = b("layer-norm", b("add", x, y), axes=(1,), eps=1e-5)
    b.graph.results = {"r": b("softmax", b("multiply", normal, y), axis=1), "n": normal}
    given = inputs()
    graph, _ = optimize(b.graph, OPERATIONS, nothing)
    wanted = run(b.graph, given, OPERATIONS, f64=True)
    found = run(graph, given, OPERATIONS)
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=2e-5, atol=2e-6)


def test_what_the_file_made_16_bits_wide_stays_as_it_made_it() -> None:
    b, x, y = small()
    half = b("cast", x, dtype="f16")
    product = b("matmul", half, half, **{"transpose-y": True})
    b.graph.results = {"r": b("rsqrt", b("add", product, product)), "s": b("matmul", x, y, **TY)}
    graph = rebuild(b.graph, OPERATIONS, precision_change(OPERATIONS, "bf16"))
    products = [n.types[0].dtype for n in graph.nodes if n.operation == "matmul"]
    assert sorted(products) == ["bf16", "f16"]
    assert graph.results["r"].dtype == "f16"


def narrowed(make, policy: str = "bf16") -> Graph:
    b, x, y = small()
    b.graph.results = {"r": make(b, x, y)}
    return rebuild(b.graph, OPERATIONS, precision_change(OPERATIONS, policy))


def product_of(b: Builder, x: Value, y: Value) -> Value:
    return b("matmul", x, y, **TY)


def test_a_number_of_the_file_widens_nothing() -> None:
    graph = narrowed(lambda b, x, y: b("multiply", product_of(b, x, y), b.constant(0.1, "f32")))
    assert graph.results["r"].dtype == "bf16"
    multiply = next(n for n in graph.nodes if n.operation == "multiply")
    assert multiply.types[0].dtype == "f32"  # computed in f32, with the number as it is
    graph = narrowed(lambda b, x, y: b("less", product_of(b, x, y), b.constant(0.1, "f32")))
    assert graph.results["r"].dtype == "bool"


def test_moves_keep_what_their_operand_is_stored_in() -> None:
    def make(b: Builder, x: Value, y: Value) -> Value:
        return product_of(b, b("permute", product_of(b, x, y), axes=(1, 0)), product_of(b, x, y))

    graph = narrowed(make)
    permuted = next(n for n in graph.nodes if n.operation == "permute")
    assert permuted.types[0].dtype == "bf16"
    assert "f32" not in {n.types[0].dtype for n in graph.nodes if n.operation == "cast"}


def test_an_island_is_f32_even_between_narrow_values() -> None:
    def make(b: Builder, x: Value, y: Value) -> Value:
        narrow = product_of(b, x, y)
        b.policy = "f32"
        return b("add", narrow, narrow)

    graph = narrowed(make)
    assert graph.results["r"].dtype == "f32"


@pytest.mark.parametrize(
    ("run", "policy", "dtype"),
    [
        ("bf16", "matmul=f32", "f32"),
        ("f32", "matmul=bf16", "bf16"),
        ("bf16", "matmul=f16", "f16"),
        ("bf16", "tf32=nil", "bf16"),
        ("bf16", "", "bf16"),
    ],
)
def test_the_innermost_policy_says_how_products_are_made(run: str, policy: str, dtype: str) -> None:
    def make(b: Builder, x: Value, y: Value) -> Value:
        b.policy = policy
        return product_of(b, x, y)

    graph = apply_precision(narrowed_by(make), OPERATIONS, run)
    assert {n.types[0].dtype for n in graph.nodes if n.operation == "matmul"} == {dtype}
    assert graph.results["r"].dtype == "f32"


def narrowed_by(make) -> Graph:
    b, x, y = small()
    b.graph.results = {"r": make(b, x, y)}
    return b.graph


@pytest.mark.parametrize(
    ("operation", "attributes"),
    [("gelu", {}), ("silu", {}), ("softplus", {}), ("softmax", {"axis": 1}), ("mish", {})],
)
def test_a_composite_of_16_bits_is_rounded_once(operation: str, attributes: dict) -> None:
    b, x, _ = small()
    half = b("cast", x, dtype="bf16")
    b.graph.results = {"r": b(operation, half, **attributes)}
    b.graph.results["w"] = b(operation, b("cast", half, dtype="f32"), **attributes)
    found = run(optimize(b.graph, OPERATIONS, nothing)[0], inputs(), OPERATIONS)
    np.testing.assert_array_equal(found["r"], found["w"].astype(found["r"].dtype))
