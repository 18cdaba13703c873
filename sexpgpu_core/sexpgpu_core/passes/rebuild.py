"""The walk that every pass is made of: live nodes made anew in order, equal ones merged.

A pass gives `change`: asked for each node with its operands in the new graph, it returns the
values to use instead of the node, or None for a plain copy. Origins follow what replaces them.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir import Builder, Graph, Node, Value
from ..ir.builder import Rule
from ..ir.graph import MAX_ORIGINS, Origin
from ..ir.operation import Operations

Change = Callable[[Builder, Node, tuple[Value, ...]], "tuple[Value, ...] | None"]


def rebuild(
    graph: Graph, operations: Operations, change: Change | None = None, rule: Rule | None = None
) -> Graph:
    """A new graph with the results of `graph`. Dead nodes are left out, equal nodes merged."""
    live = graph.live()
    b = Builder(operations, rule=rule)
    b.graph.bodies.update(graph.bodies)
    went: dict[int, tuple[Value, ...]] = {}
    for node in graph.nodes:
        if node.id not in live:
            continue
        operands = tuple([went[v.node.id][v.result] for v in node.operands])
        b.policy, b.copy = node.policy, node.copy
        first = len(b.graph.nodes)
        values = change(b, node, operands) if change is not None else None
        if values is None:
            values = b.remake(node, operands)
        went[node.id] = values
        origins = graph.origins.get(node.id)
        if origins:
            _inherit(b.graph, origins, values, first)
    b.policy, b.copy = "", 0
    b.graph.results = {n: went[v.node.id][v.result] for n, v in graph.results.items()}
    return b.graph


def _inherit(
    graph: Graph, origins: tuple[Origin, ...], values: tuple[Value, ...], first: int
) -> None:
    """Give the origins of a node to what was made for it."""
    for id in range(first, len(graph.nodes)):
        graph.origins[id] = origins
    for value in values:
        known = graph.origins.get(value.node.id, ())
        if known is not origins:
            new = tuple([o for o in origins if o not in known])
            graph.origins[value.node.id] = (known + new)[:MAX_ORIGINS]
