"""Builtins that change a shape and move nothing: reshape, permute, broadcast and their kin."""

from __future__ import annotations

from ...diagnostics import problem
from ...evaluator.values import NIL, Value
from ...ir.graph import Value as Node
from ..arguments import axes as axes_of
from ..arguments import axis as axis_of
from ..arguments import integers, shape_text, sizes
from ..faults import describe
from ..host import tracer
from ..promote import node_of
from ..table import tensor_builtin
from ..tensor import Tensor
from ..tracer import Tracer


def reshaped(t: Tracer, node: Node, shape: tuple[int, ...]) -> Node:
    """The node itself where nothing changes."""
    return node if node.shape == shape else t.builder("reshape", node, shape=shape)


def permuted(t: Tracer, node: Node, order: tuple[int, ...]) -> Node:
    if order == tuple(range(len(order))):
        return node
    return t.builder("permute", node, axes=order)


@tensor_builtin("reshape", "(x shape)")
def reshape(x: Value, shape: Value) -> Tensor:
    """The same elements in another shape; one size may be -1. A. (reshape x (list b -1))"""
    t = tracer("reshape")
    node = node_of("reshape", x, t)
    wanted = list(integers("reshape", "shape", shape))
    total, known = node.type.size, 1
    for size in wanted:
        known *= 1 if size == -1 else size
    if wanted.count(-1) > 1 or any(size < -1 for size in wanted):
        raise _no_reshape(node, wanted, "one size may be -1, all others count elements")
    if -1 in wanted and known and total % known == 0:
        wanted[wanted.index(-1)] = total // known
        known = total
    if -1 in wanted:
        raise _no_reshape(node, wanted, f"{known} do not divide its {total} elements")
    if known != total:
        raise _no_reshape(node, wanted, f"{total} elements into {known}")
    return t.tensor(reshaped(t, node, tuple(wanted)))


def _no_reshape(node: Node, wanted: list[int], why: str) -> Exception:
    return problem(
        "E-SHAPE-RESHAPE",
        f"reshape of {node.type} to {shape_text(wanted)}: {why}",
        hint="the sizes multiply to as many elements; -1 stands for the one that is left",
        shape=list(node.shape),
        wanted=wanted,
    )


@tensor_builtin("flatten", "(x &key (start 0) (end nil))")
def flatten(x: Value, *, start: Value = 0, end: Value = NIL) -> Tensor:
    """Axes start to end - 1 merged to one; end nil is all. A. (flatten x :start 1)"""
    t = tracer("flatten")
    node = node_of("flatten", x, t)
    rank = len(node.shape)
    first = axis_of("flatten", start, rank) if rank else 0
    last = rank if end is NIL else axis_of("flatten", end, rank + 1)
    merged = 1
    for size in node.shape[first:last]:
        merged *= size
    return t.tensor(reshaped(t, node, (*node.shape[:first], merged, *node.shape[last:])))


@tensor_builtin("transpose", "(x &key (axis '(-2 -1)))")
def transpose(x: Value, *, axis: Value = None) -> Tensor:
    """Two axes swapped, the last two by default; a whole order is `permute`. A. (transpose x)"""
    t = tracer("transpose")
    node = node_of("transpose", x, t)
    rank = len(node.shape)
    pair = (-2, -1) if axis is None else integers("transpose", "axis", axis)
    if len(pair) != 2:
        raise problem(
            "E-SHAPE-AXIS", "transpose swaps two axes", hint="a whole order is (permute x axes)"
        )
    i, j = (axis_of("transpose", a, rank) for a in pair)
    order = list(range(rank))
    order[i], order[j] = j, i
    return t.tensor(permuted(t, node, tuple(order)))


