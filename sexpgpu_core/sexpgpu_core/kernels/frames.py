"""Frames: how values lie in a cluster, the nodes of one kernel over a linear index of N elements.

A value's *frame* is a weight for each of its axes: the index on the axis is (L div weight) mod size
of the linear index L. Reshape and permute only change the frame, so they need no code. A value is
*full* (it has all N elements) or a *row* value (it is constant along the innermost `inner`).
"""

from __future__ import annotations

import functools
from collections.abc import Set

from ..ir import Node, Value
from .prepare import INDEXED
from .views import MOVES, SHIFTING, THROUGH, dense_strides, narrowed, regroup, widened

Shape = tuple[int, ...]
Frame = tuple[int, ...]
Pieces = tuple[tuple[int, int], ...]
"""Intervals [low, high) of the linear index."""
UNKNOWN = -1


class Cluster:
    """Nodes of one kernel and the frames of the values it makes and reads."""

    __slots__ = (
        "breaks",
        "fold",
        "frames",
        "id",
        "inner",
        "late",
        "made",
        "nodes",
        "reduced",
        "size",
        "valid",
    )

    def __init__(self, id: int, size: int) -> None:
        self.id = id
        self.size = size
        self.inner: int | None = None
        self.late = False  # only commits need it
        self.fold: Pieces | None = None
        self.nodes: list[Node] = []
        self.frames: dict[Value, Frame] = {}
        self.made: set[Value] = set()
        self.reduced: dict[int, tuple[Frame, int]] = {}  # node -> operand's frame, fold or not
        self.breaks: set[int] = {1, size}
        self.valid: set[tuple[Shape, Frame]] = set()  # frames that were found to fit

    def frame(self, value: Value) -> Frame | None:
        """The frame of a value that is made or read here, UNKNOWN on axes nothing tells."""
        found = self.frames.get(value)
        if found is not None:
            return found
        node = value.node
        if node.operation not in MOVES or node.operation in SHIFTING:
            return None
        below = self.frame(node.operands[0])
        return None if below is None else forward(node, below)

    def fits(self, points: Set[int]) -> bool:
        """Whether breakpoints of axes divide one another with those that are here."""
        new = points - self.breaks
        return not new or all(a % b == 0 or b % a == 0 for a in new for b in self.breaks | points)


def forward(node: Node, frame: Frame) -> Frame | None:
    """The frame of a move's result from its operand's."""
    op, x, shape = node.operation, node.operands[0].shape, node.types[0].shape
    if op in THROUGH:
        return frame
    if op == "permute":
        return tuple(frame[a] for a in node.get("axes"))
    if op == "broadcast-to":
        wide = widened(x, frame, shape)
        lead = len(shape) - len(x)
        fresh = [n > 1 and (a < lead or x[a - lead] == 1) for a, n in enumerate(shape)]
        return tuple(UNKNOWN if f else w for f, w in zip(fresh, wide))
    return None if UNKNOWN in frame else regroup(x, frame, shape)


def backward(node: Node, frame: Frame) -> Frame | None:
    """The frame of a move's operand from its result's."""
    op, x, shape = node.operation, node.operands[0].shape, node.types[0].shape
    if op in THROUGH:
        return frame
    if op == "permute":
        found = [0] * len(x)
        for k, a in enumerate(node.get("axes")):
            found[a] = frame[k]
        return tuple(found)
    if op == "broadcast-to":
        return narrowed(x, frame)
    return regroup(shape, frame, x)


@functools.lru_cache(maxsize=4096)
def dense_frame(shape: Shape, unit: int = 1) -> Frame:
    """The frame of a value that lies row-major, its last axis at steps of `unit`."""
    return tuple([unit * s if n > 1 else 0 for n, s in zip(shape, dense_strides(shape))])


@functools.lru_cache(maxsize=4096)
def intervals(shape: Shape, frame: Frame) -> Pieces:
    """What of the linear index each axis of size > 1 takes, from low to high."""
    return tuple(sorted([(w, w * n) for n, w in zip(shape, frame) if n > 1]))


