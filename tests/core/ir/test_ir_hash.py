"""Laws of the graph hash (45.22)."""

from __future__ import annotations

from graph_strategies import graphs
from hypothesis import given, settings

from sexpgpu_core.ir import Builder, Graph, Origin
from sexpgpu_core.ir.hash import graph_hash
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.text import parse, write


def _hash(make, **more) -> str:
    b = Builder(OPERATIONS, **more)
    x, y = (b.input(n, "batch", "f32", (2,)) for n in "xy")
    b.graph.results["loss"] = make(b, x, y)
    return graph_hash(b.graph, OPERATIONS)


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_text_keeps_the_hash(graph: Graph) -> None:
    assert graph_hash(parse(write(graph)), OPERATIONS) == graph_hash(graph, OPERATIONS)


def test_order_of_commutative_operands_does_not_matter() -> None:
    assert _hash(lambda b, x, y: b("add", x, y)) == _hash(lambda b, x, y: b("add", y, x))
    assert _hash(lambda b, x, y: b("subtract", x, y)) != _hash(lambda b, x, y: b("subtract", y, x))


def test_order_of_making_and_dead_nodes_do_not_matter() -> None:
    def later(b, x, y):
        b("tanh", y)
        right = b("exp", y)
        return b("multiply", b("exp", x), right)

    assert _hash(later) == _hash(lambda b, x, y: b("multiply", b("exp", x), b("exp", y)))


def test_origins_do_not_matter() -> None:
    placed = _hash(lambda b, x, y: b("exp", x), origin=lambda node: Origin(None, "gpt"))
    assert placed == _hash(lambda b, x, y: b("exp", x))


def test_numbers_policies_copies_and_names_matter() -> None:
    def with_policy(b, x, y):
        b.policy = "f32"
        return b("exp", x)

    def with_copy(b, x, y):
        b.copy = 1
        return b("exp", x)

    found = {
        _hash(lambda b, x, y: b("exp", x)),
        _hash(lambda b, x, y: b("exp", y)),
        _hash(with_policy),
        _hash(with_copy),
        _hash(lambda b, x, y: b("multiply", x, b.like(0.5, x))),
        _hash(lambda b, x, y: b("multiply", x, b.like(0.25, x))),
        _hash(lambda b, x, y: b("multiply", x, b.like(0.0, x))),
        _hash(lambda b, x, y: b("multiply", x, b.like(-0.0, x))),
    }
    assert len(found) == 8


def test_only_the_roots_asked_for_count() -> None:
    b = Builder(OPERATIONS)
    x = b.input("x", "batch", "f32", (2,))
    b.graph.results["loss"] = b("exp", x)
    before = graph_hash(b.graph, OPERATIONS)
    b.graph.results["metric:m:value"] = b("tanh", x)
    assert graph_hash(b.graph, OPERATIONS, ["loss"]) == before
    assert graph_hash(b.graph, OPERATIONS) != before
