"""Dead code out: what no result needs. Input nodes of dead parts go too."""

from __future__ import annotations

from ..ir import Graph
from ..ir.operation import Operations
from .rebuild import rebuild


def drop_dead(graph: Graph, operations: Operations) -> Graph:
    """The same graph if nothing is dead."""
    return graph if len(graph.live()) == len(graph.nodes) else rebuild(graph, operations)
