"""Losses as composites: one value a label (R18), computed from logits without overflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph import Node, Value
from ..operation import Attributes, Cost, Fusion, Precision
from ..types import FLOATS, Type, full_float
from .activation import plus, softplus, times
from .elementwise_arithmetic import zero_unless
from .op import Cotangents, Op, Types
from .shapes import (
    argument,
    broadcast_shape,
    check_axis,
    check_count,
    same_dtype,
    unbroadcast,
    want_float,
    want_integer,
    wanted,
)

if TYPE_CHECKING:
    from ..builder import Builder


def _infer_cross_entropy(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 2)
    x, labels = operands
    axis = attributes["axis"]
    want_float(op, x.dtype)
    check_axis(op, axis, x.rank)
    rest = x.shape[:axis] + x.shape[axis + 1 :]
    if labels.dtype in FLOATS:
        same_dtype(op, operands)
        if labels.shape != x.shape:
            raise argument(op, operands, "targets that are floats have the shape of the logits")
    else:
        want_integer(op, labels.dtype)
        if labels.shape != rest:
            raise argument(op, operands, f"labels have the logits' shape without axis {axis}")
    return (Type(full_float(x.dtype), rest),)


class _Parts:
    """What value and gradient share; made twice it is the same nodes."""

    def __init__(self, b: Builder, node: Node) -> None:
        logits, labels = node.operands
        self.axis = node.get("axis")
        x = b("cast", logits, dtype=full_float(logits.dtype)) if _narrow(logits) else logits
        self.most = b("reduce-max", x, axes=(self.axis,), keep=True)
        self.x = b("subtract", x, self.most)  # the greatest logit is 0: nothing overflows
        self.total = b("log", b("reduce-sum", b("exp", self.x), axes=(self.axis,), keep=True))
        self.labels = labels
        self.soft = labels.dtype in FLOATS
        self.smoothing = float(node.get("smoothing") or 0.0)
        self.penalty = float(node.get("z-loss") or 0.0)
        self.kept = self._kept(b, node.get("ignore-index"))

    def _kept(self, b: Builder, ignored: int | None) -> Value | None:
        if ignored is None or self.soft:
            return None
        return b("not-equal", self.labels, b.like(ignored, self.labels))

    def column(self, b: Builder, value: Value) -> Value:
        """The value with the axis of size 1 put back."""
        shape = value.shape
        return b("reshape", value, shape=(*shape[: self.axis], 1, *shape[self.axis :]))

    def row(self, b: Builder, value: Value) -> Value:
        """The value without the axis of size 1."""
        shape = value.shape
        return b("reshape", value, shape=shape[: self.axis] + shape[self.axis + 1 :])

    def logsumexp(self, b: Builder) -> Value:
        """Of the logits as they were given."""
        return b("add", self.total, self.most)

    def index(self, b: Builder) -> Value:
        """Labels as a column, ignored ones as 0."""
        safe = self.labels
        if self.kept is not None:
            safe = b("where", self.kept, safe, b.like(0, safe))
        return self.column(b, safe)


def _narrow(logits: Value) -> bool:
    return logits.dtype in ("bf16", "f16")


def _targets(b: Builder, p: _Parts) -> Value:
    return b("cast", p.labels, dtype=p.x.dtype) if _narrow(p.labels) else p.labels


def _expand_cross_entropy(b: Builder, node: Node) -> tuple[Value, ...]:
    p = _Parts(b, node)
    loss = b("subtract", _weight(b, p), _score(b, p, node.get("out") or "error"))
    if p.penalty:
        loss = b("add", loss, times(b, b("square", p.logsumexp(b)), p.penalty))
    flat = p.row(b, loss)
    return (flat if p.kept is None else zero_unless(b, p.kept, flat),)


def _weight(b: Builder, p: _Parts) -> Value:
    """logsumexp times the sum of the targets."""
    if not p.soft:
        return p.total
    mass = b("reduce-sum", _targets(b, p), axes=(p.axis,), keep=True)
    return b("multiply", p.total, mass)


def _score(b: Builder, p: _Parts, out: str) -> Value:
    """The targets' mean logit."""
    if p.soft:
        hit = b("reduce-sum", b("multiply", _targets(b, p), p.x), axes=(p.axis,), keep=True)
    else:
        hit = b("take-along", p.x, p.index(b), axis=p.axis, out=out)
    if not p.smoothing:
        return hit
    mean = b("reduce-sum", p.x, axes=(p.axis,), keep=True)
    share = p.smoothing / p.x.shape[p.axis]
    even = times(b, mean, share)
    if p.soft:
        even = b("multiply", even, b("reduce-sum", _targets(b, p), axes=(p.axis,), keep=True))
    return b("add", times(b, hit, 1.0 - p.smoothing), even)


def _cross_entropy_back(b: Builder, node: Node, g: Value) -> Cotangents:
    p = _Parts(b, node)
    share = b("exp", b("subtract", p.x, p.total))
    slope = _soft_slope(b, p, share) if p.soft else _label_slope(b, p, share)
    if p.kept is not None:
        g = zero_unless(b, p.kept, g)
    found = b("multiply", slope, p.column(b, g))
    if _narrow(node.operands[0]):
        found = b("cast", found, dtype=node.operands[0].dtype)
    return (found, None)


def _pull_of_total(b: Builder, p: _Parts, mass: Value | None) -> Value | None:
    """The factor of the softmax: the targets' mass and 2 z logsumexp; None is 1."""
    if not p.penalty:
        return mass
    tail = times(b, p.logsumexp(b), 2.0 * p.penalty)
    return plus(b, tail, 1.0) if mass is None else b("add", tail, mass)


