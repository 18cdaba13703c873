"""Error bounds of what works element by element, of moves, and of sums of products."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from balls import UNIT, UNKNOWN, Ball, apart, apply, exact, unit, unknown

from sexpgpu_core.ir import Node
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.types import FLOATS, Type

ROUNDINGS = {
    **dict.fromkeys(
        ["negate", "abs", "sign", "maximum", "minimum", "clip", "where", "floor", "ceiling"], 0
    ),
    **dict.fromkeys(["round", "truncate", "stop-gradient"], 0),
    **dict.fromkeys(["add", "subtract", "multiply", "square", "sqrt", "fma"], 1),
    **dict.fromkeys(["divide", "reciprocal", "cast"], 2),
    **dict.fromkeys(["mod", "rem", "rsqrt", "exp", "log", "sin", "cos"], 4),
    **dict.fromkeys(["tanh", "sigmoid", "erf"], 9),
    **dict.fromkeys(["power", "tan"], 16),
}
"""Units of the last place that an elementwise operation may be off by itself; else 8."""
MARGIN = 2.0
"""Corners are a sample of an interval."""


# ---- element by element
def _corners(ball: Ball) -> list[Any]:
    """The center first, then what else the operand may be."""
    center, radius = ball
    if center.dtype == bool:
        return [center, center ^ (radius > 0)] if radius.any() else [center]
    if center.dtype.kind in "iu" or not radius.any():
        return [center]
    r = np.where(np.isfinite(radius), radius, 0.0)
    return [center, center - r, center + r, center - r / 2, center + r / 2]


def element(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
    choices = [_corners(b) for b in operands]
    if len(operands) > 2:
        choices = [c[:3] for c in choices]
    first, *others = (apply(node, list(c))[0] for c in product(*choices))
    spread = np.zeros(first.shape)
    for other in others:
        spread = np.maximum(spread, apart(first, other))
    for k, ball in enumerate(operands):
        lost = ~np.isfinite(ball.radius)
        if ball.center.dtype == bool:
            continue
        if lost.any():
            spread = np.where(_reaches(node, operands, k, lost), UNKNOWN, spread)
    if node.types[0].dtype not in FLOATS:
        return (Ball(first, np.where(spread > 0, UNKNOWN, 0.0)),)
    spread = np.where(_broken(node, operands), UNKNOWN, spread)
    own = unit(node, _roundings(node, operands)) * np.abs(first)
    return (Ball(first, np.where(own > 0, MARGIN, 1.0) * spread + own),)


def _broken(node: Node, operands: list[Ball]) -> Any:
    """Where the corners do not tell the interval: a divisor may be 0; an angle of a y whose sign
    is not known, or is that of a zero, jumps by a turn."""
    if node.operation in ("divide", "reciprocal", "rsqrt"):
        below = operands[-1]
        return (below.radius > 0) & _may_be_zero(below)
    if node.operation == "atan2":
        y, x = operands
        return _may_be_zero(y) & (x.center - x.radius <= 0)
    return False


def _may_be_zero(ball: Ball) -> Any:
    return np.abs(ball.center) <= ball.radius


def equality(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
    """Whether two numbers are one: open where their intervals meet."""
    x, y = operands
    (found,) = apply(node, [x.center, y.center])
    reach = x.radius + y.radius
    apart = np.abs(x.center.astype("f8") - y.center.astype("f8"))
    open_ = (reach > 0) & ~(apart > reach)
    return (Ball(found, np.where(np.broadcast_to(open_, found.shape), UNKNOWN, 0.0)),)


def _roundings(node: Node, operands: list[Ball]) -> float:
    if node.operation == "cast":
        return 1.0 if _narrows(node.operands[0].dtype, node.types[0].dtype) else 0.0
    return float(ROUNDINGS.get(node.operation, 8))


def _narrows(given: str, dtype: str) -> bool:
    return given == "bool" or given not in UNIT or UNIT[given] < UNIT[dtype] or dtype == "f16"


def _reaches(node: Node, operands: list[Ball], k: int, lost: Any) -> Any:
    """Where a result depends on an operand of which nothing is known."""
    shape = node.types[0].shape
    wide = np.broadcast_to(lost, shape)
    if node.operation != "where" or k == 0:
        return wide
    test = operands[0]
    taken = test.center if k == 1 else ~test.center
    return wide & (np.broadcast_to(taken, shape) | (np.broadcast_to(test.radius, shape) > 0))


# ---- moves: elements change their places
def moved(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
    """Radii move as their elements do; where an index is not known, nothing is."""
    found = apply(node, [b.center for b in operands])
    indices = [
        b for v, b in zip(node.operands, operands) if v.dtype not in FLOATS and b.radius.any()
    ]
    if node.operation in INDEXED and indices:
        return tuple(unknown(f) for f in found)
    floats = [
        b.radius if i in DATA.get(node.operation, (i,)) else b.center
        for i, b in enumerate(operands)
    ]
    more = {"value": 0.0} if node.operation == "pad" else {}
    if not any(b.radius.any() for b in operands):
        return tuple(map(exact, found))
    types = tuple(Type("f64", t.shape) for t in node.types)
    given = {**dict(node.attributes), **more}
    radii = OPERATIONS[node.operation].reference(tuple(floats), given, types)
    return tuple(Ball(f, np.asarray(r)) for f, r in zip(found, radii))


INDEXED = ("gather", "take-along", "scatter-set", "put-along", "index-guard")
DATA = {"gather": (0,), "take-along": (0,), "scatter-set": (0, 2), "put-along": (0, 2)}
"""Operands that are data; the others are indices."""


# ---- linear in each operand
def products(*data: int) -> Callable[[Node, list[Ball]], tuple[Ball, ...]]:
    """Sums of products of the operands `data`: |x| r_y + r_x |y| + r_x r_y, and a rounding a
    term."""

    def rule(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
        (found,) = apply(node, [b.center for b in operands])
        if node.types[0].dtype not in FLOATS:
            lost = any(b.radius.any() for b in operands)
            return (unknown(found) if lost else exact(found),)
        if any(not np.isfinite(b.radius).all() for b in operands):
            return _where_lost(node, operands, found, data)
        return (Ball(found, _product_radius(node, operands, data)),)

    return rule


def _product_radius(node: Node, operands: list[Ball], data: tuple[int, ...]) -> Any:
    sizes = [np.abs(b.center) if i in data else b.center for i, b in enumerate(operands)]
    grown = [s + b.radius if i in data else s for i, (s, b) in enumerate(zip(sizes, operands))]
    ones = [np.ones_like(s) if i in data else s for i, s in enumerate(sizes)]
    terms = apply(node, ones)[0]
    most = apply(node, grown)[0]
    return most - apply(node, sizes)[0] + unit(node, float(terms.max(initial=0.0)) + 2) * most


def _where_lost(
    node: Node, operands: list[Ball], found: Any, data: tuple[int, ...]
) -> tuple[Ball, ...]:
    """Unknown where an unknown element takes part."""
    marks = [
        np.where(np.isfinite(b.radius), 0.0, 1.0) if i in data else b.center
        for i, b in enumerate(operands)
    ]
    kept = [b._replace(radius=np.where(np.isfinite(b.radius), b.radius, 0.0)) for b in operands]
    radius = _product_radius(node, kept, data)
    for k in data:
        arrays = [
            marks[i] if i == k else np.ones_like(b.center) if i in data else b.center
            for i, b in enumerate(operands)
        ]
        radius = np.where(apply(node, arrays)[0] > 0, UNKNOWN, radius)
    return (Ball(found, radius),)


def scattered(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
    """x with y added: linear in both, if the index is known."""
    x, index, y = operands
    (found,) = apply(node, [x.center, index.center, y.center])
    if index.radius.any() or (
        node.types[0].dtype not in FLOATS and (x.radius.any() or y.radius.any())
    ):
        return (unknown(found),)
    if node.types[0].dtype not in FLOATS:
        return (exact(found),)
    (radius,) = apply(node, [x.radius, index.center, y.radius])
    (size,) = apply(node, [np.abs(x.center), index.center, np.abs(y.center)])
    (terms,) = apply(node, [np.zeros_like(x.center), index.center, np.ones_like(y.center)])
    return (Ball(found, radius + unit(node, float(terms.max(initial=0.0)) + 1) * (size + radius)),)


def running(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
    """Sums along axes and running ones; a mean of a window is a sum of parts of it."""
    (x,) = operands
    (found,) = apply(node, [x.center])
    if node.types[0].dtype not in FLOATS:
        return (unknown(found) if x.radius.any() else exact(found),)
    (size,) = apply(node, [np.abs(x.center) + x.radius])
    (radius,) = apply(node, [x.radius])
    if node.get("sizes"):
        terms = float(math.prod(node.get("sizes")) + 1)
    else:
        terms = float(apply(node, [np.ones_like(x.center)])[0].max(initial=0.0))
    return (Ball(found, radius + unit(node, terms + 1) * size),)


def factors(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
    """Products along axes and running ones."""
    (x,) = operands
    (found,) = apply(node, [x.center])
    if node.types[0].dtype not in FLOATS:
        return (unknown(found) if x.radius.any() else exact(found),)
    (most,) = apply(node, [np.abs(x.center) + x.radius])
    count = x.center.size // max(found.size, 1) if found.shape != x.center.shape else 64
    return (Ball(found, most - np.abs(found) + unit(node, count + 2) * most),)


# ---- order