@tensor_builtin("permute", "(x axes)")
def permute(x: Value, axes: Value) -> Tensor:
    """Axis i of the result is axis (nth i axes) of x; axes names all. A. (permute x '(0 2 1))"""
    t = tracer("permute")
    node = node_of("permute", x, t)
    rank = len(node.shape)
    order = tuple(axis_of("permute", a, rank) for a in integers("permute", "axes", axes))
    if sorted(order) != list(range(rank)):
        raise problem(
            "E-SHAPE-AXIS",
            f"permute of {describe(x)}: {shape_text(order)} is no order of its axes",
            hint=f"each of its {rank} axes once",
        )
    return t.tensor(permuted(t, node, order))


@tensor_builtin("move-axis", "(x from to)")
def move_axis(x: Value, source: Value, target: Value) -> Tensor:
    """An axis moved to another place. A. (move-axis x 1 -1)"""
    t = tracer("move-axis")
    node = node_of("move-axis", x, t)
    rank = len(node.shape)
    start, stop = (axis_of("move-axis", a, rank) for a in (source, target))
    order = [a for a in range(rank) if a != start]
    order.insert(stop, start)
    return t.tensor(permuted(t, node, tuple(order)))


@tensor_builtin("expand", "(x shape)")
def expand(x: Value, shape: Value) -> Tensor:
    """Axes of size 1 grown to shape; -1 keeps a size. A. (expand x '(-1 8))"""
    t = tracer("expand")
    node = node_of("expand", x, t)
    wanted = list(integers("expand", "shape", shape))
    lead = len(wanted) - len(node.shape)
    for i, size in enumerate(wanted):
        if size == -1 and i >= lead:
            wanted[i] = node.shape[i - lead]
    return t.tensor(_broadcast(t, node, sizes("expand", _list(wanted))))


def _list(items: list[int]) -> Value:
    from ...evaluator.values import make_list

    return make_list(items)


def _broadcast(t: Tracer, node: Node, shape: tuple[int, ...]) -> Node:
    return node if node.shape == shape else t.builder("broadcast-to", node, shape=shape)


@tensor_builtin("broadcast-to", "(x shape)")
def broadcast_to(x: Value, shape: Value) -> Tensor:
    """x in a shape that its own broadcasts to. A. (broadcast-to x (list b n d))"""
    t = tracer("broadcast-to")
    node = node_of("broadcast-to", x, t)
    return t.tensor(_broadcast(t, node, sizes("broadcast-to", shape)))


@tensor_builtin("broadcast-like", "(x y)")
def broadcast_like(x: Value, y: Value) -> Tensor:
    """x in the shape of y. A. (broadcast-like bias x)"""
    t = tracer("broadcast-like")
    shape = node_of("broadcast-like", y, t).shape
    return t.tensor(_broadcast(t, node_of("broadcast-like", x, t), shape))


@tensor_builtin("squeeze", "(x &key axis)")
def squeeze(x: Value, *, axis: Value = NIL) -> Tensor:
    """Without axes of size 1: all of them, or those named. A. (squeeze x :axis -1)"""
    t = tracer("squeeze")
    node = node_of("squeeze", x, t)
    rank = len(node.shape)
    if axis is NIL:
        gone = tuple(i for i, size in enumerate(node.shape) if size == 1)
    else:
        gone = axes_of("squeeze", axis, rank)
    for i in gone:
        if node.shape[i] != 1:
            raise problem(
                "E-SHAPE-ARGUMENT",
                f"squeeze of {describe(x)}: axis {i} has size {node.shape[i]}, not 1",
                hint="take one of them by (tref x ...), or reduce the axis",
            )
    return t.tensor(reshaped(t, node, tuple(s for i, s in enumerate(node.shape) if i not in gone)))


@tensor_builtin("unsqueeze", "(x axis)")
def unsqueeze(x: Value, axis: Value) -> Tensor:
    """With axes of size 1 at the places named, counted in the result. A. (unsqueeze x 1)"""
    t = tracer("unsqueeze")
    node = node_of("unsqueeze", x, t)
    places = integers("unsqueeze", "axis", axis)
    rank = len(node.shape) + len(places)
    shape = list(node.shape)
    for i in sorted(axis_of("unsqueeze", a, rank) for a in places):
        shape.insert(i, 1)
    return t.tensor(reshaped(t, node, tuple(shape)))
