"""Dead code out: what no result needs. Input nodes of dead parts go too."""

from __future__ import annotations

from ..ir import Graph, Node, Value


def drop_dead(graph: Graph) -> Graph:
    """The same graph if nothing is dead. Nodes are unique already, so they are only renumbered."""
    live = graph.live()
    if len(live) == len(graph.nodes):
        return graph
    small = Graph()
    small.bodies = graph.bodies
    went: dict[int, Node] = {}
    origins = graph.origins
    for node in graph.nodes:
        if node.id not in live:
            continue
        operands = tuple([Value(went[source.id], i) for source, i in node.operands])
        copy = Node(
            node.operation,
            operands,
            node.attributes,
            node.types,
            node.policy,
            node.copy,
            len(small.nodes),
        )
        went[node.id] = copy
        small.nodes.append(copy)
        if node.id in origins:
            small.origins[copy.id] = origins[node.id]
    small.results = {n: Value(went[v.node.id], v.result) for n, v in graph.results.items()}
    return small
