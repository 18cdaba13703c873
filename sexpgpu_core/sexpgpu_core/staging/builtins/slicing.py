"""Builtins that take a part of a tensor or write over it: slice, slice-set, tref."""

from __future__ import annotations

from ...diagnostics import problem
from ...evaluator.builtins.listing import proper
from ...evaluator.values import NIL, Cons, T, Value
from ...ir.graph import Value as Node
from ..arguments import axis as axis_of
from ..arguments import integers
from ..faults import describe
from ..host import tracer
from ..promote import integer, node_of, operands
from ..table import tensor_builtin
from ..tensor import Tensor, is_tensor
from ..tracer import Tracer
from .shape import reshaped


def cut(t: Tracer, node: Node, axis: int, start: int, stop: int, step: int = 1) -> Node:
    """Elements start, start + step, ... below stop of one axis."""
    if (start, stop, step) == (0, node.shape[axis], 1):
        return node
    rank = len(node.shape)
    starts = tuple(start if a == axis else 0 for a in range(rank))
    stops = tuple(stop if a == axis else node.shape[a] for a in range(rank))
    steps = tuple(step if a == axis else 1 for a in range(rank))
    return t.builder("slice", node, starts=starts, stops=stops, steps=steps)


@tensor_builtin("slice", "(x &key (axis 0) start end size (step 1))")
def slice_(
    x: Value,
    *,
    axis: Value = 0,
    start: Value = NIL,
    end: Value = NIL,
    size: Value = NIL,
    step: Value = 1,
) -> Tensor:
    """A part of an axis, or of several given as lists; negative bounds count from the end.

    `:start` a scalar integer tensor with `:size`: clamped so that it fits. A.
    (slice x :axis 1 :end -1)"""
    t = tracer("slice")
    node = node_of("slice", x, t)
    if is_tensor(start):
        return t.tensor(_moving_slice(t, node, axis, t.node(start), size))
    places = integers("slice", "axis", axis)
    for i, a in enumerate(places):
        at = axis_of("slice", a, len(node.shape))
        bounds = [_pick("slice", v, i, len(places)) for v in (start, end, size, step)]
        node = _static_slice(t, node, at, *bounds)
    return t.tensor(node)


def _pick(name: str, value: Value, i: int, count: int) -> Value:
    if value.__class__ is not Cons:
        return value
    items = proper(name, value)
    if len(items) != count:
        raise problem("E-SHAPE-ARGUMENT", f"{name}: {len(items)} bounds for {count} axes")
    return items[i]


def _static_slice(
    t: Tracer, node: Node, at: int, start: Value, end: Value, size: Value, step: Value
) -> Node:
    n = node.shape[at]
    first = 0 if start is NIL else integer("slice", "start", start)
    first += n if first < 0 else 0
    if size is not NIL:
        last = first + integer("slice", "size", size)
    else:
        last = n if end is NIL else integer("slice", "end", end)
        last += n if last < 0 else 0
    stride = integer("slice", "step", step)
    if not (0 <= first <= last <= n and stride >= 1):
        raise problem(
            "E-SHAPE-SLICE",
            f"slice of {node.type}: {first} to {last} of axis {at}, which has {n}",
            hint=_slice_hint(first, last, n),
            axis=at,
            size=n,
        )
    return cut(t, node, at, first, last, stride)


def _slice_hint(first: int, last: int, n: int) -> str:
    if first > last:
        return "the start is at or before the end; (flip x) turns an axis round"
    return f"bounds are 0 to {n}; negative ones count from the end"


def _moving_slice(t: Tracer, node: Node, axis: Value, start: Node, size: Value) -> Node:
    b, at = t.builder, axis_of("slice", axis, len(node.shape))
    count = integer("slice", "size", size)
    last = node.shape[at] - count
    if last < 0:
        raise problem(
            "E-SHAPE-SLICE",
            f"slice of {node.type}: size {count} of axis {at}, which has {node.shape[at]}",
        )
    fitted = b("clip", start, b.like(0, start), b.like(last, start))
    index = b("add", b("iota", dtype=start.dtype, shape=(count,), axis=0), fitted)
    return b("gather", node, index, axis=at, out="drop")


@tensor_builtin("slice-set", "(x y &key (axis 0) start)")
def slice_set(x: Value, y: Value, *, axis: Value = 0, start: Value = 0) -> Tensor:
    """x with y written over it from start. A. (slice-set x y :axis 1 :start 3)"""
    t, (over, part) = operands("slice-set", (x, y))
    rank = len(over.shape)
    places = [axis_of("slice-set", a, rank) for a in integers("slice-set", "axis", axis)]
    at = [0] * rank
    for i, a in enumerate(places):
        bound = _pick("slice-set", 0 if start is NIL else start, i, len(places))
        first = integer("slice-set", "start", bound)
        at[a] = first + over.shape[a] if first < 0 else first
    return t.tensor(t.builder("slice-set", over, part, starts=tuple(at)))


@tensor_builtin("tref", "(x &rest index)")
def tref(x: Value, *index: Value) -> Tensor:
    """Axes dropped by an index each: a number, a scalar integer tensor, or t for the whole axis.

    A. (tref x t 0)"""
    t = tracer("tref")
    node, at = node_of("tref", x, t), 0
    if len(index) > len(node.shape):
        raise problem(
            "E-SHAPE-AXIS",
            f"tref of {describe(x)}: {len(index)} indices for {len(node.shape)} axes",
            hint="an index for each of the first axes; t takes a whole axis",
            rank=len(node.shape),
        )
    for i in index:
        if i is T:
            at += 1
            continue
        place = axis_of("tref", at, len(node.shape))
        rest = (*node.shape[:place], *node.shape[place + 1 :])
        if is_tensor(i):
            node = t.builder("gather", node, t.node(i), axis=place, out="error")
        else:
            n = node.shape[place]
            k = integer("tref", "index", i)
            if not -n <= k < n:
                raise problem(
                    "E-SHAPE-SLICE",
                    f"tref of {describe(x)}: index {k} of an axis of {n}",
                    hint=f"indices are 0 to {n - 1}; -1 is the last",
                    size=n,
                )
            node = reshaped(t, cut(t, node, place, k % n, k % n + 1), rest)
    return t.tensor(node)
