"""Exact and floating arithmetic on two numbers: the slow path behind the builtins' fast one.

Rational results are exact and in lowest terms; a float operand makes the result a float.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import gcd, isfinite

from ..diagnostics import Problem
from .faults import bad_arithmetic, too_big, wrong_type
from .spending import limits, spend_bits, spend_product, spend_quotient
from .values import Ratio, Staged, String, Symbol, Value

BIG = 1 << 62
NUMBERS = (int, float, Ratio)


def ratio(numerator: int, denominator: int) -> Value:
    """numerator/denominator as an int or a Ratio; the denominator is not 0."""
    bits = max(numerator.bit_length(), denominator.bit_length())
    if bits > 4096:
        _affordable("/", bits)
        spend_quotient("/", min(numerator.bit_length(), denominator.bit_length()))
    divisor = gcd(numerator, denominator)
    if denominator < 0:
        divisor = -divisor
    numerator //= divisor
    denominator //= divisor
    return numerator if denominator == 1 else Ratio(numerator, denominator)


def is_number(value: Value) -> bool:
    kind = value.__class__
    return kind is int or kind is float or kind is Ratio


def fraction(x: Value) -> tuple[int, int]:
    """Numerator and denominator of an int or Ratio; of a float, exactly."""
    if x.__class__ is int:
        return x, 1
    if x.__class__ is Ratio:
        return x.numerator, x.denominator
    numerator, denominator = x.as_integer_ratio()
    return numerator, denominator


def to_float(name: str, x: Value) -> float:
    """The nearest double of a number."""
    try:
        if x.__class__ is Ratio:
            return float(x.numerator / x.denominator)
        return float(x)
    except OverflowError:
        raise bad_arithmetic(name, "floating-point overflow") from None


def checked(name: str, x: Value) -> Value:
    """A result that is neither infinite nor too long."""
    if x.__class__ is int:
        if not -BIG < x < BIG:
            bits = x.bit_length()
            _affordable(name, bits)
            (spend_product if name == "*" else spend_bits)(name, bits)
        return x
    if x.__class__ is float and x - x != 0.0:
        raise bad_arithmetic(name, "floating-point overflow")
    return x


def _affordable(name: str, bits: int) -> None:
    """E-LIMIT-INTEGER of a result with too many bits."""
    if bits > limits().bits:
        raise too_big(name)


def _rational(name: str, a: Value, b: Value, op: str) -> Value:
    an, ad = fraction(a)
    bn, bd = fraction(b)
    if op == "*":
        return ratio(an * bn, ad * bd)
    if op == "/":
        if bn == 0:
            raise bad_arithmetic(name, "division by zero", a, b)
        return ratio(an * bd, ad * bn)
    if op == "-":
        bn = -bn
    return ratio(an * bd + bn * ad, ad * bd)


def _divide_floats(a: float, b: float) -> float:
    if b == 0:
        raise bad_arithmetic("/", "division by zero", a, b)
    return a / b


_FLOAT: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide_floats,
}


def combine(op: str, a: Value, b: Value) -> Value:
    """a op b of two numbers of any kind; op is + - * or /."""
    for x in (a, b):
        if not is_number(x):
            raise wrong_type(op, x, "a number")
    if a.__class__ is float or b.__class__ is float:
        x, y = to_float(op, a), to_float(op, b)
        result = _FLOAT[op](x, y)
        return checked(op, result) if isfinite(x) and isfinite(y) else result
    if op == "*" and a.__class__ is int and b.__class__ is int:
        return checked(op, a * b)
    found = _rational(op, a, b, op)
    return checked(op, found)


def _not_compared(name: str, x: Value) -> Exception:
    """E-TYPE; of = with what compares such a value."""
    error = wrong_type(name, x, "a real number")
    if name not in ("=", "/=") or not isinstance(error, Problem) or isinstance(x, Staged):
        return error
    word = "eq" if x.__class__ is Symbol else "string=" if isinstance(x, String) else "equal"
    d = error.diagnostic
    shown = f"write {word}" if name == "=" else f"write (not ({word} a b))"
    facts = {**d.facts, "written": name, "nearest": word} if name == "=" else d.facts
    error.diagnostic = d._replace(hint=f"{name} compares numbers: {shown}", facts=facts)
    return error


def compare(name: str, a: Value, b: Value) -> int:
    """-1, 0 or 1 by exact value; not a number compares as 2 (no relation holds)."""
    for x in (a, b):
        if not is_number(x):
            raise _not_compared(name, x)
    if a.__class__ is Ratio or b.__class__ is Ratio:
        for x, sign in ((a, 1), (b, -1)):
            if x.__class__ is float and not isfinite(x):
                return 2 if x != x else sign * (1 if x > 0 else -1)
        an, ad = fraction(a)
        bn, bd = fraction(b)
        a, b = an * bd, bn * ad
    return 0 if a == b else -1 if a < b else 1 if a > b else 2


def negative(x: Value) -> bool:
    """Whether a number is below 0."""
    return bool(x.numerator < 0 if x.__class__ is Ratio else x < 0)


def negate(x: Value) -> Value:
    return Ratio(-x.numerator, x.denominator) if x.__class__ is Ratio else -x


def truncate(name: str, a: Value, b: Value) -> tuple[int, Value]:
    """Quotient towards 0 and remainder a - q b; a float's quotient is that of the float a/b."""
    for x in (a, b):
        if not is_number(x):
            raise wrong_type(name, x, "a real number")
    if (b.numerator if b.__class__ is Ratio else b) == 0:
        raise bad_arithmetic(name, "division by zero", a, b)
    if a.__class__ is float or b.__class__ is float:
        x, y = to_float(name, a), to_float(name, b)
        q = int(checked(name, x / y))
        return q, x - q * y if y != 1.0 else x - q
    an, ad = fraction(a)
    bn, bd = fraction(b)
    n, d = an * bd, ad * bn
    spend_quotient(name, n.bit_length())
    q = abs(n) // abs(d)
    if (n < 0) != (d < 0):
        q = -q
    return q, combine("-", a, combine("*", q, b))
