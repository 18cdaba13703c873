"""Rows by segment number: sums, means, extrema, softmax, counts. `:out` as in `gather` (R11)."""

from __future__ import annotations

from ...evaluator.values import NIL, Value, keyword
from ...ir.graph import Value as Node
from ...ir.types import FLOATS
from ..host import tracer
from ..promote import integer, node_of
from ..table import tensor_builtin
from ..tensor import Tensor
from ..tracer import Tracer
from .indexing import index_node, out_of
from .reductions import want_floats
from .shape import reshaped

ERROR = keyword("ERROR")


@tensor_builtin("segment-sum", "(x segments n &key (out :error))")
def segment_sum(x: Value, segments: Value, n: Value, *, out: Value = ERROR) -> Tensor:
    """Sums of the rows of x with one segment number. N, (n . rest). (segment-sum x ids 10)"""
    t = tracer("segment-sum")
    node, at = node_of("segment-sum", x, t), index_node("segment-sum", segments, t)
    count = integer("segment-sum", "n", n)
    return t.tensor(t.builder("segment-sum", node, at, n=count, out=out_of("segment-sum", out)))


@tensor_builtin("segment-mean", "(x segments n &key (out :error))")
def segment_mean(x: Value, segments: Value, n: Value, *, out: Value = ERROR) -> Tensor:
    """Means of the rows of x with one segment number; an empty one is 0. F.

    (segment-mean x ids 10)"""
    t = tracer("segment-mean")
    total = t.node(segment_sum(x, segments, n, out=out))
    b, at = t.builder, index_node("segment-mean", segments, t)
    ones = b.constant(1.0, total.dtype, at.shape)
    counts = b("segment-sum", ones, at, n=total.shape[0], out=out_of("segment-mean", out))
    least = b("maximum", counts, b.like(1.0, counts))
    column = reshaped(t, least, (total.shape[0],) + (1,) * (len(total.shape) - 1))
    return t.tensor(b("divide", total, column))


@tensor_builtin("bincount", "(x n &key weights (out :error))")
def bincount(x: Value, n: Value, *, weights: Value = NIL, out: Value = ERROR) -> Tensor:
    """How often each of 0 .. n-1 occurs, or its sum of weights. I, (n), i32. (bincount label 10)"""
    t = tracer("bincount")
    node = index_node("bincount", x, t)
    b, flat = t.builder, (node.type.size,)
    parts = b.constant(1, "i32", flat)
    if weights is not NIL:
        parts = reshaped(t, node_of("bincount", weights, t), flat)
    at = reshaped(t, node, flat)
    count = integer("bincount", "n", n)
    return t.tensor(b("segment-sum", parts, at, n=count, out=out_of("bincount", out)))


def _column(t: Tracer, node: Node, like: Node) -> Node:
    """One value a row, to broadcast over the rest of `like`."""
    return reshaped(t, node, (node.shape[0], *(1,) * (len(like.shape) - 1)))


def _extremum(t: Tracer, node: Node, at: Node, count: int, side: str, out: str) -> Node:
    """The greatest or least of each segment; an empty one has the start, the other extreme."""
    b, dtype = t.builder, node.dtype
    start = b.constant(_extreme(dtype, side), dtype, (count, *node.shape[1:]))
    return b(f"scatter-{side}", start, at, node, axis=0, out=out)


def _extreme(dtype: str, side: str) -> float | int:
    """What every number is above (max) or below."""
    if dtype in FLOATS:
        return float("-inf") if side == "max" else float("inf")
    bits = int(dtype[1:])
    if dtype[0] == "u":
        return 0 if side == "max" else (1 << bits) - 1
    half = 1 << (bits - 1)
    return -half if side == "max" else half - 1


def _define_extremum(side: str, says: str) -> None:
    name = f"segment-{side}"

    def call(x: Value, segments: Value, n: Value, *, out: Value = ERROR) -> Tensor:
        t = tracer(name)
        node, at = node_of(name, x, t), index_node(name, segments, t)
        count, how, b = integer(name, "n", n), out_of(name, out), t.builder
        found = _extremum(t, node, at, count, side, how)
        rows = b("segment-sum", b.constant(1, "i32", at.shape), at, n=count, out=how)
        empty = _column(t, b("equal", rows, b.like(0, rows)), found)
        zero = 0.0 if node.dtype in FLOATS else 0
        return t.tensor(b("where", empty, b.like(zero, found), found))

    call.__doc__ = (
        f"{says} of the rows of x with one segment number; an empty one is 0. N, (n . rest).\n\n"
        f"({name} x ids 10)"
    )
    tensor_builtin(name, "(x segments n &key (out :error))")(call)


_define_extremum("max", "The greatest")
_define_extremum("min", "The least")


@tensor_builtin("segment-softmax", "(x segments n &key (out :error))")
def segment_softmax(x: Value, segments: Value, n: Value, *, out: Value = ERROR) -> Tensor:
    """Softmax over the rows with one segment number; a row that is dropped is 0. F, shape of x.

    (segment-softmax x ids 10)"""
    name = "segment-softmax"
    t = tracer(name)
    node, at = node_of(name, x, t), index_node(name, segments, t)
    want_floats(name, node, x)
    count, how, b = integer(name, "n", n), out_of(name, out), t.builder
    most = b("stop-gradient", _extremum(t, node, at, count, "max", how))
    inside = b("less-equal", b.like(0, at), at)
    inside = b("logical-and", inside, b("less", at, b.like(count, at)))
    inside = _column(t, inside, node)
    own = b("where", inside, b("gather", most, at, axis=0, out=how), node)
    share = b("exp", b("subtract", node, own))
    total = b("segment-sum", share, at, n=count, out=how)
    whole = b("gather", total, at, axis=0, out=how)
    whole = b("where", inside, whole, b.like(1.0, whole))
    return t.tensor(b("where", inside, b("divide", share, whole), b.like(0.0, share)))


@tensor_builtin("unique-count", "(x n &key (out :error))")
def unique_count(x: Value, n: Value, *, out: Value = ERROR) -> Tensor:
    """How many different values of [0, n) occur. I, a scalar i32, gradient 0.

    (unique-count tokens 256)"""
    name = "unique-count"
    t = tracer(name)
    node, count, b = index_node(name, x, t), integer(name, "n", n), t.builder
    flat = reshaped(t, node, (node.type.size,))
    ones = b.constant(1, "i32", flat.shape)
    none = b.constant(0, "i32", (count,))
    seen = b("scatter-set", none, flat, ones, axis=0, out=out_of(name, out))
    return t.tensor(b("reduce-sum", seen, axes=(0,), keep=False))
