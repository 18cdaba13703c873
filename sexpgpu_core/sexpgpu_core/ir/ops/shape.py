"""Shape operations: views and copies. Attributes are static, axes are counted from the front."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...diagnostics import problem
from ..graph import Node, Value
from ..operation import Attributes, Fusion, Precision
from ..types import Type, broadcast
from .op import Cotangents, Depends, Gradient, Infer, Op, Types, move_cost
from .shapes import (
    Shape,
    argument,
    check_axes,
    check_axis,
    check_count,
    same_dtype,
    size,
    text,
    unbroadcast,
    wanted,
)

if TYPE_CHECKING:
    from ..builder import Builder

Axes = tuple[tuple[int, int, int, str], ...]


def zeros(b: Builder, like: Value) -> Value:
    """A splat of zero of a value's type."""
    return b.constant(0 if like.dtype[0] in "iu" else 0.0, like.dtype, like.shape)


def _one(op: Op, operands: Types) -> Type:
    if len(operands) != 1:
        check_count(op, operands, 1)
    return operands[0]


def _broadcast_to(op: Op, operands: Types, attributes: Attributes) -> Types:
    x, shape = _one(op, operands), attributes["shape"]
    if broadcast(x.shape, shape) != shape:
        raise problem(
            "E-SHAPE-BROADCAST",
            f"broadcast-to of {x}: it does not broadcast to {text(shape)}",
            hint="axes of size 1 grow, and axes are put in front; all others stay",
            operation=op.name,
            shapes=[x.shape, shape],
        )
    return (Type(x.dtype, shape),)


def _reshape(op: Op, operands: Types, attributes: Attributes) -> Types:
    x, shape = _one(op, operands), attributes["shape"]
    if size(shape) != x.size:
        raise problem(
            "E-SHAPE-RESHAPE",
            f"reshape of {x} to {text(shape)}: {x.size} elements into {size(shape)}",
            operation=op.name,
            shapes=[x.shape, shape],
        )
    return (Type(x.dtype, shape),)


def _permute(op: Op, operands: Types, attributes: Attributes) -> Types:
    x, axes = _one(op, operands), attributes["axes"]
    if sorted(axes) != list(range(x.rank)):
        raise problem(
            "E-SHAPE-AXIS",
            f"permute: {text(axes)} is no order of the {x.rank} axes of {x}",
            operation=op.name,
            axes=axes,
        )
    return (Type(x.dtype, tuple(x.shape[a] for a in axes)),)


