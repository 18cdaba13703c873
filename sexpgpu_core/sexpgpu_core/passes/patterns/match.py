"""What matchers of written-out patterns share: numbers, reductions and polynomials in a graph.

A matcher looks at operands only. It sees through views that keep the elements (axes of size 1 put
in or taken away, broadcasting), and raises `Near` where something is almost the pattern.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from ...ir import Builder, Value
from ...ir.splats import splat
from ...records import NamedTuple


class Near(Exception):
    """Almost a pattern; the argument says why it is not the same function."""


class Match(NamedTuple):
    """A node to make instead of what lies between the operands and the root; `make` where more
    than one node is. Its value is negated and viewed as the root's shape."""

    operation: str
    operands: tuple[Value, ...]
    attributes: dict[str, Any]
    negated: bool = False
    make: Callable[[Builder], Value] | None = None


def number(value: Value) -> float | None:
    """The number of a splat, seen through views."""
    found = splat(core(value))
    return None if found is None or found.__class__ is bool else float(found)


def close(x: float | None, y: float) -> bool:
    """Equal up to a rounding of f32 or two."""
    return x is not None and math.isclose(x, y, rel_tol=3e-7, abs_tol=0.0)


def core(value: Value) -> Value:
    """The value without views of the same elements: broadcasting, axes of size 1."""
    while True:
        node = value.node
        if node.operation == "broadcast-to" or (
            node.operation == "reshape" and _long(node.operands[0].shape) == _long(value.shape)
        ):
            value = node.operands[0]
        else:
            return value


def _long(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([n for n in shape if n != 1])


def is_(value: Value, operation: str) -> tuple[Value, ...] | None:
    """The operands of a node of that operation, seen through views; else None."""
    node = core(value).node
    return node.operands if node.operation == operation else None


def either(operands: tuple[Value, ...]) -> Iterator[tuple[Value, Value]]:
    """Both orders of two operands."""
    x, y = operands
    yield x, y
    yield y, x


def same(x: Value, y: Value) -> bool:
    """The same value, but for views."""
    a, b = core(x), core(y)
    return a.node is b.node and a.result == b.result


class Reduced(NamedTuple):
    """A reduction of `source` along axes."""

    source: Value
    axes: tuple[int, ...]


def reduction(value: Value, operation: str) -> Reduced | None:
    node = core(value).node
    if node.operation != operation:
        return None
    return Reduced(node.operands[0], tuple(node.get("axes")))


def spread_over(value: Value, source: Value, axes: tuple[int, ...]) -> bool:
    """Whether a reduced value stands for each element of what was reduced: its axes kept."""
    while value.node.operation == "broadcast-to":
        value = value.node.operands[0]
    kept = tuple([1 if a in axes else n for a, n in enumerate(source.shape)])
    return (1,) * (len(kept) - len(value.shape)) + value.shape == kept


def count(source: Value, axes: tuple[int, ...]) -> int:
    return math.prod([source.shape[a] for a in axes])


def mean(value: Value) -> Reduced | None:
    """A sum divided by its count, however that is written."""
    found, divisor = _scaled_sum(value)
    if found is None:
        return None
    return found if close(divisor, count(found.source, found.axes)) else None


def _scaled_sum(value: Value) -> tuple[Reduced | None, float]:
    """A sum and what it is divided by."""
    if (o := is_(value, "divide")) and (n := number(o[1])):
        return reduction(o[0], "reduce-sum"), n
    if o := is_(value, "multiply"):
        for x, y in either(o):
            if n := number(y):
                return reduction(x, "reduce-sum"), 1.0 / n
    return reduction(value, "reduce-sum"), 1.0


def divided_sum(value: Value) -> tuple[Reduced | None, float]:
    """A sum and the number that it is divided by, 1 where by none."""
    return _scaled_sum(value)


def squared(value: Value) -> Value | None:
    """x of x squared, however that is written."""
    if o := is_(value, "square"):
        return o[0]
    if (o := is_(value, "multiply")) and same(*o):
        return o[0]
    if (o := is_(value, "power")) and number(o[1]) == 2.0:
        return o[0]
    return None


def factors(value: Value) -> tuple[float, list[Value]]:
    """A product flattened: its number and its other factors."""
    if o := is_(value, "multiply"):
        (a, left), (b, right) = factors(o[0]), factors(o[1])
        return a * b, left + right
    if (o := is_(value, "divide")) and (n := number(o[1])):
        a, left = factors(o[0])
        return a / n, left
    if o := is_(value, "negate"):
        a, left = factors(o[0])
        return -a, left
    n = number(value)
    return (n, []) if n is not None else (1.0, [value])


Polynomial = dict[int, float]
"""Coefficients by degree."""


def polynomial(value: Value, x: Value, degree: int = 3) -> Polynomial | None:
    """A value as a polynomial in x, up to a degree; None where it is none."""
    if same(value, x):
        return {1: 1.0}
    if (n := number(value)) is not None:
        return {0: n}
    node = core(value).node
    parts = [polynomial(v, x, degree) for v in node.operands] if node.operation in _TERMS else []
    if not parts or any(p is None for p in parts):
        return None
    found = _TERMS[node.operation](*parts)
    if found is None or max(found, default=0) > degree:
        return None
    return {d: c for d, c in found.items() if c}


def _added(p: Polynomial, q: Polynomial, sign: float = 1.0) -> Polynomial:
    return {d: p.get(d, 0.0) + sign * q.get(d, 0.0) for d in p.keys() | q.keys()}


def _times(p: Polynomial, q: Polynomial) -> Polynomial:
    found: Polynomial = {}
    for d, c in p.items():
        for e, k in q.items():
            found[d + e] = found.get(d + e, 0.0) + c * k
    return found


def _over(p: Polynomial, q: Polynomial) -> Polynomial | None:
    """Divided by a number."""
    divisor = q.get(0, 0.0)
    return {d: c / divisor for d, c in p.items()} if set(q) == {0} and divisor else None


def _power(p: Polynomial, q: Polynomial) -> Polynomial | None:
    times = q.get(0, 0.0)
    if set(q) != {0} or times not in (1.0, 2.0, 3.0):
        return None
    found = p
    for _ in range(int(times) - 1):
        found = _times(found, p)
    return found


_TERMS: dict[str, Any] = {
    "add": _added,
    "subtract": lambda p, q: _added(p, q, -1.0),
    "multiply": _times,
    "divide": _over,
    "power": _power,
    "square": lambda p: _times(p, p),
    "negate": lambda p: {d: -c for d, c in p.items()},
}


def agrees(found: Polynomial | None, wanted: Polynomial) -> bool:
    """Equal coefficients, up to what three roundings of f32 do."""
    return found is not None and all(
        math.isclose(found.get(d, 0.0), wanted.get(d, 0.0), rel_tol=5e-7, abs_tol=1e-12)
        for d in found.keys() | wanted.keys()
    )
