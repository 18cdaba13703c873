"""Exponentials, roots, logarithms, angles, as doubles; what leaves the reals is an error."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..definitions import builtin
from ..faults import bad_arithmetic, too_big, wrong_type
from ..numeric import checked, fraction, is_number, ratio, to_float
from ..spending import limits, spend_product, spend_quotient
from ..values import Ratio, Staged, Value
from .defining import define, staged_operand


def _real(name: str, function: Callable[[float], float]) -> Callable[[Any], Value]:
    """A real function of one number: domain and overflow are E-ARITHMETIC."""

    def call(number: Any) -> Value:
        if isinstance(number, Staged):
            return number.generic(name, (number,))
        if not is_number(number):
            raise wrong_type(name, number, "a number")
        return _apply(name, function, to_float(name, number))

    return call


def _apply(name: str, function: Callable[..., float], *arguments: float) -> float:
    try:
        return function(*arguments)
    except ValueError:
        raise bad_arithmetic(name, "the result is not a real number", *arguments) from None
    except OverflowError:
        raise bad_arithmetic(name, "floating-point overflow", *arguments) from None


_FUNCTIONS: tuple[tuple[str, Callable[[float], float], str], ...] = (
    ("exp", math.exp, "e to the power of the number."),
    ("sin", math.sin, "Sine of radians."),
    ("cos", math.cos, "Cosine of radians."),
    ("tan", math.tan, "Tangent of radians."),
    ("asin", math.asin, "Arc sine in radians."),
    ("acos", math.acos, "Arc cosine in radians."),
    ("sinh", math.sinh, "Hyperbolic sine."),
    ("cosh", math.cosh, "Hyperbolic cosine."),
    ("tanh", math.tanh, "Hyperbolic tangent."),
    ("asinh", math.asinh, "Inverse hyperbolic sine."),
    ("acosh", math.acosh, "Inverse hyperbolic cosine."),
    ("atanh", math.atanh, "Inverse hyperbolic tangent."),
)
for _name, _function, _doc in _FUNCTIONS:
    define(_name, "(number)", _doc, _real(_name, _function), staged=True)


@builtin("sqrt", "(number)", staged=True)
def square_root(number: Any) -> Value:
    """The square root, a double; of a negative number an error."""
    if number.__class__ is int and number.bit_length() > 1000:
        shift = (number.bit_length() - 128) // 2
        return checked("sqrt", to_float("sqrt", math.isqrt(number >> 2 * shift) << shift))
    return _SQRT(number)


_SQRT = _real("sqrt", math.sqrt)


@builtin("atan", "(number1 &optional number2)", staged=True)
def arc_tangent(number1: Any, number2: Any = None) -> Value:
    """Arc tangent; of two numbers, the angle of the point (number2, number1)."""
    operands = (number1,) if number2 is None else (number1, number2)
    staged = staged_operand(operands)
    if staged is not None:
        return staged.generic("atan", operands)
    for x in operands:
        if not is_number(x):
            raise wrong_type("atan", x, "a number")
    function = math.atan if number2 is None else math.atan2
    return _apply("atan", function, *(to_float("atan", x) for x in operands))


@builtin("log", "(number &optional base)", staged=True)
def logarithm(number: Any, base: Any = None) -> Value:
    """The natural logarithm, or that to a base."""
    operands = (number,) if base is None else (number, base)
    staged = staged_operand(operands)
    if staged is not None:
        return staged.generic("log", operands)
    if base is None:
        return _log(number)
    if base in (2, 10) and is_number(number):
        exact = math.log2 if base == 2 else math.log10
        return _apply("log", exact, number if number.__class__ is int else to_float("log", number))
    below = _log(base)
    if below == 0:
        raise bad_arithmetic("log", "division by zero", *operands)
    return _log(number) / below


def _log(x: Any) -> float:
    if x.__class__ is Ratio:
        if x.numerator < 0:
            raise bad_arithmetic("log", "the result is not a real number", x)
        return math.log(x.numerator) - math.log(x.denominator)
    if not is_number(x):
        raise wrong_type("log", x, "a number")
    return _apply("log", math.log, x)


@builtin("expt", "(base power)", staged=True)
def power(base: Any, power: Any) -> Value:
    """The base to the power: exact for a rational base and an integer power."""
    staged = staged_operand((base, power))
    if staged is not None:
        return staged.generic("expt", (base, power))
    for x in (base, power):
        if not is_number(x):
            raise wrong_type("expt", x, "a number")
    if power.__class__ is int and base.__class__ is not float:
        return _exact_power(base, power)
    return _float_power(to_float("expt", base), to_float("expt", power))


def _exact_power(base: Any, power: int) -> Value:
    numerator, denominator = fraction(base)
    if power < 0 and numerator == 0:
        raise bad_arithmetic("expt", "division by zero", base, power)
    widest = max(abs(numerator), denominator)
    bits = (widest.bit_length() - 1) * abs(power)
    if widest > 1 and bits > limits().bits:
        raise too_big("expt")
    spend_product("expt", bits)
    if power < 0:
        return ratio(denominator**-power, numerator**-power)
    return ratio(numerator**power, denominator**power)


def _float_power(base: float, power: float) -> float:
    if base == 0 and power < 0:
        raise bad_arithmetic("expt", "division by zero", base, power)
    return _apply("expt", math.pow, base, power)


@builtin("isqrt", "(natural)")
def integer_square_root(natural: Any) -> Value:
    """The largest integer whose square is not above the number."""
    if natural.__class__ is not int or natural < 0:
        raise wrong_type("isqrt", natural, "a non-negative integer")
    spend_quotient("isqrt", natural.bit_length())
    return math.isqrt(natural)
