"""The built-in diagnostic numbers: what of an observed value each one is, before it is reduced.

A number is a reduction over pieces: the blocks of a step, or the parameters of a group. What a
function here gives for each piece is a tensor of any shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir import Builder, Value
from ..ir.ops.attention import attention_shares


def wide(b: Builder, x: Value) -> Value:
    """In f32; f64 stays."""
    return x if x.dtype in ("f32", "f64") else b("cast", x, dtype="f32")


def itself(b: Builder, x: Value) -> Value:
    """x."""
    return x


def magnitude(b: Builder, x: Value) -> Value:
    """The absolute value."""
    return b("abs", x)


def zeros(b: Builder, x: Value) -> Value:
    """1 where x is 0, else 0."""
    return b("cast", b("equal", x, b.like(0.0, x)), dtype="f32")


def deviation(b: Builder, x: Value) -> Value:
    """The standard deviation over all elements, a scalar."""
    x = wide(b, x)
    centred = b("subtract", x, mean(b, [x]))
    return b("sqrt", mean(b, [b("square", centred)]))


def ratio(b: Builder, updates: Sequence[Value], parameters: Sequence[Value]) -> Value:
    """Norm of the updates over the norm of the parameters before them, a scalar."""
    return b("divide", norm(b, updates), norm(b, parameters))


def entropy(b: Builder, attention: Value) -> Value:
    """(batch head query): -sum p log p over the keys, in nats, without dropout."""
    shares = attention_shares(b, attention.node, dropped=False)
    safe = b("where", b("greater", shares, b.like(0.0, shares)), shares, b.like(1.0, shares))
    found = b("reduce-sum", b("multiply", shares, b("log", safe)), axes=(3,), keep=False)
    return b("negate", found)


# Reductions over pieces


def _total(b: Builder, x: Value, operation: str = "reduce-sum") -> Value:
    axes = tuple(range(len(x.shape)))
    return b(operation, x, axes=axes, keep=False) if axes else x


def _folded(b: Builder, parts: Sequence[Value], operation: str) -> Value:
    found = parts[0]
    for part in parts[1:]:
        found = b(operation, found, part)
    return found


def mean(b: Builder, pieces: Sequence[Value]) -> Value:
    """Over all elements of all pieces."""
    total = sum_(b, pieces)
    return b("divide", total, b.constant(float(sum(p.type.size for p in pieces)), total.dtype))


def sum_(b: Builder, pieces: Sequence[Value]) -> Value:
    return _folded(b, [_total(b, wide(b, p)) for p in pieces], "add")


def norm(b: Builder, pieces: Sequence[Value]) -> Value:
    """The Euclidean norm of all elements of all pieces."""
    return b("sqrt", sum_(b, [b("square", wide(b, p)) for p in pieces]))


def last(b: Builder, pieces: Sequence[Value]) -> Value:
    """The last element in row-major order."""
    x = wide(b, pieces[-1])
    if not x.shape:
        return x
    flat = b("reshape", x, shape=(x.type.size,))
    end = b("slice", flat, starts=(x.type.size - 1,), stops=(x.type.size,), steps=(1,))
    return b("reshape", end, shape=())


def _extreme(reduction: str, fold: str) -> Reduction:
    def find(b: Builder, pieces: Sequence[Value]) -> Value:
        return _folded(b, [_total(b, wide(b, p), reduction) for p in pieces], fold)

    return find


Reduction = Callable[[Builder, "Sequence[Value]"], Value]
REDUCTIONS: dict[str, Reduction] = {
    "mean": mean,
    "max": _extreme("reduce-max", "maximum"),
    "min": _extreme("reduce-min", "minimum"),
    "sum": sum_,
    "last": last,
    "norm": norm,
}
"""To one scalar on the device; histogram and quantiles are made by the host of whole pieces."""


def reduced(b: Builder, pieces: Sequence[Value], reduce: str) -> list[Value]:
    """What the observer gives of one number: a scalar, or the pieces themselves."""
    if reduce in REDUCTIONS:
        return [REDUCTIONS[reduce](b, pieces)]
    return [b("reshape", wide(b, p), shape=(p.type.size,)) for p in pieces]
