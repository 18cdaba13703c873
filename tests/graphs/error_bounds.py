"""How far a result may lie from its exact value: a center in f64 and a radius an element.

A forward error analysis by the graph itself. Each operation carries the radii of its operands on
(by its linear part where it has one, by the corners of the operands' intervals where it works
element by element) and adds its own roundings in its dtype. A discrete result that the radii leave
open has an infinite radius: it may be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from sexpgpu_core.ir import Graph, Node
from sexpgpu_core.ir.interpret import expansion
from sexpgpu_core.ir.operation import Fusion
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.types import FLOATS, Type, numpy_dtype

UNIT = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
"""Half the space between 1 and the next number."""
TINY = {"f64": 1e-300, "f32": 2.0**-125, "f16": 2.0**-24, "bf16": 2.0**-125}
"""What is lost below the normal numbers."""
HIGHEST = {"f64": 1.7e308, "f32": 3.4e38, "f16": 65504.0, "bf16": 3.38e38}
ROUNDINGS = {
    **dict.fromkeys(
        ["negate", "abs", "sign", "maximum", "minimum", "clip", "where", "floor", "ceiling"], 0
    ),
    **dict.fromkeys(["round", "truncate", "stop-gradient"], 0),
    **dict.fromkeys(["add", "subtract", "multiply", "square", "sqrt", "fma"], 1),
    **dict.fromkeys(["divide", "reciprocal", "cast"], 2),
    **dict.fromkeys(["mod", "rem", "rsqrt", "exp", "log", "sin", "cos", "tanh", "sigmoid"], 4),
    **dict.fromkeys(["power", "tan"], 16),
}
"""Units of the last place that an elementwise operation may be off by itself; else 8."""
MARGIN = 2.0
"""Corners are a sample of an interval."""
UNKNOWN = np.inf


class Ball(NamedTuple):
    center: Any
    radius: Any  # f64 of the center's shape; of bools and integers 0 or infinite


def exact(center: Any) -> Ball:
    return Ball(center, np.zeros(center.shape))


def unknown(center: Any) -> Ball:
    return Ball(center, np.full(center.shape, UNKNOWN))


def error_bounds(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, Ball]:
    """Balls of all results, for inputs that are exact."""
    with np.errstate(all="ignore"):
        given = {k: exact(np.asarray(v)) for k, v in inputs.items()}
        return _Walk(graph).results(given)


class _Walk:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.values: dict[tuple[int, int], Ball] = {}

    def results(self, given: Mapping[str, Ball]) -> dict[str, Ball]:
        live = self.graph.live()
        for node in self.graph.nodes:
            if node.id in live:
                operands = [self.values[v.node.id, v.result] for v in node.operands]
                for i, ball in enumerate(self._balls(node, operands, given)):
                    self.values[node.id, i] = ball
        return {n: self.values[v.node.id, v.result] for n, v in self.graph.results.items()}

    def _balls(
        self, node: Node, operands: list[Ball], given: Mapping[str, Ball]
    ) -> tuple[Ball, ...]:
        if node.operation == "input":
            ball = given[node.get("name")]
            dtype = numpy_dtype(_wide(node.types[0]).dtype)
            return (Ball(ball.center.astype(dtype), ball.radius),)
        rule = RULES.get(node.operation)
        parts = None if rule is not None else _parts(node)
        if parts is not None:
            found = _Walk(parts).results({str(i): b for i, b in enumerate(operands)})
            return tuple(found[str(i)] for i in range(len(node.types)))
        if rule is None:
            rule = _element if OPERATIONS[node.operation].fusion is Fusion.ELEMENT else _moved
        return tuple(_limited(b, t) for b, t in zip(rule(node, operands), node.types))


def _parts(node: Node) -> Graph | None:
    """A composite's expansion."""
    try:
        return expansion(node, OPERATIONS)
    except NotImplementedError:
        return None


def _wide(type: Type) -> Type:
    return type._replace(dtype="f64") if type.dtype in FLOATS else type


def _limited(ball: Ball, type: Type) -> Ball:
    """Beyond the dtype's range anything may be; below its normal numbers a little is lost."""
    if type.dtype not in FLOATS:
        return ball
    center, radius = ball
    radius = np.where(np.abs(center) + radius > HIGHEST[type.dtype], UNKNOWN, radius)
    radius = np.where(np.isnan(radius), UNKNOWN, radius)
    same = ~np.isfinite(center) & (ball.radius == 0)
    return Ball(center, np.where(same, 0.0, radius + (radius > 0) * TINY[type.dtype]))


def apply(node: Node, arrays: list[Any], **attributes: Any) -> tuple[Any, ...]:
    """The operation's reference, every float as f64."""
    types = tuple(_wide(t) for t in node.types)
    given = {**dict(node.attributes), **attributes}
    if node.operation == "bitcast":
        arrays = [arrays[0].astype(numpy_dtype(node.operands[0].dtype))]
        found = OPERATIONS["bitcast"].reference(tuple(arrays), given, node.types)
        return tuple(np.asarray(f) for f in found)
    found = OPERATIONS[node.operation].reference(tuple(arrays), given, types)
    return tuple(np.asarray(f) for f in found)


def _unit(node: Node, roundings: float, result: int = 0) -> float:
    """Relative error of roundings in f32 (or f64) and one to the result's own dtype."""
    dtype = node.types[result].dtype
    if dtype not in FLOATS:
        return 0.0
    inner = 2 * UNIT["f64"] if dtype == "f64" else UNIT["f32"]  # the center is rounded, too
    last = UNIT[dtype] if dtype in ("f16", "bf16") and roundings else 0.0
    return roundings * inner + last


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


