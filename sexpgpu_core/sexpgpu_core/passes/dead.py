"""Dead code out: what no result needs. Input nodes of dead parts go too."""

from __future__ import annotations

from ..ir import Graph, Node


def drop_dead(graph: Graph) -> Graph:
    """The same graph without them. The nodes that stay are numbered anew where they are: whoever
    made the graph gives it up."""
    live = graph.live()
    nodes = [n for n in graph.nodes if n.id in live]
    applied = {n.get(key) for n in nodes for key in ("body", "other")}
    bodies = {k: body for k, body in graph.bodies.items() if k in applied}
    if len(live) == len(graph.nodes) and len(bodies) == len(graph.bodies):
        return graph
    kept: list[Node] = []
    origins = {}
    for node in nodes:
        found = graph.origins.get(node.id)
        node.id = len(kept)
        kept.append(node)
        if found is not None:
            origins[node.id] = found
    graph.nodes, graph.origins, graph.bodies = kept, origins, bodies
    return graph
