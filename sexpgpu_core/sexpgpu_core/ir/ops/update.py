"""`update`: a body graph applied to operands, one node an optimizer's update of a parameter (R44).

Attributes: body (its hash, the key in `graph.bodies`), inputs (the body's input names in the order
of the operands), results (a (name, dtype, shape) a result, in the order of the body's results).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...records import NamedTuple
from ..graph import Graph, Node, Value
from ..hash import graph_hash
from ..operation import Attributes, Cost, Fusion, Operations, Precision
from ..types import Type
from .op import Op, Types
from .shapes import check_count

if TYPE_CHECKING:
    from ..builder import Builder


def _infer(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, len(attributes["inputs"]))
    return tuple(Type(dtype, shape) for _, dtype, shape in attributes["results"])


class Body(NamedTuple):
    """A body that nodes apply, with what each of them says of it."""

    graph: Graph
    key: str  # its hash
    inputs: tuple[Node, ...]
    names: tuple[str, ...]  # of the inputs
    results: tuple[tuple[str, str, tuple[int, ...]], ...]


def body_of(graph: Graph, operations: Operations) -> Body:
    """A graph as a body: read once, however often it is applied."""
    inputs = tuple(graph.inputs())
    results = tuple([(name, v.dtype, v.shape) for name, v in graph.results.items()])
    names = tuple([n.get("name") for n in inputs])
    return Body(graph, graph_hash(graph, operations), inputs, names, results)


def apply_body(b: Builder, body: Body, operands: Mapping[str, Value]) -> dict[str, Value]:
    """An `update` node of a body, which the graph keeps under its hash; results by name."""
    b.graph.bodies.setdefault(body.key, body.graph)
    given = [operands[name] for name in body.names]
    found = b.several("update", *given, body=body.key, inputs=body.names, results=body.results)
    return dict(zip(body.graph.results, found))


def inline(
    b: Builder, body: Graph, operands: Mapping[str, Value], placed: bool = False
) -> dict[str, Value]:
    """The body's nodes made in `b`, its inputs replaced by operands of their names. `placed`: with
    their places in the text."""
    made: dict[tuple[int, int], Value] = {}
    b.graph.bodies.update(body.bodies)
    live = body.live()
    for node in body.nodes:
        if node.operation == "input":
            made[node.id, 0] = operands[node.get("name")]
        elif node.id in live:
            _copy(b, node, made)
            if placed and node.id in body.origins:
                b.graph.origins.setdefault(made[node.id, 0].node.id, body.origins[node.id])
    return {name: made[v.node.id, v.result] for name, v in body.results.items()}


def _copy(b: Builder, node: Node, made: dict[tuple[int, int], Value]) -> None:
    given = [made[v.node.id, v.result] for v in node.operands]
    if len(node.types) == 1:
        made[node.id, 0] = b(node.operation, *given, **dict(node.attributes))
        return
    found = b.several(node.operation, *given, **dict(node.attributes))
    made.update({(node.id, i): v for i, v in enumerate(found)})


def _cost(operands: Types, results: Types, attributes: Attributes) -> Cost:
    # The body is not at hand: an optimizer does about ten operations an element.
    moved = sum(t.bytes for t in operands), sum(t.bytes for t in results)
    return Cost(10 * sum(t.size for t in results), *moved)


ROWS = [
    Op(
        "update",
        "",
        Fusion.OPAQUE,
        Precision.FULL,
        _infer,
        "A body graph applied. Attributes body, inputs, results. Gradient: none.",
        "none",
        cost=_cost,
    )
]
