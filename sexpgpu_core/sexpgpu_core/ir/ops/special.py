"""Special functions: compositions of elementwise nodes, computed in f64 where f32 would cancel.

The f32 result is then right to its last place, also where the function crosses 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..graph import Node, Value
from ..operation import Fusion, Precision
from .activation import plus, times
from .elementwise import floats_1, same_axes
from .op import Cotangents, Expand, Gradient, Op

if TYPE_CHECKING:
    from ..builder import Builder

SHIFT = 10
"""lgamma and digamma are asymptotic series from here on; below, the argument is moved up."""
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
"""Of z^-1, z^-3, ... in lgamma(z) (DLMF 5.11.1)."""
PSI = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760, -1 / 12)
"""Of z^-2, z^-4, ... in digamma(z) (DLMF 5.11.2)."""
CENTRE = (
    1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087, -4.39150654e-06,
    -3.5233877e-06, 3.43273939e-07, 2.81022636e-08,
)  # fmt: skip
TAIL = (
    2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844,
    0.00134934322, 0.000100950558, -0.000200214257,
)  # fmt: skip
"""Of w - 2.5 and of sqrt(w) - 3, where w = -log(1 - x x) (Giles, GPU Computing Gems, 2011)."""


def _polynomial(b: Builder, x: Value, coefficients: tuple[float, ...]) -> Value:
    """By Horner's rule; the first coefficient is the constant one."""
    found = b.like(coefficients[-1], x)
    for c in coefficients[-2::-1]:
        found = plus(b, b("multiply", found, x), c)
    return found


def _wide(b: Builder, x: Value) -> Value:
    return x if x.dtype == "f64" else b("cast", x, dtype="f64")


def _narrow(b: Builder, x: Value, dtype: str) -> tuple[Value, ...]:
    return (x if dtype == "f64" else b("cast", x, dtype=dtype),)


def _expand_cbrt(b: Builder, node: Node) -> tuple[Value, ...]:
    """The power, and one step of Newton's."""
    x = node.operands[0]
    size = b("abs", x)
    y = b("power", size, b.like(1.0 / 3.0, x))
    square = b("square", y)
    step = b("divide", b("subtract", b("multiply", square, y), size), times(b, square, 3.0))
    better = b("where", b("is-finite", step), b("subtract", y, step), y)
    return (b("where", b("less", x, b.like(0.0, x)), b("negate", better), better),)


def _cbrt_back(b: Builder, node: Node, g: Value) -> Cotangents:
    return (b("divide", g, times(b, b("square", Value(node, 0)), 3.0)),)


def _expand_erfinv(b: Builder, node: Node) -> tuple[Value, ...]:
    """Giles's start and two steps of Halley's on erf."""
    x = _wide(b, node.operands[0])
    one = b.like(1.0, x)
    inner = b("multiply", b("subtract", one, x), b("add", one, x))
    w = b("negate", b("log", inner))
    near = _polynomial(b, plus(b, w, -2.5), CENTRE)
    far = _polynomial(b, plus(b, b("sqrt", w), -3.0), TAIL)
    y = b("multiply", b("where", b("less", w, b.like(5.0, w)), near, far), x)
    for _ in range(2):
        error = b("subtract", b("erf", y), x)
        slope = times(b, b("exp", b("negate", b("square", y))), 2.0 / math.sqrt(math.pi))
        step = b("divide", error, slope)
        step = b("divide", step, plus(b, b("multiply", y, step), 1.0))
        y = b("where", b("is-finite", step), b("subtract", y, step), y)
    edge = b("equal", b("abs", x), one)
    y = b("where", edge, times(b, x, math.inf), y)
    return _narrow(b, y, node.types[0].dtype)


def _erfinv_back(b: Builder, node: Node, g: Value) -> Cotangents:
    y = Value(node, 0)
    slope = times(b, b("exp", b("square", y)), math.sqrt(math.pi) / 2.0)
    return (b("multiply", g, slope),)


def _mirrored(b: Builder, x: Value) -> tuple[Value, Value]:
    """Where x < 1/2, and 1 - x there: both functions are known from the other side."""
    low = b("less", x, b.like(0.5, x))
    return low, b("where", low, b("subtract", b.like(1.0, x), x), x)


def _turn(b: Builder, x: Value) -> Value:
    """pi times x less its nearest integer."""
    return times(b, b("subtract", x, b("round", x)), math.pi)


def _expand_lgamma(b: Builder, node: Node) -> tuple[Value, ...]:
    x = _wide(b, node.operands[0])
    low, z = _mirrored(b, x)
    up = b("less", z, b.like(float(SHIFT), z))
    product = z
    for i in range(1, SHIFT):
        product = b("multiply", product, plus(b, z, float(i)))
    moved = b("where", up, plus(b, z, float(SHIFT)), z)
    inverse = b("reciprocal", moved)
    series = b("multiply", _polynomial(b, b("square", inverse), STIRLING), inverse)
    lead = b("multiply", plus(b, moved, -0.5), b("log", moved))
    found = b("add", plus(b, b("subtract", lead, moved), 0.5 * math.log(2 * math.pi)), series)
    found = b("subtract", found, b("where", up, b("log", product), b.like(0.0, x)))
    sine = b("abs", b("sin", _turn(b, x)))
    other = b("subtract", b("log", b("divide", b.like(math.pi, x), sine)), found)
    found = b("where", b("is-inf", x), b.like(math.inf, x), b("where", low, other, found))
    return _narrow(b, found, node.types[0].dtype)


def _lgamma_back(b: Builder, node: Node, g: Value) -> Cotangents:
    return (b("multiply", g, b("digamma", node.operands[0])),)


def _expand_digamma(b: Builder, node: Node) -> tuple[Value, ...]:
    x = _wide(b, node.operands[0])
    low, z = _mirrored(b, x)
    below = b("reciprocal", z)
    for i in range(1, SHIFT):
        below = b("add", below, b("reciprocal", plus(b, z, float(i))))
    moved = plus(b, z, float(SHIFT))
    inverse = b("reciprocal", moved)
    square = b("square", inverse)
    series = b("multiply", _polynomial(b, square, PSI), square)
    lead = b("subtract", b("log", moved), times(b, inverse, 0.5))
    found = b("subtract", b("add", lead, series), below)
    turned = b("divide", b.like(math.pi, x), b("tan", _turn(b, x)))
    found = b("where", low, b("subtract", found, turned), found)
    pole = b("logical-and", low, b("equal", x, b("round", x)))
    found = b("where", pole, b.like(math.nan, x), found)
    return _narrow(b, found, node.types[0].dtype)


def _row(name: str, doc: str, expand: Expand, gradient: Gradient | str) -> Op:
    tail = "yes" if not isinstance(gradient, str) else gradient
    doc = f"{doc} F, shape of x. Gradient: {tail}."
    return Op(
        name,
        "special",
        Fusion.ELEMENT,
        Precision.FULL,
        floats_1,
        doc,
        gradient,
        expand=expand,
        depends=same_axes,
    )


ROWS = [
    _row("cbrt", "The cube root, of negative numbers too.", _expand_cbrt, _cbrt_back),
    _row("erfinv", "The inverse of erf on (-1, 1).", _expand_erfinv, _erfinv_back),
    _row("lgamma", "The logarithm of |gamma(x)|.", _expand_lgamma, _lgamma_back),
    _row("digamma", "The slope of lgamma; NaN at its poles.", _expand_digamma, "none"),
]
