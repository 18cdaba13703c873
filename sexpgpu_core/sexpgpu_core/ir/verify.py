"""Checks that a graph is well made; run between passes in tests."""

from __future__ import annotations

from ..diagnostics import Problem, problem
from .builder import node_key
from .graph import Graph, Node, Value
from .operation import Operations
from .types import Type


def verify(graph: Graph, operations: Operations, after: str = "") -> None:
    """Raises E-INTERNAL naming the first fault; `after` is the pass that made the graph.

    Order and identity of nodes, attributes sorted and hashable, types as inferred, results, bodies.
    """
    fault = next(faults(graph, operations), None)
    if fault is not None:
        told = f" after {after}" if after else ""
        raise problem("E-INTERNAL", f"malformed graph{told}: {fault}")


def faults(graph: Graph, operations: Operations):  # type: ignore[no-untyped-def]
    """Every fault as a text."""
    stack = [("", graph)]
    while stack:
        where, one = stack.pop()
        seen: dict[object, Node] = {}
        for place, node in enumerate(one.nodes):
            for fault in _node_faults(one, operations, place, node, seen):
                yield f"{where}{node!r}: {fault}"
        for name, value in one.results.items():
            if not _lies_in(one, value):
                yield f"{where}result {name} is no value of the graph"
        stack += [(f"{where}{key[:8]}/", body) for key, body in one.bodies.items()]


def _lies_in(graph: Graph, value: Value) -> bool:
    node = value.node
    inside = 0 <= node.id < len(graph.nodes) and graph.nodes[node.id] is node
    return inside and 0 <= value.result < len(node.types)


def _node_faults(  # type: ignore[no-untyped-def]
    graph: Graph, operations: Operations, place: int, node: Node, seen: dict[object, Node]
):
    if node.id != place:
        yield f"stands at {place}"
    if node.operation not in operations:
        yield "there is no such operation"
        return
    for value in node.operands:
        if value.node.id >= place or not _lies_in(graph, value):
            yield f"operand {value.node!r} does not come before it"
            return
    names = [k for k, _ in node.attributes]
    if names != sorted(set(names)) or any(v is None for _, v in node.attributes):
        yield "attributes are not sorted, or None"
    known = getattr(operations[node.operation], "attributes", None)
    if known is not None and not set(names).issubset(known.required + known.optional):
        yield f"takes ({known}), not {' '.join(names)}"
    twin = seen.setdefault(node_key(node), node)
    if twin is not node:
        yield f"is the same as {twin!r}"
    yield from _type_faults(graph, operations, node)


def _type_faults(graph: Graph, operations: Operations, node: Node):  # type: ignore[no-untyped-def]
    given = tuple(v.type for v in node.operands)
    try:
        types = operations[node.operation].infer(given, dict(node.attributes))
    except Problem as found:
        yield str(found)
        return
    if types != node.types:
        yield f"has types {_told(node.types)}, not {_told(types)}"
    if node.operation in ("update", "scan", "while", "cond"):
        for key in node.get("body"), node.get("other"):
            if key is not None:
                yield from _body_faults(graph, node, given, key)
    elif node.operation == "custom-gradient":
        yield from _backward_faults(graph, node, given)


def _body_faults(  # type: ignore[no-untyped-def]
    graph: Graph, node: Node, given: tuple[Type, ...], key: str
):
    body = graph.bodies.get(key)
    if body is None:
        yield "its body is not in the graph"
        return
    inputs = {n.get("name"): n.types[0] for n in body.inputs()}
    names = node.get("inputs")
    given = tuple(_of_a_trip(node, n, t) for n, t in zip(names, given))
    if set(inputs) - set(names) or tuple(inputs.get(n, t) for n, t in zip(names, given)) != given:
        yield "its operands are not what the body takes"
    results = tuple((k, v.dtype, v.shape) for k, v in body.results.items())
    if results != node.get("results"):
        yield "its results are not what the body gives"


def _of_a_trip(node: Node, name: str, type: Type) -> Type:
    """The type that a body sees of an operand."""
    stacked = node.operation == "scan" and name.startswith("x:")
    return type._replace(shape=type.shape[1:]) if stacked else type


def _backward_faults(  # type: ignore[no-untyped-def]
    graph: Graph, node: Node, given: tuple[Type, ...]
):
    body = graph.bodies.get(node.get("body"))
    if body is None:
        yield "its body is not in the graph"
        return
    known = dict(zip(node.get("inputs"), given))
    known.update({f"cotangent:{i}": t for i, t in enumerate(node.types)})
    if any(known.get(n.get("name")) != n.types[0] for n in body.inputs()):
        yield "its operands are not what the body takes"


def _told(types: tuple[Type, ...]) -> str:
    return ", ".join(map(str, types))
