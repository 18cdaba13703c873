"""What a loop's body computes anew in each trip though it is the same in all is computed before.

Only what costs: products, reductions, casts (of weights, by the precision policy) and what they are
made of. The rest is cheaper inside of a kernel than read from memory. Only of scans that make a
trip: what a loop may never reach is not computed.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir import Builder, Graph, Node, Value
from ..ir.bodies import Key, copied, own_inputs
from ..ir.operation import Fusion, Operations
from ..ir.ops.loops import body_key
from .dead import drop_dead
from .loops import with_bodies
from .rebuild import rebuild

COSTLY = frozenset((Fusion.LIBRARY, Fusion.REDUCE, Fusion.OPAQUE))


def hoist(graph: Graph, operations: Operations) -> Graph:
    """In the graph and in all bodies, inner loops first."""
    graph = with_bodies(graph, lambda body: hoist(body, operations))
    if not any(n.operation == "scan" for n in graph.nodes):
        return graph
    return rebuild(graph, operations, _change(operations))


def _change(
    operations: Operations,
) -> Callable[[Builder, Node, tuple[Value, ...]], tuple[Value, ...] | None]:
    def change(b: Builder, node: Node, operands: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if node.operation != "scan" or not node.get("length"):
            return None
        body = b.graph.bodies[node.get("body")]
        moved = _moved(body, operations)
        return _without(b, node, body, operands, moved) if moved else None

    return change


def _moved(body: Graph, operations: Operations) -> list[Value]:
    """Costly values that no trip changes, as far up as they go."""
    live = body.live()
    same: set[int] = set()
    costly: set[int] = set()
    for node in body.nodes:
        if node.id not in live or not _is_same(node, same):
            continue
        same.add(node.id)
        operation = operations[node.operation]
        if node.operands and (node.operation == "cast" or operation.fusion in COSTLY):
            costly.add(node.id)
    found: dict[Key, Value] = {}
    stack = list(body.results.values())
    seen: set[Key] = set()
    while stack:
        value = stack.pop()
        key = value.node.id, value.result
        if key in seen:
            continue
        seen.add(key)
        if value.node.id in costly:
            found[key] = value
        else:
            stack.extend(value.node.operands)
    return [found[key] for key in sorted(found)]


def _is_same(node: Node, same: set[int]) -> bool:
    """Whether a node is made of captures and constants alone."""
    if node.operation == "input":
        return str(node.get("name")).startswith("capture:")
    return all(v.node.id in same for v in node.operands)


def _without(
    b: Builder, node: Node, body: Graph, operands: tuple[Value, ...], moved: list[Value]
) -> tuple[Value, ...]:
    """The loop, which captures what is computed before it."""
    given = dict(zip(node.get("inputs"), operands))
    before = copied(b, body, given, _needed(moved, set()))
    inner = Builder(b.operations)
    known = {}
    for value in moved:
        key = value.node.id, value.result
        name = f"capture:same-{len(given)}"
        given[name] = before[key]
        known[key] = inner.input(name, "body", *value.type)
    wanted = _needed(list(body.results.values()), set(known))
    went = copied(inner, body, own_inputs(inner, body), wanted, known)
    inner.graph.results = {n: went[v.node.id, v.result] for n, v in body.results.items()}
    attributes = dict(node.attributes)
    attributes.update(body=body_key(b, drop_dead(inner.graph)), inputs=tuple(given))
    return b.several(node.operation, *given.values(), **attributes)


def _needed(roots: list[Value], known: set[Key]) -> set[int]:
    """Ids of the nodes that values are made of, down to those that are known."""
    found: set[int] = set()
    stack = list(roots)
    while stack:
        value = stack.pop()
        if (value.node.id, value.result) not in known and value.node.id not in found:
            found.add(value.node.id)
            stack.extend(value.node.operands)
    return found
