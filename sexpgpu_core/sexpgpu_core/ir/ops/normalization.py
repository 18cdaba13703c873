"""Layer, RMS and group norm: composites whose gradients take two reductions, or one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph import Node, Value
from ..operation import Attributes, Cost
from ..types import broadcast
from .activation import plus, times
from .op import Cotangents, Op, Types, composite
from .shapes import (
    argument,
    check_axes,
    check_count,
    same_dtype,
    size,
    unbroadcast,
    want_float,
    wanted,
)
from .softmax import other_axes

if TYPE_CHECKING:
    from ..builder import Builder


def _infer(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, *((1, 2, 3) if op.name == "layer-norm" else (1, 2)))
    x = operands[0]
    want_float(op, same_dtype(op, operands))
    check_axes(op, attributes["axes"], x.rank)
    if any(broadcast(x.shape, t.shape) != x.shape for t in operands[1:]):
        raise argument(op, operands, "weight and bias broadcast to x")
    return (x,)


def _infer_group(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 1, 2, 3)
    x, groups = operands[0], attributes["groups"]
    want_float(op, same_dtype(op, operands))
    if x.rank < 2 or groups < 1 or x.shape[-1] % groups:
        raise argument(op, operands, f"{groups} groups do not divide {x.shape[-1]} channels")
    if any(t.shape != x.shape[-1:] for t in operands[1:]):
        raise argument(op, operands, "weight and bias have the last axis of x")
    return (x,)


def _mean(b: Builder, x: Value, axes: tuple[int, ...]) -> Value:
    count = size([x.shape[a] for a in axes])
    return times(b, b("reduce-sum", x, axes=axes, keep=True), 1.0 / max(count, 1))


def _standardized(b: Builder, node: Node) -> tuple[Value, Value]:
    """The normal form of x, and 1 / its deviation."""
    x, axes = node.operands[0], node.get("axes")
    centred = b("subtract", x, _mean(b, x, axes)) if node.operation == "layer-norm" else x
    power = _mean(b, b("square", centred), axes)
    scale = b("rsqrt", plus(b, power, float(node.get("eps"))))
    return b("multiply", centred, scale), scale


def _expand(b: Builder, node: Node) -> tuple[Value, ...]:
    y = _standardized(b, node)[0]
    return (_affine(b, y, node.operands[1:]),)


def _affine(b: Builder, y: Value, weights: tuple[Value, ...]) -> Value:
    if weights:
        y = b("multiply", y, weights[0])
    return b("add", y, weights[1]) if len(weights) > 1 else y


def _gradient(b: Builder, node: Node, g: Value) -> Cotangents:
    x, *weights = node.operands
    normal, scale = _standardized(b, node)
    found: list[Value | None] = [None]
    if weights:
        w = weights[0]
        gw = unbroadcast(b, b("multiply", g, normal), w.shape) if wanted(b, w) else None
        found += [gw, *(unbroadcast(b, g, v.shape) for v in weights[1:])]
        g = b("multiply", g, w)
    if wanted(b, x):
        found[0] = _input_gradient(b, node, g, normal, scale)
    return tuple(found)


def _input_gradient(b: Builder, node: Node, g: Value, normal: Value, scale: Value) -> Value:
    axes = node.get("axes")
    along = b("multiply", normal, _mean(b, b("multiply", g, normal), axes))
    rest = b("subtract", g, along)
    if node.operation == "layer-norm":
        rest = b("subtract", rest, _mean(b, g, axes))
    return b("multiply", rest, scale)


def _expand_group(b: Builder, node: Node) -> tuple[Value, ...]:
    return (_affine(b, _group_standardized(b, node)[0], node.operands[1:]),)


def _group_standardized(b: Builder, node: Node) -> tuple[Value, Value]:
    """As `_standardized`, by groups: what runs over all places has whole channels innermost."""
    x, groups = node.operands[0], node.get("groups")
    mean = _group_mean(b, x, groups, _placed(b, x))
    centred = b("subtract", x, _beside(b, x, mean))
    power = _group_mean(b, x, groups, _placed(b, b("square", centred)))
    scale = _beside(b, x, b("rsqrt", plus(b, power, float(node.get("eps")))))
    return b("multiply", centred, scale), scale


def _placed(b: Builder, x: Value) -> Value:
    """Sums over places: an example's channels, with axes of one between."""
    axes = tuple(range(1, len(x.shape) - 1))
    return b("reduce-sum", x, axes=axes, keep=True) if axes else x


def _group_mean(b: Builder, x: Value, groups: int, placed: Value) -> Value:
    """Means of x over places and a group's channels, of its sums over places: (.. groups 1)."""
    channels = x.shape[-1] // groups
    grouped = b("reshape", placed, shape=(*placed.shape[:-1], groups, channels))
    total = b("reduce-sum", grouped, axes=(len(x.shape),), keep=True)
    return times(b, total, 1.0 / max(size(x.shape[1:-1]) * channels, 1))


def _beside(b: Builder, x: Value, mean: Value) -> Value:
    """A group's number beside each of its channels."""
    channels = x.shape[-1] // mean.shape[-2]
    wide = b("broadcast-to", mean, shape=(*mean.shape[:-1], channels))
    return b("reshape", wide, shape=(*mean.shape[:-2], x.shape[-1]))


def _group_gradient(b: Builder, node: Node, g: Value) -> Cotangents:
    """One pass makes the sums over places that all cotangents are made of."""
    x, *weights = node.operands
    groups = node.get("groups")
    normal, scale = _group_standardized(b, node)
    sums = [_placed(b, g), _placed(b, b("multiply", g, normal))]
    found: list[Value | None] = [None]
    found += [unbroadcast(b, s, w.shape) for w, s in zip(weights, reversed(sums))]
    if weights:
        g, *sums = (b("multiply", v, weights[0]) for v in (g, *sums))
    if wanted(b, x):
        mean, along = (_beside(b, x, _group_mean(b, x, groups, s)) for s in sums)
        rest = b("subtract", b("subtract", g, b("multiply", normal, along)), mean)
        found[0] = b("multiply", rest, scale)
    return tuple(found)


def _cost(operands: Types, results: Types, attributes: Attributes) -> Cost:
    return Cost(8 * results[0].size, sum(t.bytes for t in operands), results[0].bytes)


def _group_axes(
    operands: Types, results: Types, attributes: Attributes
) -> tuple[tuple[int, int, int, str], ...]:
    return ((0, 0, 0, "same"),)


ROWS = [
    composite(
        "layer-norm",
        _infer,
        "(x - mean) / sqrt(variance + eps) weight + bias. Operands x [weight [bias]] (broadcast "
        "to x). Attributes axes, eps (Ba, Kiros, Hinton, 2016).",
        _gradient,
        _expand,
        _cost,
        other_axes,
    ),
    composite(
        "rms-norm",
        _infer,
        "x / sqrt(mean(x x) + eps) weight. Operands x [weight]. Attributes axes, eps (Zhang, "
        "Sennrich, 2019).",
        _gradient,
        _expand,
        _cost,
        other_axes,
    ),
    composite(
        "group-norm",
        _infer_group,
        "Layer norm over places and channels of a group, an example at a time; channels last. "
        "Operands x [weight [bias]] (channels). Attributes groups, eps (Wu, He, 2018).",
        _group_gradient,
        _expand_group,
        _cost,
        _group_axes,
    ),
]
