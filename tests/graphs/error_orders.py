"""Error bounds of extrema, orders and choices: known where the radii leave no other open."""

from __future__ import annotations

from typing import Any

import numpy as np
from balls import UNKNOWN, Ball, apart, apply, exact, unit, unknown

from sexpgpu_core.ir import Node
from sexpgpu_core.ir.types import FLOATS, Type


def extremum(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
    """The greatest moves no further than any of them."""
    (x,) = operands
    (found,) = apply(node, [x.center])
    if node.types[0].dtype not in FLOATS:
        return (unknown(found) if x.radius.any() else exact(found),)
    low, high = (apply(node, [x.center + sign * x.radius])[0] for sign in (-1, 1))
    radius = np.maximum(apart(found, low), apart(found, high))
    return (Ball(found, radius),)


def places(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
    """The index of an extremum: known where no other can be as great."""
    (x,) = operands
    axis, sign = node.get("axis"), -1 if node.operation == "argmin" else 1
    (found,) = apply(node, [x.center])
    found = found.reshape([1 if a == axis else n for a, n in enumerate(x.center.shape)])
    wide = x.center.astype("f8") * sign
    best = np.take_along_axis(wide, found.astype("i8"), axis)
    slack = np.take_along_axis(x.radius, found.astype("i8"), axis) + x.radius
    other = np.indices(wide.shape)[axis] != found
    open_ = other & (wide + slack >= best) & (slack > 0)
    lost = open_.any(axis, keepdims=True) | np.isnan(best + slack).any(axis, keepdims=True)
    shape = node.types[0].shape
    return (Ball(found.reshape(shape), np.where(lost, UNKNOWN, 0.0).reshape(shape)),)


def order(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
    """argsort: known where neighbours lie further apart than the row's radii."""
    (x,) = operands
    (found,) = apply(node, [x.center])
    axis = node.get("axis")
    if x.center.dtype.kind in "iub" or not x.radius.any():
        return (unknown(found) if x.radius.any() else exact(found),)
    ranked = np.take_along_axis(x.center, found.astype("i8"), axis)
    reach = 2 * x.radius.max(axis=axis, keepdims=True, initial=0.0)
    near = ~(np.abs(np.diff(ranked, axis=axis)) > reach)
    widths = [(0, 0)] * near.ndim
    widths[axis] = (1, 1)
    padded = np.pad(near, widths)
    first = [slice(None)] * near.ndim
    last = list(first)
    first[axis], last[axis] = slice(None, -1), slice(1, None)
    return (Ball(found, np.where(padded[tuple(first)] | padded[tuple(last)], UNKNOWN, 0.0)),)


def chosen(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
    """Places among sorted numbers: known where a value and an edge are further apart than their
    radii."""
    edges, x = operands
    (found,) = apply(node, [edges.center, x.center])
    if not (edges.radius.any() or x.radius.any()):
        return (exact(found),)
    reach = edges.radius.max(initial=0.0) + x.radius
    (low,) = apply(node, [edges.center, x.center - reach])
    (high,) = apply(node, [edges.center, x.center + reach])
    return (Ball(found, np.where((low != high) | ~np.isfinite(reach), UNKNOWN, 0.0)),)


def _shaken(ball: Ball, chance: Any, trial: int) -> Any:
    if ball.center.dtype.kind not in "f":
        return ball.center
    sides = chance.choice([-1.0, 1.0], ball.center.shape)
    alternate = np.where(np.indices(ball.center.shape).sum(0) % 2, -1.0, 1.0)
    return ball.center + ball.radius * (alternate * (-1) ** trial if trial < 2 else sides)


def sorted_(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
    """Sorting moves no value further than the farthest of its row; top-k likewise."""
    (x,) = operands
    axis = node.get("axis")
    most = x.radius.max(axis=axis, keepdims=True, initial=0.0)
    if node.operation == "sort":
        order = np.sort(x.center, axis=axis, kind="stable")
        center = np.flip(order, axis) if node.get("descending") else order
        return (Ball(center, np.broadcast_to(most, center.shape).copy()),)
    values, places = apply(node, [x.center])
    radius = np.broadcast_to(most, values.shape).copy()
    return Ball(values, radius), _first_of_order(node, x, places)


def _first_of_order(node: Node, x: Ball, places: Any) -> Ball:
    """The indices of top-k: the head of an order."""
    axis = node.get("axis")
    at = (("axis", axis), ("descending", not node.get("smallest")))
    whole = Node("argsort", node.operands, at, (Type("i32", x.center.shape),), "", 0, -1)
    (ranked,) = order(whole, [x])
    head = [slice(None)] * places.ndim
    head[axis] = slice(0, places.shape[axis])
    return Ball(places, ranked.radius[tuple(head)])


def pool_gradient(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
    """g at the greatest of each window: linear in g where the choice is known."""
    x, g = operands
    (found,) = apply(node, [x.center, g.center])
    chance = np.random.default_rng(0)
    lost = not (np.isfinite(x.radius).all() and np.isfinite(g.radius).all())
    for trial in range(8):
        (other,) = apply(node, [_shaken(x, chance, trial), g.center])
        lost = lost or bool((other != found).any())
    if lost:
        return (unknown(found),)
    (radius,) = apply(node, [x.center, g.radius])
    (size,) = apply(node, [x.center, np.abs(g.center)])
    return (Ball(found, radius + unit(node, 16) * (size + radius)),)


# ---- leaves and numbers of chance
