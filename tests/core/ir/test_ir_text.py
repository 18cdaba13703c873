"""Text form of graphs."""

from __future__ import annotations

from fractions import Fraction

import pytest
from graph_strategies import graphs
from hypothesis import given, settings

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir import Builder, Graph, Origin
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.text import attribute_text, parse, same, write
from sexpgpu_core.ir.verify import verify


def _shape(graph: Graph):
    nodes = [
        (
            n.id,
            n.operation,
            [(v.node.id, v.result) for v in n.operands],
            [(k, type(v), repr(v)) for k, v in n.attributes],
            n.types,
            n.policy,
            n.copy,
        )
        for n in graph.nodes
    ]
    results = [(k, v.node.id, v.result) for k, v in graph.results.items()]
    return nodes, results, {k: _shape(body) for k, body in graph.bodies.items()}


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_what_is_written_reads_back(graph: Graph) -> None:
    back = parse(write(graph))
    assert _shape(back) == _shape(graph)
    assert same(back, graph)
    verify(back, OPERATIONS)


@pytest.mark.parametrize(
    "value",
    [0, -3, True, False, 1.0, -0.0, 1e-30, 1e300, float("inf"), -float("inf"), Fraction(1, 3),
     "", 'a "b" \\ \n', ":x", "%1", (), (1, (2.5, "x"), True), (None, "nil")],
)  # fmt: skip
def test_attributes_keep_class_and_value(value) -> None:
    b = Builder(OPERATIONS)
    x = b.input("x", "batch", "f32", (2,))
    node = b.node("relu", (x,), {"odd": value})
    found = parse(write(b.graph)).nodes[node.id].get("odd")
    assert repr(found) == repr(value)
    assert attribute_text(found) == attribute_text(value)


def test_origins_are_comments() -> None:
    b = Builder(OPERATIONS, origin=lambda node: Origin(None, "gpt/h/0", grad=True))
    b("relu", b.input("x", "batch", "f32", (2,)))
    written = write(b.graph)
    assert "(%1 (f32 2) (relu %0))  ; gpt/h/0 grad" in written
    assert same(parse(written), b.graph)


def test_a_golden_graph() -> None:
    b = Builder(OPERATIONS)
    x = b.input("x", "batch", "f32", (2, 3))
    b.graph.results["loss"] = b("reduce-sum", b("exp", x), axes=(0, 1), keep=False)
    assert write(b.graph) == (
        "(graph\n"
        '  (%0 (f32 2 3) (input :dtype "f32" :kind "batch" :name "x" :shape (2 3)))\n'
        "  (%1 (f32 2 3) (exp %0))\n"
        "  (%2 (f32) (reduce-sum %1 :axes (0 1) :keep #f))\n"
        "  (results\n"
        '    ("loss" %2)))\n'
    )


@pytest.mark.parametrize("text", ["", "(graph", "(graph (%1 (f32) (relu)))", "(nodes)", "(graph))"])
def test_other_texts_are_problems(text: str) -> None:
    with pytest.raises(Problem, match="E-READ-SYNTAX"):
        parse(text)
