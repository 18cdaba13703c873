"""Blocks of a step: one traced graph copied once for each microbatch, on its own rows.

Block k holds rows [k b, (k+1) b) of the global batch. Every block reads the same parameters and
states. With one block nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..ir import Builder, Graph, Node, Value
from ..ir.ops.loops import body_key

Replace = Callable[[Node], "Value | None"]


def inline(
    graph: Graph, b: Builder, replace: Replace, row_offset: int = 0, block: int = 0
) -> dict[tuple[int, int], Value]:
    """Copy a graph's live nodes into `b`; `replace(node)` gives the value of an input.

    Random nodes that have rows get `row_offset` added, so that a block draws what its rows of the
    global batch would draw (45.14). Checkpoints of a `block` are its own. Returns where each value
    went.
    """
    copies = block * (1 + max((abs(n.copy) for n in graph.nodes), default=0))
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
        for i, value in enumerate(_copy(node, b, went, row_offset, copies)):
            went[node.id, i] = value
            if origins is not None:
                b.graph.origins.setdefault(value.node.id, origins)
    return went


def _copy(
    node: Node,
    b: Builder,
    went: Mapping[tuple[int, int], Value],
    row_offset: int,
    copies: int,
) -> tuple[Value, ...]:
    b.policy, b.copy = node.policy, _copy_of(node, copies)
    operands = tuple([went[v.node.id, v.result] for v in node.operands])
    changed = _moved(node, b, row_offset) if row_offset else {}
    if not changed:
        return b.remake(node, operands)
    return b.several(node.operation, *operands, **{**dict(node.attributes), **changed})


def _moved(node: Node, b: Builder, row_offset: int) -> dict[str, Any]:
    """Attributes that are others where rows begin further on: of random nodes that have rows, and
    of nodes with bodies that have such."""
    if b.operations[node.operation].random and node.get("batch-axis") is not None:
        return {"row-offset": node.get("row-offset", 0) + row_offset}
    changed = {}
    for name in ("body", "other"):
        body = b.graph.bodies.get(node.get(name))
        if body is not None and _draws_rows(body, b):
            inner = Builder(b.operations)
            went = inline(body, inner, lambda _: None, row_offset)
            inner.graph.results = {n: went[v.node.id, v.result] for n, v in body.results.items()}
            changed[name] = body_key(b, inner.graph)
    return changed


def _draws_rows(graph: Graph, b: Builder) -> bool:
    return any(
        b.operations[n.operation].random and n.get("batch-axis") is not None for n in graph.nodes
    ) or any(_draws_rows(body, b) for body in graph.bodies.values())


def _copy_of(node: Node, copies: int) -> int:
    """A node's copy in a block, as far from 0 as `copies` more."""
    if not node.copy:
        return 0
    return node.copy + copies if node.copy > 0 else node.copy - copies


def unroll(graph: Graph, b: Builder, blocks: int) -> list[dict[str, Value]]:
    """The results of each block, in order. Batch inputs of `b`'s graph have all rows."""
    results = []
    for k in range(blocks):
        went = inline(graph, b, _block_input(b, k, blocks), _rows(graph) * k, k)
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
