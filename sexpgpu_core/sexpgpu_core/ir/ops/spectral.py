"""The discrete Fourier transform, as matrix products of the factors of its length, in f64."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..graph import Node, Value
from ..operation import Attributes, Cost, Fusion, Precision
from ..types import Type
from .activation import times
from .op import Cotangents, Op, Types
from .shapes import argument, check_axis, check_count, same_dtype, want_float

if TYPE_CHECKING:
    from ..builder import Builder

FACTOR = 32
"""The greatest factor that is one matrix; a prime that is greater is one too."""
Pair = tuple[Value, "Value | None"]


def _infer(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 1, 2)
    want_float(op, same_dtype(op, operands))
    x = operands[0]
    check_axis(op, attributes["axis"], x.rank)
    if any(t.shape != x.shape for t in operands):
        raise argument(op, operands, "real and imaginary part have one shape")
    return (Type(x.dtype, (*x.shape, 2)),)


def _expand(b: Builder, node: Node) -> tuple[Value, ...]:
    real = node.operands[0]
    other = node.operands[1] if len(node.operands) > 1 else None
    axis, inverse = node.get("axis"), bool(node.get("inverse"))
    rank, n = len(real.shape), real.shape[axis]
    last = (*(a for a in range(rank) if a != axis), axis)
    wide = [v if v.dtype == "f64" else b("cast", v, dtype="f64") for v in node.operands]
    pair = _permuted(b, wide[0], last), None if other is None else _permuted(b, wide[1], last)
    found = _transform(b, pair, n, 1.0 if inverse else -1.0)
    back = (*range(axis), rank - 1, *range(axis, rank - 1))
    parts = []
    for part in found:
        part = b.constant(0.0, "f64", wide[0].shape) if part is None else part
        part = times(b, part, 1.0 / n) if inverse and n else part
        part = _permuted(b, part, back) if part.shape != real.shape or n else part
        parts.append(b("reshape", part, shape=(*real.shape, 1)))
    whole = b("concat", *parts, axis=rank)
    return (whole if whole.dtype == real.dtype else b("cast", whole, dtype=real.dtype),)


def _permuted(b: Builder, x: Value, axes: tuple[int, ...]) -> Value:
    return x if axes == tuple(range(len(axes))) else b("permute", x, axes=axes)


def _factor(n: int) -> int:
    """The greatest divisor up to FACTOR, or n itself where there is none above 1."""
    return max((r for r in range(2, FACTOR + 1) if n % r == 0), default=n)


def _transform(b: Builder, x: Pair, n: int, sign: float) -> Pair:
    """Along the last axis (Cooley, Tukey, 1965): x[m i + j] with m = n / r."""
    if n <= 1:
        return x
    r = _factor(n)
    m = n // r
    lead = x[0].shape[:-1]
    split = _both(b, x, (*lead, r, m))
    wave = _wave(b, r, r, r, sign)
    split = _product(b, wave, split)
    if m > 1:
        split = _times(b, split, _wave(b, r, m, n, sign))
        split = _transform(b, split, m, sign)
    rank = len(lead) + 2
    axes = (*range(rank - 2), rank - 1, rank - 2)
    turned = tuple(None if v is None else b("permute", v, axes=axes) for v in split)
    assert turned[0] is not None
    return _both(b, (turned[0], turned[1]), (*lead, n))


def _both(b: Builder, x: Pair, shape: tuple[int, ...]) -> Pair:
    real, other = x
    return (
        b("reshape", real, shape=shape),
        None if other is None else b("reshape", other, shape=shape),
    )


def _wave(b: Builder, rows: int, columns: int, n: int, sign: float) -> tuple[Value, Value]:
    """cos and sin of sign 2 pi i j / n, from the product mod n, so that angles are exact."""
    i = b("iota", dtype="i64", shape=(rows, 1), axis=0)
    j = b("iota", dtype="i64", shape=(1, columns), axis=1)
    turns = b("mod", b("multiply", i, j), b.constant(n, "i64"))
    angle = times(b, b("cast", turns, dtype="f64"), sign * 2.0 * math.pi / n)
    return b("cos", angle), b("sin", angle)


def _product(b: Builder, wave: tuple[Value, Value], x: Pair) -> Pair:
    (cos, sin), (real, other) = wave, x
    left, right = b("matmul", cos, real), b("matmul", sin, real)
    if other is None:
        return left, right
    return (
        b("subtract", left, b("matmul", sin, other)),
        b("add", right, b("matmul", cos, other)),
    )


def _times(b: Builder, x: Pair, wave: tuple[Value, Value]) -> Pair:
    (real, other), (cos, sin) = x, wave
    assert other is not None
    return (
        b("subtract", b("multiply", real, cos), b("multiply", other, sin)),
        b("add", b("multiply", real, sin), b("multiply", other, cos)),
    )


def _back(b: Builder, node: Node, g: Value) -> Cotangents:
    """The adjoint: the other direction, without its 1/n or with it."""
    x, axis, inverse = node.operands[0], node.get("axis"), bool(node.get("inverse"))
    n, rank = max(x.shape[axis], 1), len(x.shape)

    def part(value: Value, i: int) -> Value:
        starts, stops = (*(0,) * rank, i), (*x.shape, i + 1)
        found = b("slice", value, starts=starts, stops=stops, steps=(1,) * (rank + 1))
        return b("reshape", found, shape=x.shape)

    found = b("fft", part(g, 0), part(g, 1), axis=axis, inverse=not inverse)
    found = times(b, found, 1.0 / n if inverse else float(n))
    return tuple(part(found, i) for i in range(len(node.operands)))


def _cost(operands: Types, results: Types, attributes: Attributes) -> Cost:
    n = max(operands[0].shape[attributes["axis"]], 1)
    flops = 8 * operands[0].size * min(n, FACTOR) * max(1, round(math.log(n, FACTOR)))
    return Cost(flops, sum(t.bytes for t in operands), results[0].bytes)


def _depends(
    operands: Types, results: Types, attributes: Attributes
) -> tuple[tuple[int, int, int, str], ...]:
    axis = attributes["axis"]
    rank = operands[0].rank
    return tuple((a, k, a, "same") for k in range(len(operands)) for a in range(rank) if a != axis)


ROWS = [
    Op(
        "fft",
        "spectral",
        Fusion.LIBRARY,
        Precision.FULL,
        _infer,
        "The Fourier transform along attribute axis; operands the real [and imaginary] part, the "
        "result's last axis is both. Attribute inverse (with 1/n). Gradient: yes.",
        _back,
        expand=_expand,
        cost=_cost,
        depends=_depends,
    )
]