def _label_slope(b: Builder, p: _Parts, share: Value) -> Value:
    factor = _pull_of_total(b, p, None)
    if factor is not None:
        share = b("multiply", share, factor)
    if p.smoothing:
        share = plus(b, share, -p.smoothing / p.x.shape[p.axis])
    index = p.index(b)
    place = b("iota", dtype=index.dtype, shape=p.x.shape, axis=p.axis)
    hit = b("equal", index, place)
    return b("where", hit, plus(b, share, p.smoothing - 1.0), share)


def _soft_slope(b: Builder, p: _Parts, share: Value) -> Value:
    targets = _targets(b, p)
    mass = b("reduce-sum", targets, axes=(p.axis,), keep=True)
    factor = _pull_of_total(b, p, mass)
    assert factor is not None
    pull = b("multiply", share, factor)
    if p.smoothing:
        even = times(b, mass, p.smoothing / p.x.shape[p.axis])
        targets = b("add", times(b, targets, 1.0 - p.smoothing), even)
    return b("subtract", pull, targets)


def _infer_binary(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 2)
    x, targets = operands
    want_float(op, x.dtype)
    if targets.dtype != "bool":
        same_dtype(op, operands)
    return (Type(full_float(x.dtype), broadcast_shape(op, operands)),)


def _binary_parts(b: Builder, node: Node) -> tuple[Value, Value, float]:
    """Logits and (smoothed) targets in the wide dtype, and the weight of positives."""
    dtype = node.types[0].dtype
    x, t = (b("cast", v, dtype=dtype) if v.dtype != dtype else v for v in node.operands)
    smoothing = float(node.get("smoothing") or 0.0)
    if smoothing:
        t = plus(b, times(b, t, 1.0 - smoothing), 0.5 * smoothing)
    return x, t, float(node.get("positive-weight") or 1.0)


def _expand_binary(b: Builder, node: Node) -> tuple[Value, ...]:
    x, t, weight = _binary_parts(b, node)
    if weight == 1.0:
        return (b("subtract", softplus(b, x), b("multiply", x, t)),)
    miss = softplus(b, b("negate", x))
    pull = plus(b, times(b, t, weight - 1.0), 1.0)
    base = b("multiply", b("subtract", b.like(1.0, t), t), x)
    return (b("add", base, b("multiply", pull, miss)),)


def _binary_back(b: Builder, node: Node, g: Value) -> Cotangents:
    """d/dx = (1 + (w - 1) t) sigmoid(x) - w t; d/dt = (w - 1) softplus(-x) - x."""
    logits, targets = node.operands
    x, t, weight = _binary_parts(b, node)
    s = b("sigmoid", x)
    pull = s if weight == 1.0 else b("multiply", s, plus(b, times(b, t, weight - 1.0), 1.0))
    gx = b("multiply", g, b("subtract", pull, times(b, t, weight) if weight != 1.0 else t))
    gt = None
    if targets.dtype in FLOATS and wanted(b, targets):
        gt = unbroadcast(b, _target_slope(b, node, x, weight, g), targets.shape)
    return (_back_to(b, unbroadcast(b, gx, logits.shape), logits), _back_to(b, gt, targets))


def _target_slope(b: Builder, node: Node, x: Value, weight: float, g: Value) -> Value:
    slope = b("negate", x)
    if weight != 1.0:
        slope = b("add", slope, times(b, softplus(b, b("negate", x)), weight - 1.0))
    smoothing = float(node.get("smoothing") or 0.0)
    return times(b, b("multiply", g, slope), 1.0 - smoothing)


def _back_to(b: Builder, g: Value | None, x: Value) -> Value | None:
    return g if g is None or g.dtype == x.dtype else b("cast", g, dtype=x.dtype)


def _cost(operands: Types, results: Types, attributes: Attributes) -> Cost:
    return Cost(5 * operands[0].size, sum(t.bytes for t in operands), results[0].bytes)


def _axes(
    operands: Types, results: Types, attributes: Attributes
) -> tuple[tuple[int, int, int, str], ...]:
    axis, rows = attributes["axis"], []
    for k, t in enumerate(operands):
        whole = t.rank == operands[0].rank
        for a in range(t.rank):
            if not (whole and a == axis):
                rows.append((a - (whole and a > axis), k, a, "same"))
    return tuple(rows)


def _binary_axes(
    operands: Types, results: Types, attributes: Attributes
) -> tuple[tuple[int, int, int, str], ...]:
    rank = results[0].rank
    return tuple(
        (rank - t.rank + a, k, a, "same") for k, t in enumerate(operands) for a in range(t.rank)
    )


ROWS = [
    Op(
        "cross-entropy",
        "",
        Fusion.REDUCE,
        Precision.FULL,
        _infer_cross_entropy,
        "-log softmax(logits) at the label, f32, one value a label. Operands logits, labels "
        "(integers without attribute axis; or soft targets of the logits' shape). Attributes axis, "
        "smoothing, ignore-index (those are 0), z-loss, out. Gradient: to logits.",
        _cross_entropy_back,
        expand=_expand_cross_entropy,
        cost=_cost,
        depends=_axes,
    ),
    Op(
        "binary-cross-entropy",
        "",
        Fusion.ELEMENT,
        Precision.FULL,
        _infer_binary,
        "-t log s(x) - (1 - t) log(1 - s(x)) from logits x, f32, broadcast. Operands logits, "
        "targets (F or bool). Attributes smoothing, positive-weight (1). Gradient: yes.",
        _binary_back,
        expand=_expand_binary,
        cost=_cost,
        depends=_binary_axes,
    ),
]
