"""What a program lets the fields of its batch be: the sizes that a field of integers indexes.

Followed through what only moves, casts or chooses; arithmetic ends it. Where a position outside of
the axis is dropped or clipped by the program there is no bound.
"""

from __future__ import annotations

from ..ir import Graph
from ..ir.graph import Node, Value
from ..records import NamedTuple
from ..spans import Span

_MOVES = frozenset((
    "reshape", "permute", "slice", "concat", "broadcast-to", "cast", "pad", "flip", "barrier",
    "stop-gradient", "where", "gather",
))  # fmt: skip
"""Operations whose result holds elements of operands, and which: all but a condition or index."""


class Bound(NamedTuple):
    """A field's values are 0 to `size` - 1, or `ignored`. `where`: what indexes with it."""

    size: int
    operation: str
    where: Span | None
    ignored: int | None = None


def bounds(graph: Graph) -> dict[str, Bound]:
    """The tightest bound of each field of the batch that has one."""
    found: dict[str, Bound] = {}
    for node in graph.nodes:
        asked = _indexed(graph, node)
        if asked is None:
            continue
        bound, index = asked
        for field in _fields(index):
            if field not in found or bound.size < found[field].size:
                found[field] = bound
    return found


def _indexed(graph: Graph, node: Node) -> tuple[Bound, Value] | None:
    """The bound that an operation sets, and the operand that it is of."""
    if (
        node.operation not in ("gather", "take-along", "cross-entropy")
        or node.get("out", "error") != "error"
    ):
        return None
    x, index = node.operands[:2]
    if index.dtype not in ("i32", "i64", "u8", "u16", "u32", "i8", "i16"):
        return None  # soft targets
    origin = graph.origin(node)
    size = x.shape[node.get("axis")]
    where = origin.span if origin is not None else None
    return Bound(size, node.operation, where, node.get("ignore-index")), index


def _fields(value: Value) -> set[str]:
    """Fields of the batch whose elements a value holds."""
    found: set[str] = set()
    pending, seen = [value], set[int]()
    while pending:
        node = pending.pop().node
        if node.id in seen:
            continue
        seen.add(node.id)
        if node.operation == "input" and node.get("kind") == "batch":
            found.add(node.get("name"))
        elif node.operation == "where":
            pending += node.operands[1:]
        elif node.operation == "gather":
            pending.append(node.operands[0])
        elif node.operation in _MOVES:
            pending += node.operands
    return found
