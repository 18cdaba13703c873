"""Operations of a loss through which one example reaches another's part of it.

A mean over the batch at the end of a loss joins examples as it should. They affect each other
where something runs along the batch (softmax, a sort), where what was summed over it meets
examples again, or where each example meets each other one. What is meant over a block
(`per-block`) has said so. What cannot be followed is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Union

from ..diagnostics import Diagnostic, diagnostic
from ..ir.graph import Node, Value
from .dependence import MIXED, NONE, BatchAxes
from .origins import called, place_of
from .tracer import Tracer

ALONG = frozenset(
    (
        *("softmax", "log-softmax", "cumsum", "cumprod", "cummax", "cummin", "sort", "argsort"),
        *("layer-norm", "rms-norm"),
    )
)
"""Operations whose elements on an axis depend on all of that axis (`axis` or `axes`)."""
SUMS = frozenset(
    (
        *("reduce-sum", "reduce-max", "reduce-min", "reduce-product", "logsumexp"),
        *("reduce-any", "reduce-all", "argmax", "argmin"),
    )
)
PASSED = frozenset(
    (
        *("add", "subtract", "multiply", "divide", "negate", "square", "sqrt", "rsqrt", "exp"),
        *("log", "abs", "maximum", "minimum", "reciprocal", "power", "cast", "tanh", "sigmoid"),
        *("reshape", "broadcast-to", "where", "fma", "clip"),
    )
)
VIEWS = ("reshape", "broadcast-to")
PRODUCTS = ("matmul", "einsum", "outer")
"""Operations that keep what was summed over the batch, a number for all examples."""

BY_BLOCK = (
    "another batch size, or other :microbatches, is another loss; where that is meant, a line "
    ";; allow W-BATCH-DEPENDENCE: why"
)
"""What is told of a value that examples of a block have together."""


def check_examples(t: Tracer, losses: list[Value], axes: BatchAxes) -> Iterator[Diagnostic]:
    """W-BATCH-DEPENDENCE for each place of a loss where examples affect each other."""
    graph = t.root.builder.graph
    above = {v.node.id for v in losses}
    meant = {id for id, _ in t.per_block}
    for node in reversed(graph.nodes):
        if node.id in above and node.id not in meant:
            above.update(v.node.id for v in node.operands)
    joined: dict[int, Node] = {}  # node -> the sum over the batch that it is made of
    for node in graph.nodes:
        if node.id not in above or node.id in meant:
            continue
        found = _mixing(t, node, [axes.of(v) for v in node.operands], joined)
        if found is not None:
            yield _told(t, *found)


Found = Union[tuple[Node, str], None]  # noqa: UP007
"""The operation that joins examples, and how."""


def _mixing(t: Tracer, node: Node, given: list[int], joined: dict[int, Node]) -> Found:
    """Of one node; notes in `joined` what is a sum over the batch."""
    rows = [(k, axis) for k, axis in enumerate(given) if axis >= 0]
    along = node.get("axes") if node.get("axes") is not None else (node.get("axis"),)
    if rows and node.operation in ALONG and rows[0] == (0, rows[0][1]) and rows[0][1] in along:
        return node, "runs along the batch"
    if rows and node.operation in SUMS and rows[0][1] in along:
        joined[node.id] = node
        return None
    if node.operation in PRODUCTS:
        return _paired(t, node, rows)
    if node.operation not in PASSED:
        return None
    sums = [joined[v.node.id] for v in node.operands if v.node.id in joined]
    if sums and rows:
        return sums[0], "over the batch meets the examples again"
    if sums and all(a in (NONE, MIXED) for a in given):
        joined[node.id] = sums[0]
    return None if node.operation in VIEWS else _paired(t, node, rows)


def _paired(t: Tracer, node: Node, rows: list[tuple[int, int]]) -> Found:
    """Two operands whose examples stand on unlike axes of the result."""
    wide = {(k, axis) for k, axis in rows if node.operands[k].shape[axis] > 1}
    if len(wide) < 2:
        return None
    operation = t.root.builder.operations[node.operation]
    types = tuple(v.type for v in node.operands)
    kept = operation.depends(types, dict(node.attributes)).axes
    places = {r for r, k, axis, how in kept if (k, axis) in wide and how == "same"}
    return (node, "pairs each example with each other") if len(places) > 1 else None


def _told(t: Tracer, node: Node, how: str) -> Diagnostic:
    place = place_of(node, t.root)
    return diagnostic(
        "W-BATCH-DEPENDENCE",
        f"{called(node, place)} {how}: examples affect each other",
        span=place,
        hint="reduce another axis (:axis 1, :axis -1), or say that it is meant: (per-block form)",
        operation=node.operation,
        rows=t.rows,
    )
