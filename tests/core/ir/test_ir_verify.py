"""The verifier finds what is wrong."""

from __future__ import annotations

import pytest
from graph_strategies import graphs
from hypothesis import given, settings

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir import Builder, Graph, Node, Type, Value
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.verify import verify


@settings(max_examples=30, deadline=None)
@given(graphs())
def test_what_a_builder_makes_is_well_made(graph: Graph) -> None:
    verify(graph, OPERATIONS)


def _graph() -> Builder:
    b = Builder(OPERATIONS)
    b("exp", b.input("x", "batch", "f32", (2,)))
    return b


def _add(graph: Graph, operation: str, types: tuple[Type, ...], at: int = 0, **more) -> None:
    given = tuple(sorted(more.items()))
    operands = (Value(graph.nodes[at]),)
    graph.nodes.append(Node(operation, operands, given, types, "", 0, len(graph.nodes)))


@pytest.mark.parametrize(
    ("operation", "types", "said"),
    [
        ("no-such", (Type("f32", (2,)),), "no such operation"),
        ("tanh", (Type("f32", (3,)),), "has types"),
        ("exp", (Type("f32", (2,)),), "is the same as"),
    ],
)
def test_a_bad_node_is_named(operation: str, types: tuple[Type, ...], said: str) -> None:
    graph = _graph().graph
    _add(graph, operation, types)
    with pytest.raises(Problem, match=said):
        verify(graph, OPERATIONS, after="fuse")


def test_a_result_of_another_graph_is_found() -> None:
    one, other = _graph().graph, _graph().graph
    one.results["loss"] = Value(other.nodes[1])
    with pytest.raises(Problem, match="loss is no value"):
        verify(one, OPERATIONS)


def test_a_body_that_is_missing_is_found() -> None:
    b = _graph()
    x = Value(b.graph.nodes[0])
    b("update", x, body="0", inputs=("p",), results=(("p", "f32", (2,)),))
    with pytest.raises(Problem, match="body is not in the graph"):
        verify(b.graph, OPERATIONS)


def test_an_attribute_that_is_not_taken_is_found() -> None:
    b = _graph()
    b("exp", Value(b.graph.nodes[0]), axis=1)
    with pytest.raises(Problem, match=r"takes \(\), not axis"):
        verify(b.graph, OPERATIONS)
