"""Elementwise exponentials, angles and their kin: floats to floats of the same shape."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..graph import Value
from ..operation import Precision
from .elementwise import UnaryGradient, element, floats_1, unary
from .op import Op

if TYPE_CHECKING:
    from ..builder import Builder

_LN2 = math.log(2.0)


def _times(b: Builder, x: Value, number: float) -> Value:
    return b("multiply", x, b.like(number, x))


def _plus(b: Builder, x: Value, number: float) -> Value:
    return b("add", x, b.like(number, x))


def _one_minus_square(b: Builder, x: Value) -> Value:
    return b("subtract", b.like(1.0, x), b("square", x))


def _erf_slope(b: Builder, x: Value, factor: float) -> Value:
    return _times(b, b("exp", b("negate", b("square", x))), factor / math.sqrt(math.pi))


SLOPES: dict[str, UnaryGradient] = {
    "exp": lambda b, g, x, y: b("multiply", g, y),
    "exp2": lambda b, g, x, y: b("multiply", g, _times(b, y, _LN2)),
    "expm1": lambda b, g, x, y: b("multiply", g, _plus(b, y, 1.0)),
    "log": lambda b, g, x, y: b("divide", g, x),
    "log2": lambda b, g, x, y: b("divide", g, _times(b, x, _LN2)),
    "log1p": lambda b, g, x, y: b("divide", g, _plus(b, x, 1.0)),
    "sin": lambda b, g, x, y: b("multiply", g, b("cos", x)),
    "cos": lambda b, g, x, y: b("negate", b("multiply", g, b("sin", x))),
    "tan": lambda b, g, x, y: b("multiply", g, _plus(b, b("square", y), 1.0)),
    "asin": lambda b, g, x, y: b("multiply", g, b("rsqrt", _one_minus_square(b, x))),
    "acos": lambda b, g, x, y: b("negate", b("multiply", g, b("rsqrt", _one_minus_square(b, x)))),
    "atan": lambda b, g, x, y: b("divide", g, _plus(b, b("square", x), 1.0)),
    "sinh": lambda b, g, x, y: b("multiply", g, b("cosh", x)),
    "cosh": lambda b, g, x, y: b("multiply", g, b("sinh", x)),
    "tanh": lambda b, g, x, y: b("multiply", g, _one_minus_square(b, y)),
    "asinh": lambda b, g, x, y: b("multiply", g, b("rsqrt", _plus(b, b("square", x), 1.0))),
    "acosh": lambda b, g, x, y: b("multiply", g, b("rsqrt", _plus(b, b("square", x), -1.0))),
    "atanh": lambda b, g, x, y: b("divide", g, _one_minus_square(b, x)),
    "erf": lambda b, g, x, y: b("multiply", g, _erf_slope(b, x, 2.0)),
    "erfc": lambda b, g, x, y: b("multiply", g, _erf_slope(b, x, -2.0)),
    "sigmoid": lambda b, g, x, y: b(
        "multiply", g, b("multiply", y, b("subtract", b.like(1.0, y), y))
    ),
}

_SAYS = {
    "exp": "e to the x.",
    "exp2": "2 to the x.",
    "expm1": "e to the x, less 1, exact near 0.",
    "log": "The natural logarithm; NaN below 0.",
    "log2": "The logarithm to base 2.",
    "log1p": "log(1 + x), exact near 0.",
    "erf": "The error function.",
    "erfc": "1 - erf(x), exact for large x.",
    "sigmoid": "1 / (1 + exp(-x)).",
}
_FULL = {"exp", "exp2", "expm1", "log", "log2", "log1p"}


def _angle(name: str) -> str:
    return f"The {name} of x{'' if name.endswith('h') else ', in radians'}."


def _row(name: str) -> Op:
    precision = Precision.FULL if name in _FULL else Precision.FOLLOW
    says = _SAYS.get(name, _angle(name))
    return element(name, floats_1, says, unary(SLOPES[name]), precision)


ROWS = [_row(name) for name in SLOPES]
