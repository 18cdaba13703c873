"""`floor ceiling truncate round mod rem` and the `f` family: quotient and remainder."""

from __future__ import annotations

from collections.abc import Callable
from math import copysign
from typing import Any

from ..faults import bad_arithmetic
from ..numeric import combine, compare, negate, negative, to_float, truncate
from ..spending import spend_quotient
from ..values import MultipleValues, Ratio, Value
from .defining import define, staged_operand

Division = Callable[[str, Any, Any], tuple[int, Any]]


def _is_zero(x: Value) -> bool:
    return bool((x.numerator if x.__class__ is Ratio else x) == 0)


def _floor(name: str, a: Any, b: Any) -> tuple[int, Any]:
    if a.__class__ is int and b.__class__ is int and b != 0:
        spend_quotient(name, a.bit_length())
        return divmod(a, b)
    q, r = truncate(name, a, b)
    if not _is_zero(r) and negative(a) != negative(b):
        return q - 1, combine("+", r, b)
    return q, r


def _ceiling(name: str, a: Any, b: Any) -> tuple[int, Any]:
    q, r = truncate(name, a, b)
    if not _is_zero(r) and negative(a) == negative(b):
        return q + 1, combine("-", r, b)
    return q, r


def _round(name: str, a: Any, b: Any) -> tuple[int, Any]:
    """To the nearest integer, to the even one at a half."""
    q, r = truncate(name, a, b)
    double = combine("*", 2, negate(r) if negative(r) else r)
    order = compare(name, double, negate(b) if negative(b) else b)
    if order < 0 or (order == 0 and q % 2 == 0):
        return q, r
    if negative(r) == negative(b):
        return q + 1, combine("-", r, b)
    return q - 1, combine("+", r, b)


_DIVISIONS: tuple[tuple[str, Division, str], ...] = (
    ("floor", _floor, "Quotient rounded down, and the remainder."),
    ("ceiling", _ceiling, "Quotient rounded up, and the remainder."),
    ("truncate", truncate, "Quotient rounded towards 0, and the remainder."),
    ("round", _round, "Quotient rounded to the nearest integer (even at a half), and remainder."),
)


def _two_values(name: str, division: Division) -> Callable[..., Value]:
    def call(number: Any, divisor: Any = 1) -> Value:
        staged = staged_operand((number, divisor))
        if staged is not None:
            return staged.generic(name, (number, divisor))
        return MultipleValues(division(name, number, divisor))

    return call


def _float_quotient(name: str, division: Division) -> Callable[..., Value]:
    def call(number: Any, divisor: Any = 1) -> Value:
        q, r = division(name, number, divisor)
        whole = to_float(name, q)
        if q == 0 and name != "fround" and _opposite(number, divisor):
            whole = -0.0
        return MultipleValues((whole, r))

    return call


def _opposite(a: Any, b: Any) -> bool:
    """Whether a quotient with a float in it has the sign of -0.0."""
    signs = [copysign(1.0, x) if x.__class__ is float else -1 if negative(x) else 1 for x in (a, b)]
    return float in (a.__class__, b.__class__) and signs[0] != signs[1]


def _remainder(name: str, division: Division) -> Callable[[Any, Any], Value]:
    def call(number: Any, divisor: Any) -> Value:
        if name == "mod" and number.__class__ is int and divisor.__class__ is int:
            if divisor == 0:
                raise bad_arithmetic(name, "division by zero", number, divisor)
            return number % divisor
        staged = staged_operand((number, divisor))
        if staged is not None:
            return staged.generic(name, (number, divisor))
        return division(name, number, divisor)[1]

    return call


for _name, _division, _doc in _DIVISIONS:
    define(
        _name, "(number &optional (divisor 1))", _doc, _two_values(_name, _division), staged=True
    )
    define(
        "f" + _name,
        "(number &optional (divisor 1))",
        _doc + " The quotient is a float.",
        _float_quotient("f" + _name, _division),
    )
define("mod", "(number divisor)", "Remainder of floor.", _remainder("mod", _floor), staged=True)
define(
    "rem", "(number divisor)", "Remainder of truncate.", _remainder("rem", truncate), staged=True
)
