"""Merkle hashes of graphs (45.22): of what is computed, not of names of variables or spans.

node = H(operation, attributes, types, policy, copy, operand hashes), operands of commutative
operations sorted. Equal hashes mean equal graphs; the order of nodes does not matter. The seed of
random numbers is the run's: an experiment's id has it beside the hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .graph import Graph, Node
from .operation import Operations
from .text import attribute_text

VERSION = "sexpgpu-ir-1"


def graph_hash(
    graph: Graph,
    operations: Operations,
    roots: Iterable[str] | None = None,
    given: Mapping[int, bytes] = {},
) -> str:
    """Hex SHA-256 over the roots (all results by default), in the order of their names.

    `given`: digests by node id of nodes that are not looked into.
    """
    import hashlib

    names = sorted(graph.results if roots is None else roots)
    values = [graph.results[name] for name in names]
    wanted = _needed([v.node for v in values], given)
    hashes = node_hashes(graph, operations, wanted, given)
    whole = hashlib.sha256(VERSION.encode())
    for name, value in zip(names, values):
        digest = hashes[value.node.id]
        whole.update(f"{attribute_text(name)} {digest.hex()} {value.result}\n".encode())
    return whole.hexdigest()


def node_hashes(
    graph: Graph,
    operations: Operations,
    wanted: set[int] | None = None,
    given: Mapping[int, bytes] = {},
) -> dict[int, bytes]:
    """The digest of each node whose id is wanted (all by default; operands must be wanted too)."""
    import hashlib

    commutative = {n for n, o in operations.items() if getattr(o, "commutative", False)}
    sha = hashlib.sha256
    known: dict[int, bytes] = dict(given)
    for node in graph.nodes:
        if node.id in given or (wanted is not None and node.id not in wanted):
            continue
        operands = [known[v.node.id] + b"%d;" % v.result for v in node.operands]
        if node.operation in commutative:
            operands.sort()
        known[node.id] = sha(_head(node) + b"".join(operands)).digest()
    return known


def _head(node: Node) -> bytes:
    """What is the node's own. Operand digests have a fixed length, so nothing is ambiguous."""
    kept = [(k, v) for k, v in node.attributes if k != "seed"]
    attributes = " ".join(f":{k} {attribute_text(v)}" for k, v in kept)
    types = " ".join(map(str, node.types))
    policy = attribute_text(node.policy)
    return f"({node.operation} {attributes} | {types} | {policy} {node.copy})\n".encode()


def _needed(roots: list[Node], given: Mapping[int, bytes]) -> set[int]:
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.id not in seen:
            seen.add(node.id)
            if node.id not in given:
                stack.extend(v.node for v in node.operands)
    return seen