def _element(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
    choices = [_corners(b) for b in operands]
    if len(operands) > 2:
        choices = [c[:3] for c in choices]
    first, *others = (apply(node, list(c))[0] for c in product(*choices))
    spread = np.zeros(first.shape)
    for other in others:
        spread = np.maximum(spread, _apart(first, other))
    for k, ball in enumerate(operands):
        lost = ~np.isfinite(ball.radius)
        if ball.center.dtype == bool:
            continue
        if lost.any():
            spread = np.where(_reaches(node, operands, k, lost), UNKNOWN, spread)
    if node.types[0].dtype not in FLOATS:
        return (Ball(first, np.where(spread > 0, UNKNOWN, 0.0)),)
    own = _unit(node, _roundings(node, operands)) * np.abs(first)
    return (Ball(first, np.where(own > 0, MARGIN, 1.0) * spread + own),)


def _equality(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
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


def _apart(x: Any, y: Any) -> Any:
    """How far two values of a result are from each other; 0 where both are the same special one."""
    if x.dtype.kind not in "f":
        return np.where(x != y, UNKNOWN, 0.0)
    same = (np.isnan(x) & np.isnan(y)) | (x == y)
    found = np.where(same, 0.0, np.abs(x - y))
    return np.where(np.isnan(found), UNKNOWN, found)


# ---- moves: elements change their places
def _moved(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
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
def _products(*data: int) -> Callable[[Node, list[Ball]], tuple[Ball, ...]]:
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
    return most - apply(node, sizes)[0] + _unit(node, float(terms.max(initial=0.0)) + 2) * most


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


def _scattered(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
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
    return (Ball(found, radius + _unit(node, float(terms.max(initial=0.0)) + 1) * (size + radius)),)


def _running(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
    """Sums along axes and running ones."""
    (x,) = operands
    (found,) = apply(node, [x.center])
    if node.types[0].dtype not in FLOATS:
        return (unknown(found) if x.radius.any() else exact(found),)
    (size,) = apply(node, [np.abs(x.center) + x.radius])
    (radius,) = apply(node, [x.radius])
    (terms,) = apply(node, [np.ones_like(x.center)])
    return (Ball(found, radius + _unit(node, float(terms.max(initial=0.0)) + 1) * size),)


def _factors(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
    """Products along axes and running ones."""
    (x,) = operands
    (found,) = apply(node, [x.center])
    if node.types[0].dtype not in FLOATS:
        return (unknown(found) if x.radius.any() else exact(found),)
    (most,) = apply(node, [np.abs(x.center) + x.radius])
    count = x.center.size // max(found.size, 1) if found.shape != x.center.shape else 64
    return (Ball(found, most - np.abs(found) + _unit(node, count + 2) * most),)


# ---- order
def _extremum(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
    """The greatest moves no further than any of them."""
    (x,) = operands
    (found,) = apply(node, [x.center])
    if node.types[0].dtype not in FLOATS:
        return (unknown(found) if x.radius.any() else exact(found),)
    low, high = (apply(node, [x.center + sign * x.radius])[0] for sign in (-1, 1))
    radius = np.maximum(_apart(found, low), _apart(found, high))
    return (Ball(found, radius),)


def _places(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
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


def _order(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
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


def _chosen(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
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


def _sorted(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
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
    (order,) = _order(whole, [x])
    head = [slice(None)] * places.ndim
    head[axis] = slice(0, places.shape[axis])
    return Ball(places, order.radius[tuple(head)])


def _pool_gradient(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
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
    return (Ball(found, radius + _unit(node, 16) * (size + radius)),)


# ---- leaves and numbers of chance
def _leaf(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
    return tuple(map(exact, apply(node, [b.center for b in operands])))


def _random(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
    (found,) = apply(node, [b.center for b in operands])
    if node.operation in ("random-bits", "random-bernoulli"):
        return (exact(found),)
    narrow = UNIT.get(node.types[0].dtype, 0.0) if node.types[0].dtype in ("f16", "bf16") else 0.0
    return (Ball(found, narrow * np.abs(found)),)


RULES: dict[str, Callable[[Node, list[Ball]], tuple[Ball, ...]]] = {
    **dict.fromkeys(["constant", "iota", "table"], _leaf),
    **dict.fromkeys(["random-bits", "random-uniform", "random-normal"], _random),
    "random-bernoulli": _random,
    **dict.fromkeys(["reduce-sum", "cumsum", "avg-pool", "avg-pool-gradient"], _running),
    **dict.fromkeys(["reduce-product", "cumprod"], _factors),
    **dict.fromkeys(["reduce-max", "reduce-min", "cummax", "cummin", "max-pool"], _extremum),
    **dict.fromkeys(["argmax", "argmin"], _places),
    "argsort": _order,
    **dict.fromkeys(["equal", "not-equal"], _equality),
    "searchsorted": _chosen,
    **dict.fromkeys(["reduce-any", "reduce-all"], _extremum),
    **dict.fromkeys(["sort", "top-k"], _sorted),
    **dict.fromkeys(["scatter-add", "add-along"], _scattered),
    **dict.fromkeys(
        ["matmul", "conv", "conv-input-gradient", "conv-weight-gradient"], _products(0, 1)
    ),
    "max-pool-gradient": _pool_gradient,
}
