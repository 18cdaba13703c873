"""Blocks of a step: one traced graph copied once for each microbatch, on its own rows.

Block k holds rows [k b, (k+1) b) of the global batch. Every block reads the same parameters and
states. With one block nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..ir import Builder, Graph, Node, Value

Replace = Callable[[Node], "Value | None"]


def inline(
    graph: Graph, b: Builder, replace: Replace, row_offset: int = 0
) -> dict[tuple[int, int], Value]:
    """Copy a graph's live nodes into `b`; `replace(node)` gives the value of an input.

    Random nodes that have rows get `row_offset` added, so that a block draws what its rows of the
    global batch would draw (45.14). Returns where each value went.
    """
    went: dict[tuple[int, int], Value] = {}
    live = graph.live()
    b.graph.bodies.update(graph.bodies)
    for node in graph.nodes:
        if node.id not in live:
            continue
        instead = replace(node) if node.operation == "input" else None
        if instead is not None:
            went[node.id, 0] = instead
            continue
        origins = graph.origins.get(node.id)
        for i, value in enumerate(_copy(node, b, went, row_offset)):
            went[node.id, i] = value
            if origins is not None:
                b.graph.origins.setdefault(value.node.id, origins)
    return went


def _copy(
    node: Node, b: Builder, went: Mapping[tuple[int, int], Value], row_offset: int
) -> tuple[Value, ...]:
    b.policy, b.copy = node.policy, node.copy
    operands = tuple([went[v.node.id, v.result] for v in node.operands])
    random = row_offset and b.operations[node.operation].random
    if not random or node.get("batch-axis") is None:
        return b.remake(node, operands)
    attributes: dict[str, Any] = dict(node.attributes)
    attributes["row-offset"] = attributes.get("row-offset", 0) + row_offset
    return b.several(node.operation, *operands, **attributes)


def unroll(graph: Graph, b: Builder, blocks: int) -> list[dict[str, Value]]:
    """The results of each block, in order. Batch inputs of `b`'s graph have all rows."""
    results = []
    for k in range(blocks):
        went = inline(graph, b, _block_input(b, k, blocks), _rows(graph) * k)
        results.append({n: went[v.node.id, v.result] for n, v in graph.results.items()})
    b.policy, b.copy = "", 0
    return results


def _rows(graph: Graph) -> int:
    for node in graph.inputs():
        if node.get("kind") == "batch" and node.types[0].shape:
            return node.types[0].shape[0]
    return 0


def _block_input(b: Builder, k: int, blocks: int) -> Replace:
    def replace(node: Node) -> Value | None:
        if node.get("kind") != "batch":
            return None
        dtype, shape = node.types[0]
        rows = shape[0]
        whole = b.input(node.get("name"), "batch", dtype, (rows * blocks, *shape[1:]))
        rest = shape[1:]
        return b(
            "slice",
            whole,
            starts=(k * rows, *(0 for _ in rest)),
            stops=((k + 1) * rows, *rest),
            steps=(1,) * len(shape),
        )

    return replace
