"""Softmax and its kin: composites over one inner axis, with gradients of one reduction."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..graph import Node, Value
from ..operation import Attributes, Cost
from ..rounding import float_highest
from ..types import Type, broadcast
from .activation import times
from .op import Cotangents, Op, Types, composite
from .reduce import reduced_shape, spread
from .shapes import argument, check_axes, check_axis, check_count, want_bool, want_float

if TYPE_CHECKING:
    from ..builder import Builder


def _infer_softmax(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 1, 2)
    x = operands[0]
    want_float(op, x.dtype)
    check_axis(op, attributes["axis"], x.rank)
    if len(operands) == 2:
        want_bool(op, operands[1].dtype)
        if broadcast(x.shape, operands[1].shape) != x.shape:
            raise argument(op, operands, "the mask broadcasts to x")
    return (x,)


def _infer_plain(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 1)
    return _infer_softmax(op, operands, attributes)


def _infer_logsumexp(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 1)
    x, axes = operands[0], attributes["axes"]
    want_float(op, x.dtype)
    check_axes(op, axes, x.rank)
    return (Type(x.dtype, reduced_shape(x.shape, axes, attributes.get("keep"))),)


def log_sum_exp(b: Builder, x: Value, axes: tuple[int, ...]) -> Value:
    """log(sum(exp(x))) with the axes kept, by the greatest element; of nothing it is -inf."""
    if any(x.shape[a] == 0 for a in axes):
        return b.constant(-math.inf, x.dtype, reduced_shape(x.shape, axes, True))
    most = _finite(b, b("reduce-max", x, axes=axes, keep=True))
    total = b("reduce-sum", b("exp", b("subtract", x, most)), axes=axes, keep=True)
    return b("add", b("log", total), most)


def _finite(b: Builder, x: Value) -> Value:
    """x, and 0 where it is infinite: what is taken from infinities leaves them as they are."""
    return b("where", b("is-inf", x), b.like(0.0, x), x)


def _scaled(b: Builder, node: Node) -> Value:
    scale = float(node.get("scale", 1.0))
    x = node.operands[0]
    return x if scale == 1.0 else times(b, x, scale)


def _expand_softmax(b: Builder, node: Node) -> tuple[Value, ...]:
    z, axes = _scaled(b, node), (node.get("axis"),)
    if len(node.operands) == 2:
        return (_masked(b, z, node.operands[1], axes),)
    most = b("reduce-max", z, axes=axes, keep=True)
    e = b("exp", b("subtract", z, most))
    return (b("divide", e, b("reduce-sum", e, axes=axes, keep=True)),)


def _masked(b: Builder, z: Value, mask: Value, axes: tuple[int, ...]) -> Value:
    """Softmax over what the mask admits; a row without any is 0."""
    least = b.like(-float_highest(z.dtype), z)
    seen = b("where", mask, z, least)
    most = b("reduce-max", seen, axes=axes, keep=True)
    e = b("where", mask, b("exp", b("subtract", seen, most)), b.like(0.0, z))
    total = b("reduce-sum", e, axes=axes, keep=True)
    none = b("equal", total, b.like(0.0, z))
    return b("divide", e, b("where", none, b.like(1.0, z), total))


def _softmax_back(b: Builder, node: Node, g: Value) -> Cotangents:
    y, axes = Value(node, 0), (node.get("axis"),)
    weighted = b("multiply", g, y)
    total = b("reduce-sum", weighted, axes=axes, keep=True)
    gx = b("subtract", weighted, b("multiply", y, total))
    scale = float(node.get("scale", 1.0))
    found = gx if scale == 1.0 else times(b, gx, scale)
    return (found, *(None,) * (len(node.operands) - 1))


def _expand_log_softmax(b: Builder, node: Node) -> tuple[Value, ...]:
    z, axes = _scaled(b, node), (node.get("axis"),)
    most = b("reduce-max", z, axes=axes, keep=True)
    low = b("subtract", z, most)
    total = b("reduce-sum", b("exp", low), axes=axes, keep=True)
    return (b("subtract", low, b("log", total)),)


def _log_softmax_back(b: Builder, node: Node, g: Value) -> Cotangents:
    total = b("reduce-sum", g, axes=(node.get("axis"),), keep=True)
    gx = b("subtract", g, b("multiply", b("exp", Value(node, 0)), total))
    scale = float(node.get("scale", 1.0))
    return (gx if scale == 1.0 else times(b, gx, scale),)


def _expand_logsumexp(b: Builder, node: Node) -> tuple[Value, ...]:
    found = log_sum_exp(b, node.operands[0], node.get("axes"))
    shape = node.types[0].shape
    return (found if found.shape == shape else b("reshape", found, shape=shape),)


def _logsumexp_back(b: Builder, node: Node, g: Value) -> Cotangents:
    x, axes = node.operands[0], node.get("axes")
    total = spread(b, _finite(b, Value(node, 0)), x.shape, axes)
    share = b("exp", b("subtract", x, total))
    return (b("multiply", share, spread(b, g, x.shape, axes)),)


def other_axes(
    operands: Types, results: Types, attributes: Attributes
) -> tuple[tuple[int, int, int, str], ...]:
    """All axes keep their place but the one worked along."""
    rank, axes = results[0].rank, attributes.get("axes") or (attributes.get("axis"),)
    return tuple(
        (rank - t.rank + a, k, a, "same")
        for k, t in enumerate(operands)
        for a in range(t.rank)
        if rank - t.rank + a not in axes
    )


def kept_axes(
    operands: Types, results: Types, attributes: Attributes
) -> tuple[tuple[int, int, int, str], ...]:
    axes, keep = attributes["axes"], attributes.get("keep")
    rest = [a for a in range(operands[0].rank) if a not in axes]
    return tuple((a if keep else i, 0, a, "same") for i, a in enumerate(rest))


def _cost(operands: Types, results: Types, attributes: Attributes) -> Cost:
    return Cost(5 * operands[0].size, sum(t.bytes for t in operands), results[0].bytes)


ROWS = [
    composite(
        "softmax",
        _infer_softmax,
        "exp(scale x) over its sum along attribute axis. Operands x [mask]: bool, broadcasts to x, "
        "true takes part, a row without any is 0. Attribute scale (1).",
        _softmax_back,
        _expand_softmax,
        _cost,
        other_axes,
    ),
    composite(
        "log-softmax",
        _infer_plain,
        "The logarithm of softmax along attribute axis. Attribute scale (1).",
        _log_softmax_back,
        _expand_log_softmax,
        _cost,
        other_axes,
    ),
    composite(
        "logsumexp",
        _infer_logsumexp,
        "log(sum(exp(x))) along attributes axes, keep.",
        _logsumexp_back,
        _expand_logsumexp,
        _cost,
        kept_axes,
    ),
]
