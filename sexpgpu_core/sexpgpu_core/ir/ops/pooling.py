"""Max and average pooling over spatial axes (b n... c). Attributes sizes, strides, padding.

Padding is pairs; max-pool has dilations too, and never chooses padding.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any

from ...diagnostics import problem
from ..graph import Node, Value
from ..operation import Attributes, Cost, Fusion, Precision
from ..types import Type
from .convolution import window_count
from .op import Cotangents, Gradient, Infer, Op, Types
from .shapes import Shape, argument, check_count, size, text, want_float, want_number

if TYPE_CHECKING:
    from ..builder import Builder


def pooled_shape(op: Op, x: Shape, attributes: Attributes) -> Shape:
    """(b . out c); E-SHAPE-CONV."""
    sizes = attributes["sizes"]
    dilations = attributes.get("dilations") or (1,) * len(sizes)
    places = (sizes, attributes["strides"], dilations, attributes["padding"])
    if len(x) < 3 or any(len(p) != len(x) - 2 for p in places):
        raise problem("E-SHAPE-CONV", f"{op.name}: {text(x)}: a number a spatial axis")
    out = tuple(map(window_count, x[1:-1], *places))
    if min(out) < 1:
        raise problem(
            "E-SHAPE-CONV",
            f"{op.name} of {text(x)}: a window of {text(sizes)} does not fit into it",
            hint="x is (b n... channels); a smaller window, or :padding",
        )
    return (x[0], *out, x[-1])


def _max_pool(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 1)
    want_number(op, operands[0].dtype)
    return (Type(operands[0].dtype, pooled_shape(op, operands[0].shape, attributes)),)


def _avg_pool(op: Op, operands: Types, attributes: Attributes) -> Types:
    want_float(op, operands[0].dtype)
    return _max_pool(op, operands, attributes)


def _max_gradient(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 2)
    x, g = operands
    if g != Type(x.dtype, pooled_shape(op, x.shape, attributes)):
        raise argument(op, operands, "g has the type that max-pool of x gives")
    return (x,)


def _avg_gradient(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 1)
    g, shape = operands[0], attributes["input-shape"]
    if g.shape != pooled_shape(op, shape, attributes):
        raise argument(op, operands, f"not what avg-pool of {text(shape)} gives")
    return (Type(g.dtype, shape),)


def _max_back(b: Builder, node: Node, g: Value) -> Cotangents:
    return (b("max-pool-gradient", node.operands[0], g, **dict(node.attributes)),)


def _max_gradient_back(b: Builder, node: Node, u: Value) -> Cotangents:
    """u at the first greatest of each window; x moves which one that is nowhere but at ties."""
    (best, *others), (found, *more) = (
        _places(b, node, v, beyond) for v, beyond in ((node.operands[0], -math.inf), (u, 0.0))
    )
    for value, there in zip(others, more):
        greater = b("greater", value, best)
        found = b("where", greater, there, found)
        best = b("where", greater, value, best)
    return (None, found)


def _places(b: Builder, node: Node, x: Value, beyond: float) -> list[Value]:
    """Of each place of the windows, in order, what all windows have there; `beyond` in padding."""
    sizes, strides, padding = (node.get(n) for n in ("sizes", "strides", "padding"))
    apart = node.get("dilations") or (1,) * len(sizes)
    low, high = ((0, *(p[side] for p in padding), 0) for side in (0, 1))
    wide = b("pad", x, low=low, high=high, value=beyond) if any(low + high) else x
    count = node.operands[1].shape[1:-1]
    found = []
    for place in product(*map(range, sizes)):
        first = [p * d for p, d in zip(place, apart)]
        stops = [f + (n - 1) * s + 1 for f, n, s in zip(first, count, strides)]
        starts = (0, *first, 0)
        ends, steps = (x.shape[0], *stops, x.shape[-1]), (1, *strides, 1)
        found.append(b("slice", wide, starts=starts, stops=ends, steps=steps))
    return found


def _avg_back(b: Builder, node: Node, g: Value) -> Cotangents:
    shape: Any = {"input-shape": node.operands[0].shape}
    return (b("avg-pool-gradient", g, **dict(node.attributes), **shape),)


def _avg_gradient_back(b: Builder, node: Node, g: Value) -> Cotangents:
    rest = {k: v for k, v in node.attributes if k != "input-shape"}
    return (b("avg-pool", g, **rest),)


def _cost(operands: Types, results: Types, attributes: Attributes) -> Cost:
    out = min(operands[0].size, results[0].size)
    flops = out * size(attributes["sizes"])
    return Cost(flops, sum(t.bytes for t in operands), results[0].bytes)


def _axes(
    operands: Types, results: Types, attributes: Attributes
) -> tuple[tuple[int, int, int, str], ...]:
    last = results[0].rank - 1
    return tuple((a, k, a, "same") for k in range(len(operands)) for a in (0, last))


def _row(name: str, infer: Infer, doc: str, gradient: Gradient | str) -> Op:
    return Op(
        name,
        "pooling",
        Fusion.OPAQUE,
        Precision.FULL,
        infer,
        doc,
        gradient,
        cost=_cost,
        depends=_axes,
    )


ROWS = [
    _row(
        "max-pool",
        _max_pool,
        "The greatest of each window. Attributes sizes, strides, padding, dilations. Gradient: to "
        "the first greatest.",
        _max_back,
    ),
    _row(
        "max-pool-gradient",
        _max_gradient,
        "Operands x g: g at the first greatest of each window of x. Attributes of max-pool. "
        "Gradient: to g.",
        _max_gradient_back,
    ),
    _row(
        "avg-pool",
        _avg_pool,
        "The mean of each window. Attributes sizes, strides, padding, count-padding (else only "
        "elements of x count). Gradient: yes.",
        _avg_back,
    ),
    _row(
        "avg-pool-gradient",
        _avg_gradient,
        "The cotangent of avg-pool's x. Attributes of avg-pool, input-shape. Gradient: yes.",
        _avg_gradient_back,
    ),
]
