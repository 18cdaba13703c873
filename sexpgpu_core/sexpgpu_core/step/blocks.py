"""Blocks of a step: one traced graph copied once for each microbatch, on its own rows.

Block k holds rows [k b, (k+1) b) of the global batch. Every block reads the same parameters and
states. A weighted mean of the loss is divided by the weights of all blocks (45.1.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ..ir import Builder, Graph, Node, Value
from ..ir.ops.loops import body_key
from ..staging.traced import Ratio

Replace = Callable[[Node], "Value | None"]
Went = dict[tuple[int, int], Value]
Instead = Mapping[int, Callable[[Went], Value]]
"""By node: what stands in its place, made of where the values before it went."""


def inline(
    graph: Graph,
    b: Builder,
    replace: Replace,
    row_offset: int = 0,
    block: int = 0,
    others: Instead = MappingProxyType({}),
) -> Went:
    """Copy a graph's live nodes into `b`; `replace(node)` gives the value of an input.

    Random nodes that have rows get `row_offset` added, so that a block draws what its rows of the
    global batch would draw (45.14). Checkpoints of a `block` are its own. Returns where each value
    went.
    """
    copies = block * (1 + max((abs(n.copy) for n in graph.nodes), default=0))
    went: Went = {}
    live = graph.live()
    b.graph.bodies.update(graph.bodies)
    for node in graph.nodes:
        if node.id not in live:
            continue
        instead = replace(node) if node.operation == "input" else None
        if instead is None and node.id in others:
            instead = others[node.id](went)
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


def unroll(
    graph: Graph,
    b: Builder,
    blocks: int,
    rows: int,
    ratios: Sequence[Ratio] = (),
    replace: Replace = lambda node: None,
) -> list[dict[str, Value]]:
    """The results of each block of `rows`, in order. Batch inputs of `b`'s graph have all rows.

    `ratios`: weighted means whose weights are summed over all blocks first."""
    shares = _shares(graph, b, blocks, rows, ratios, replace)
    others = {r.node.node.id: _ratio(b, r, w) for r, w in zip(ratios, shares)}
    results = []
    for k in range(blocks):
        inputs = _block_input(b, k, blocks, replace)
        went = inline(graph, b, inputs, rows * k, k, others)
        results.append({n: went[v.node.id, v.result] for n, v in graph.results.items()})
    b.policy, b.copy = "", 0
    return results


def _shares(
    graph: Graph, b: Builder, blocks: int, rows: int, ratios: Sequence[Ratio], replace: Replace
) -> list[Value]:
    """Of each ratio the mean weight of a block; what it is computed from is copied for each block,
    and met again when the block is."""
    if not ratios:
        return []
    part = Graph()
    part.nodes, part.origins, part.bodies = graph.nodes, graph.origins, graph.bodies
    part.results = {str(i): ratio.weight for i, ratio in enumerate(ratios)}
    each = unroll(part, b, blocks, rows, (), replace)
    totals = []
    for name in part.results:
        total = each[0][name]
        for block in each[1:]:
            total = b("add", total, block[name])
        totals.append(b("multiply", total, b.constant(1.0 / blocks, total.dtype)))
    return totals


def _ratio(b: Builder, ratio: Ratio, weight: Value) -> Callable[[Went], Value]:
    """total / weight of a block, as the traced one is: 0 where the weight is, or without a test."""
    tested = ratio.node.node.operation == "where"

    def make(went: Went) -> Value:
        b.policy, b.copy = ratio.node.node.policy, 0
        total = went[ratio.total.node.id, ratio.total.result]
        if not tested:
            return b("divide", total, weight)
        empty = b("equal", weight, b.like(0.0, weight))
        safe = b("where", empty, b.like(1.0, weight), weight)
        return b("where", empty, b.like(0.0, total), b("divide", total, safe))

    return make


def _block_input(b: Builder, k: int, blocks: int, others: Replace) -> Replace:
    def replace(node: Node) -> Value | None:
        if node.get("kind") not in ("batch", "rows"):
            return others(node)
        dtype, shape = node.types[0]
        rows = shape[0]
        whole = b.input(node.get("name"), node.get("kind"), dtype, (rows * blocks, *shape[1:]))
        rest = shape[1:]
        return b(
            "slice",
            whole,
            starts=(k * rows, *(0 for _ in rest)),
            stops=((k + 1) * rows, *rest),
            steps=(1,) * len(shape),
        )

    return replace
