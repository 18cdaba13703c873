"""Two random words to a standard normal number (Box and Muller, 1958), in f32, step by step.

Every step is one IEEE operation of the arithmetic that is handed in, so whatever computes it, an
array library or an emitted kernel, gives the same bits. The polynomials are Cephes' (Moshier,
1992) for logf, sinf and cosf; an error is below 2 units of the last place.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

from .rounding import rounded
from .types import Attribute

Number = Any
"""What the arithmetic computes with: an array, or an expression of a kernel."""


class Arithmetic(Protocol):
    """Operations by the names that elementwise operations of the graph have, and "shift-right"."""

    def number(self, value: Attribute, dtype: str) -> Number: ...

    def apply(self, op: str, operands: tuple[Number, ...], dtype: str) -> Number: ...


LOG = (
    *(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1),
    *(-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1),
)
SINE = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
COSINE = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
LN2_LOW, LN2_HIGH = -2.12194440e-4, 0.693359375


class _Steps:
    """Shorthands over an arithmetic; a name with `_n` takes a number as its last operand."""

    def __init__(self, of: Arithmetic) -> None:
        self.of = of

    def f(self, op: str, x: Number, y: Number) -> Number:
        return self.of.apply(op, (x, y), "f32")

    def f_n(self, op: str, x: Number, y: float) -> Number:
        return self.f(op, x, self.of.number(rounded(y, "f32"), "f32"))

    def u_n(self, op: str, x: Number, y: int) -> Number:
        return self.of.apply(op, (x, self.of.number(y, "u32")), "u32")

    def is_n(self, op: str, x: Number, y: float, dtype: str) -> Number:
        return self.of.apply(op, (x, self.of.number(rounded(y, dtype), dtype)), "bool")

    def choose_n(self, test: Number, x: float, y: float, dtype: str = "f32") -> Number:
        numbers = (self.of.number(rounded(v, dtype), dtype) for v in (x, y))
        return self.of.apply("where", (test, *numbers), dtype)

    def one(self, op: str, x: Number, dtype: str) -> Number:
        return self.of.apply(op, (x,), dtype)

    def polynomial(self, numbers: tuple[float, ...], x: Number) -> Number:
        first, second, *rest = numbers
        total = self.f_n("add", self.f_n("multiply", x, first), second)
        for number in rest:
            total = self.f_n("add", self.f("multiply", total, x), number)
        return total


def normal(of: Arithmetic, first: Number, second: Number, is_odd: Number) -> Number:
    """sqrt(-2 log u) times the cosine of 2 pi v, or its sine where `is_odd` (a bool) holds:
    u = ((first >> 8) + 1) 2^-24, v = (second >> 8) 2^-24."""
    a = _Steps(of)
    radius = a.one("sqrt", a.f_n("multiply", _log(a, first), -2.0), "f32")
    return a.f("multiply", radius, _turned(a, second, is_odd))


def _log(a: _Steps, word: Number) -> Number:
    """The logarithm of u: exponent and mantissa apart, the mantissa within sqrt(1/2), sqrt(2)."""
    whole = a.one("cast", a.u_n("add", a.u_n("shift-right", word, 8), 1), "f32")
    bits = a.one("bitcast", a.f_n("multiply", whole, 2.0**-24), "u32")
    exponent = a.f_n("subtract", a.one("cast", a.u_n("shift-right", bits, 23), "f32"), 127.0)
    digits = a.u_n("bit-or", a.u_n("bit-and", bits, 0x7FFFFF), 0x3F800000)
    mantissa = a.one("bitcast", digits, "f32")
    big = a.is_n("greater", mantissa, math.sqrt(2), "f32")
    mantissa = a.f("multiply", mantissa, a.choose_n(big, 0.5, 1.0))
    exponent = a.f("add", exponent, a.choose_n(big, 1.0, 0.0))
    x = a.f_n("subtract", mantissa, 1.0)
    square = a.f("multiply", x, x)
    y = a.f("multiply", a.f("multiply", a.polynomial(LOG, x), x), square)
    y = a.f("add", y, a.f_n("multiply", exponent, LN2_LOW))
    y = a.f("subtract", y, a.f_n("multiply", square, 0.5))
    return a.f("add", a.f("add", x, y), a.f_n("multiply", exponent, LN2_HIGH))


def _turned(a: _Steps, word: Number, is_odd: Number) -> Number:
    """The cosine, or the sine, by the nearest quarter of a turn and what is left of the angle."""
    v = a.u_n("shift-right", word, 8)
    quarter = a.u_n("shift-right", a.u_n("add", v, 1 << 21), 22)
    whole = a.one("cast", a.u_n("multiply", quarter, 1 << 22), "f32")
    left = a.f("subtract", a.one("cast", v, "f32"), whole)
    x = a.f_n("multiply", left, math.pi / 2 * 2.0**-22)
    square = a.f("multiply", x, x)
    sine = a.f("multiply", a.f("multiply", a.polynomial(SINE, square), square), x)
    sine = a.f("add", sine, x)
    cosine = a.f("multiply", a.f("multiply", a.polynomial(COSINE, square), square), square)
    cosine = a.f_n("add", a.f("subtract", cosine, a.f_n("multiply", square, 0.5)), 1.0)
    # A cosine is a sine a quarter further on.
    step = a.choose_n(is_odd, 0, 1, "u32")
    place = a.of.apply("add", (quarter, step), "u32")
    even = a.is_n("equal", a.u_n("bit-and", place, 1), 0, "u32")
    side = a.of.apply("where", (even, sine, cosine), "f32")
    back = a.is_n("not-equal", a.u_n("bit-and", place, 2), 0, "u32")
    return a.f("multiply", side, a.choose_n(back, -1.0, 1.0))
