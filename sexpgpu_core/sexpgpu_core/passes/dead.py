"""Dead code out: what no result needs. Input nodes of dead parts go too."""

from __future__ import annotations

from ..ir import Graph, Node


def drop_dead(graph: Graph) -> Graph:
    """The same graph without them. The nodes that stay are numbered anew where they are: whoever
    made the graph gives it up."""
    live = graph.live()
    if len(live) == len(graph.nodes):
        return graph
    kept: list[Node] = []
    origins = {}
    for node in graph.nodes:
        if node.id in live:
            found = graph.origins.get(node.id)
            node.id = len(kept)
            kept.append(node)
            if found is not None:
                origins[node.id] = found
    graph.nodes, graph.origins = kept, origins
    return graph