@functools.lru_cache(maxsize=4096)
def points(shape: Shape, frame: Frame) -> frozenset[int]:
    """Where the intervals of the axes begin and end."""
    return frozenset([p for piece in intervals(shape, frame) for p in piece])


@functools.lru_cache(maxsize=4096)
def along(shape: Shape, frame: Frame, axes: Shape) -> Pieces:
    """`intervals` of some of the axes."""
    return intervals(tuple([shape[a] for a in axes]), tuple([frame[a] for a in axes]))


@functools.lru_cache(maxsize=4096)
def runs(pieces: Pieces) -> Pieces:
    """Neighbouring intervals joined."""
    found: list[tuple[int, int]] = []
    for low, high in pieces:
        if found and found[-1][1] == low:
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    return tuple(found)


def axes_in_result(node: Node, k: int) -> Shape | None:
    """Where the axes of operand k stand in the result; None: it is read from its storage."""
    source, result = node.operands[k]
    op, rank = node.operation, len(source.types[result].shape)
    if op == "gather":
        if k == 0:
            return None
        axis, batch = node.get("axis"), node.get("batch-axes") or 0
        return (*range(batch), *(axis + a for a in range(rank - batch)))
    if op == "take-along":
        return None if k == 0 else tuple(range(rank))
    return last_axes(len(node.types[0].shape), rank)


@functools.lru_cache(maxsize=256)
def last_axes(rank: int, count: int) -> Shape:
    """The last axes of a rank, which an operand of lower rank is broadcast to."""
    return tuple(range(rank - count, rank))


def operand_frame(node: Node, k: int, frame: Frame) -> Frame | None:
    """The frame of operand k of an elementwise or indexing node from the result's."""
    source, result = node.operands[k]
    shape = source.types[result].shape
    if node.operation not in INDEXED:
        if not shape:
            return ()
        if shape == node.types[0].shape:
            return frame
        lead = len(frame) - len(shape)
        if lead < 0:
            return (0,) * len(shape)  # a reduction of one element
        return tuple([0 if n == 1 else w for n, w in zip(shape, frame[lead:])])
    axes = axes_in_result(node, k)
    if axes is None:
        return None
    return tuple([0 if n == 1 else frame[a] for n, a in zip(shape, axes)])


def base(value: Value) -> Value:
    """The value whose elements these are."""
    while value.node.operation in MOVES:
        value = value.node.operands[0]
    return value


@functools.lru_cache(maxsize=4096)
def size_of(shape: Shape) -> int:
    """Elements of a shape."""
    size = 1
    for n in shape:
        size *= n
    return size


LONG = 4096
"""A longer inner axis is cut where it can be, so that there are rows to share."""


def shortened(size: int) -> int:
    """A divisor of a long inner axis that vectors fill, or the size itself."""
    if size > LONG:
        for part in range(1024, 63, -16):
            if size % part == 0:
                return part
    return size


def same(a: Frame, b: Frame) -> bool:
    return all(x == y or UNKNOWN in (x, y) for x, y in zip(a, b))


@functools.lru_cache(maxsize=4096)
def lifted(shape: Shape, own: Shape, axes: Shape, frame: Frame) -> Frame:
    """What the frame of an operand of shape `own` says of the result's, whose `axes` are its."""
    known = [UNKNOWN if n > 1 else 0 for n in shape]
    for n, a, w in zip(own, axes, frame):
        if n > 1:
            known[a] = w
    return tuple(known)


def agreed(a: Frame, b: Frame) -> Frame | None:
    """What two frames say together, or None: they say otherwise of an axis."""
    if a == b:
        return a
    return tuple([y if x == UNKNOWN else x for x, y in zip(a, b)]) if same(a, b) else None


def foldable(fold: Pieces, size: int, inner: int | None) -> bool:
    """At most two runs are folded and one is kept, besides the innermost."""
    if len(fold) > 2:
        return False
    low = inner if inner is not None else fold[0][0]
    edges = [low, *(p for piece in fold for p in piece), size]
    gaps = sum(1 for a, b in zip(edges[::2], edges[1::2]) if b > a)
    return gaps <= 1
