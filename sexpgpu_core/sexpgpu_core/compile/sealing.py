"""How a pass judges, as a hash: what is computed of what models give, not how they give it.

Runs whose models differ in width or depth are judged alike, so their numbers may be ranked (80.9).
"""

from __future__ import annotations

import hashlib

from ..ir import Graph, Operations
from ..ir.graph import Node, Value
from ..ir.hash import graph_hash

ROWS = 2
"""Rows of a batch that a pass is traced for to be hashed: what it reports depends on none."""


def judgement(graph: Graph, operations: Operations) -> str:
    """Hash of a pass's graph in which the tensors that models give are known by type and source.

    A tensor that crosses from a model's scope to the root is a hole: its number in the order in
    which the results reach it, its type, and the fields that it depends on. A scalar of a model
    and a metric that is written inside of one are hashed with all that they are made of.
    """
    return graph_hash(graph, operations, None, _holes(graph))


def _holes(graph: Graph) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    seen: set[int] = set()
    stack = [graph.results[name].node for name in sorted(graph.results, reverse=True)]
    while stack:
        node = stack.pop()
        if node.id in seen or node.id in found:
            continue
        seen.add(node.id)
        for operand in reversed(node.operands):
            if _crosses(graph, node, operand):
                found.setdefault(operand.node.id, _hole(operand.node, len(found)))
            else:
                stack.append(operand.node)
    return found


def _crosses(graph: Graph, user: Node, operand: Value) -> bool:
    outward = bool(_scope(graph, operand.node)) and not _scope(graph, user)
    return outward and bool(operand.node.types[operand.result].shape)


def _scope(graph: Graph, node: Node) -> str:
    origin = graph.origin(node)
    return origin.scope if origin is not None else ""


def _hole(node: Node, number: int) -> bytes:
    types = " ".join(map(str, node.types))
    return hashlib.sha256(f"model {number} {types} {_fields(node)}".encode()).digest()


def _fields(node: Node) -> list[str]:
    """Names of the batch's fields that a node depends on."""
    seen: dict[int, Node] = {}
    stack = [node]
    while stack:
        node = stack.pop()
        if node.id not in seen:
            seen[node.id] = node
            stack.extend(value.node for value in node.operands)
    inputs = [n for n in seen.values() if n.operation == "input" and n.get("kind") == "batch"]
    return sorted(str(n.get("name")) for n in inputs)
