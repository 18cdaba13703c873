"""Indices that no input decides: made of iotas, tables and constants, they are computed, and a
gather by them reads at a pace, or within bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .builder import Builder
from .graph import Node, Value
from .reach import Reach

if TYPE_CHECKING:
    import numpy as np

LEAVES = ("iota", "constant", "table")
MOST = 1 << 20
"""Indices that are computed; of more nothing is known."""


def read_by(
    node: Node, reach: Reach, at: int, axis: int, index_axes: Sequence[int], start: int
) -> Reach:
    """What a gather's operand 1 chooses on `axis`, which the reach has as `at`; an index axis a is
    axis a + start of the result. An index outside of the axis takes another element: any."""
    found = _values(node.operands[1])
    size = node.operands[0].shape[axis]
    if found is None or not found.size or found.min() < 0 or found.max() >= size:
        return reach.gone(at, size)
    for a in index_axes:
        line = _line(found, a)
        if line is not None:
            return reach.moved({at: line}).seen_from(at, 0, 0, a + start)
    if not index_axes:
        return reach.gone(at, size)
    a = max(index_axes, key=lambda i: found.shape[i])
    off = found - _along(found, a)
    return reach.seen_from(at, int(off.min()), int(off.max()), a + start)


def _along(found: Any, axis: int) -> Any:
    """Its own index on an axis, for each element."""
    import numpy as np

    shape = [1] * found.ndim
    shape[axis] = -1
    return np.arange(found.shape[axis]).reshape(shape)


def _line(found: Any, axis: int) -> tuple[int, int] | None:
    """(pace, offset) where the indices are pace i + offset along an axis, and alike elsewhere."""
    if found.shape[axis] < 2:
        return None
    first = found.reshape(-1)[0]
    at = [0] * found.ndim
    at[axis] = 1
    pace = int(found[tuple(at)] - first)
    if pace == 0 or (found != pace * _along(found, axis) + first).any():
        return None
    return pace, int(first)


def _values(index: Value) -> np.ndarray | None:
    """The indices; None where an input decides them or they are many."""
    from .interpret import run
    from .ops import OPERATIONS

    nodes: dict[int, Node] = {}
    waiting = [index.node]
    while waiting:
        node = waiting.pop()
        if node.id in nodes:
            continue
        operation = OPERATIONS.get(node.operation)
        known = operation is not None and not operation.random and node.get("body") is None
        if (
            not known
            or node.types[0].size > MOST
            or not (node.operands or node.operation in LEAVES)
        ):
            return None
        nodes[node.id] = node
        waiting += [v.node for v in node.operands]
    b = Builder(OPERATIONS)
    made: dict[int, tuple[Value, ...]] = {}
    for id in sorted(nodes):
        operands = [made[v.node.id][v.result] for v in nodes[id].operands]
        made[id] = b.several(nodes[id].operation, *operands, **dict(nodes[id].attributes))
    b.graph.results = {"index": made[index.node.id][index.result]}
    found: np.ndarray = run(b.graph, {}, OPERATIONS)["index"]
    return found.astype("i8")