def slice_size(start: int, stop: int, step: int) -> int:
    """Elements from start up to stop by step."""
    return max(0, -((start - stop) // step))


def _slice(op: Op, operands: Types, attributes: Attributes) -> Types:
    x = _one(op, operands)
    starts, stops, steps = attributes["starts"], attributes["stops"], attributes["steps"]
    if not len(starts) == len(stops) == len(steps) == x.rank:
        raise problem("E-SHAPE-SLICE", f"slice: {x}: starts, stops and steps for every axis")
    for axis, (start, stop, step, n) in enumerate(zip(starts, stops, steps, x.shape)):
        if not (0 <= start <= stop <= n and step > 0):
            raise problem(
                "E-SHAPE-SLICE",
                f"slice: {x}: {start} to {stop} by {step} of axis {axis} with size {n}",
                operation=op.name,
                axis=axis,
                size=n,
            )
    return (Type(x.dtype, tuple(map(slice_size, starts, stops, steps))),)


def _slice_set(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 2)
    x, y = operands
    same_dtype(op, operands)
    starts = attributes["starts"]
    fits = len(starts) == x.rank == y.rank and all(
        s >= 0 and s + n <= m for s, n, m in zip(starts, y.shape, x.shape)
    )
    if not fits:
        raise problem(
            "E-SHAPE-SLICE",
            f"slice-set of {x} and {y}: y does not fit into x from {text(starts)} on",
            operation=op.name,
            shapes=[x.shape, y.shape],
        )
    return (x,)


def _pad(op: Op, operands: Types, attributes: Attributes) -> Types:
    x, low, high = _one(op, operands), attributes["low"], attributes["high"]
    inner = attributes.get("interior") or (0,) * x.rank
    counts = (*low, *high, *inner)
    if not len(low) == len(high) == len(inner) == x.rank or min(counts, default=0) < 0:
        raise argument(op, operands, f"widths {text(low)} and {text(high)}: one >= 0 an axis")
    shape = tuple(a + n + h + i * max(0, n - 1) for a, n, h, i in zip(low, x.shape, high, inner))
    return (Type(x.dtype, shape),)


def _concat(op: Op, operands: Types, attributes: Attributes) -> Types:
    axis = attributes["axis"]
    if not operands:
        check_count(op, operands, 1)
    first = operands[0]
    same_dtype(op, operands)
    check_axis(op, axis, first.rank)
    rest = first.shape[:axis] + first.shape[axis + 1 :]
    for t in operands:
        if t.rank != first.rank or t.shape[:axis] + t.shape[axis + 1 :] != rest:
            raise argument(op, operands, f"they differ on an axis other than {axis}")
    total = sum(t.shape[axis] for t in operands)
    return (Type(first.dtype, (*first.shape[:axis], total, *first.shape[axis + 1 :])),)


def _flip(op: Op, operands: Types, attributes: Attributes) -> Types:
    x = _one(op, operands)
    check_axes(op, attributes["axes"], x.rank)
    return (x,)


def _slice_back(b: Builder, node: Node, g: Value) -> Cotangents:
    x = node.operands[0]
    starts, steps = node.get("starts"), node.get("steps")
    spans = [1 + (n - 1) * s if n else 0 for n, s in zip(g.shape, steps)]
    high = tuple(n - a - span for n, a, span in zip(x.shape, starts, spans))
    interior = tuple(s - 1 for s in steps)
    return (_padded(b, g, starts, high, interior),)


def _padded(b: Builder, g: Value, low: Shape, high: Shape, interior: Shape) -> Value:
    inner = interior if any(interior) else None
    zero = 0 if g.dtype[0] in "iu" else 0.0
    return b("pad", g, low=low, high=high, interior=inner, value=zero)


def _slice_set_back(b: Builder, node: Node, g: Value) -> Cotangents:
    x, y = node.operands
    starts = node.get("starts")
    stops = tuple(s + n for s, n in zip(starts, y.shape))
    at = {"starts": starts, "stops": stops, "steps": (1,) * len(starts)}
    return (
        b("slice-set", g, zeros(b, y), starts=starts) if wanted(b, x) else None,
        b("slice", g, **at) if wanted(b, y) else None,
    )


def _pad_back(b: Builder, node: Node, g: Value) -> Cotangents:
    low, x = node.get("low"), node.operands[0]
    steps = tuple(1 + i for i in node.get("interior") or (0,) * len(low))
    stops = tuple(a + (1 + (n - 1) * s if n else 0) for a, n, s in zip(low, x.shape, steps))
    return (b("slice", g, starts=low, stops=stops, steps=steps),)


def _concat_back(b: Builder, node: Node, g: Value) -> Cotangents:
    axis, at = node.get("axis"), 0
    found: list[Value | None] = []
    for x in node.operands:
        end = at + x.shape[axis]
        found.append(cut(b, g, axis, at, end) if wanted(b, x) else None)
        at = end
    return tuple(found)


def cut(b: Builder, x: Value, axis: int, start: int, stop: int) -> Value:
    """x from start to stop of one axis."""
    starts, stops = [0] * len(x.shape), list(x.shape)
    starts[axis], stops[axis] = start, stop
    return b("slice", x, starts=tuple(starts), stops=tuple(stops), steps=(1,) * len(x.shape))


def inverse(axes: Shape) -> Shape:
    """The permutation that undoes one."""
    back = [0] * len(axes)
    for i, a in enumerate(axes):
        back[a] = i
    return tuple(back)


def _axes_broadcast(operands: Types, results: Types, attributes: Attributes) -> Axes:
    lead = results[0].rank - operands[0].rank
    return tuple((lead + a, 0, a, "same") for a in range(operands[0].rank))


def _axes_reshape(operands: Types, results: Types, attributes: Attributes) -> Axes:
    """Axes keep their meaning where the sizes before them multiply to the same."""
    x, y = operands[0].shape, results[0].shape
    if 0 in x:
        return ()
    ends = {size(y[:j]): j for j in range(len(y) - 1, -1, -1)}
    rows = []
    for i, n in enumerate(x):
        j = ends.get(size(x[:i]))
        while j is not None and j < len(y) and y[j] == 1 != n:
            j += 1
        if j is not None and j < len(y) and y[j] == n and n != 1:
            rows.append((j, 0, i, "same"))
    return tuple(rows)


def _axes_permute(operands: Types, results: Types, attributes: Attributes) -> Axes:
    return tuple((i, 0, a, "same") for i, a in enumerate(attributes["axes"]))


def _axes_slice(operands: Types, results: Types, attributes: Attributes) -> Axes:
    whole = zip(attributes["starts"], attributes["steps"])
    return tuple((a, 0, a, _moved(s, k)) for a, (s, k) in enumerate(whole))


def _moved(start: int, step: int) -> str:
    if step != 1:
        return "all"
    return "shift" if start else "same"


def _axes_pad(operands: Types, results: Types, attributes: Attributes) -> Axes:
    inner = attributes.get("interior") or (0,) * len(attributes["low"])
    # A pad at the front moves values to later places: what stands at i comes from before it.
    return tuple(
        (a, 0, a, "all" if i else "le" if n else "same")
        for a, (n, i) in enumerate(zip(attributes["low"], inner))
    )


def _axes_other(operands: Types, results: Types, attributes: Attributes) -> Axes:
    """All axes but those named keep their place: concat, flip."""
    named = attributes.get("axes") or (attributes.get("axis"),)
    return tuple(
        (a, k, a, "same") for k, t in enumerate(operands) for a in range(t.rank) if a not in named
    )


def _axes_slice_set(operands: Types, results: Types, attributes: Attributes) -> Axes:
    first = tuple((a, 0, a, "same") for a in range(operands[0].rank))
    return first + tuple(
        (a, 1, a, "le" if s else "same") for a, s in enumerate(attributes["starts"])
    )


def _move(name: str, infer: Infer, doc: str, gradient: Gradient, depends: Depends) -> Op:
    return Op(
        name,
        "shape",
        Fusion.MOVE,
        Precision.EXACT,
        infer,
        f"{doc} Any dtype. Gradient: yes.",
        gradient,
        cost=move_cost,
        depends=depends,
        raw=True,
    )


ROWS = [
    _move(
        "broadcast-to",
        _broadcast_to,
        "To attribute shape, by the rule of broadcasting.",
        lambda b, node, g: (unbroadcast(b, g, node.operands[0].shape),),
        _axes_broadcast,
    ),
    _move(
        "reshape",
        _reshape,
        "The same elements in row-major order as attribute shape.",
        lambda b, node, g: (b("reshape", g, shape=node.operands[0].shape),),
        _axes_reshape,
    ),
    _move(
        "permute",
        _permute,
        "Axis i of the result is axis axes[i] of x.",
        lambda b, node, g: (b("permute", g, axes=inverse(node.get("axes"))),),
        _axes_permute,
    ),
    _move(
        "slice",
        _slice,
        "Attributes starts, stops, steps (positive): a number an axis.",
        _slice_back,
        _axes_slice,
    ),
    _move(
        "slice-set",
        _slice_set,
        "x with y written over it from attribute starts (a number an axis). Operands x y.",
        _slice_set_back,
        _axes_slice_set,
    ),
    _move(
        "pad",
        _pad,
        "Attribute value put before (low), after (high) and between (interior, optional).",
        _pad_back,
        _axes_pad,
    ),
    _move(
        "concat",
        _concat,
        "Operands one after another on attribute axis.",
        _concat_back,
        _axes_other,
    ),
    _move(
        "flip",
        _flip,
        "Attribute axes in reverse order.",
        lambda b, node, g: (b("flip", g, axes=node.get("axes")),),
        _axes_other,
    ),
]
