"""`+ - * / 1+ 1-` and their like: ints and floats first, ratios and staged values after."""

from __future__ import annotations

from typing import Any

from ..definitions import builtin
from ..faults import bad_arithmetic, wrong_type
from ..numeric import BIG, checked, combine, compare, fraction, is_number, negate, negative, ratio
from ..values import Ratio, Staged, Value
from .defining import staged_operand

_ABSENT: Any = object()
"""An operand that was not given."""


def _fold(op: str, operands: tuple[Value, ...]) -> Value:
    """The operands combined from the left; a staged one takes the call."""
    staged = staged_operand(operands)
    if staged is not None:
        return staged.generic(op, operands)
    result = operands[0]
    for x in operands[1:]:
        result = combine(op, result, x)
    return result


def _number(name: str, x: Value) -> Value:
    if is_number(x):
        return x
    if isinstance(x, Staged):
        return x.generic(name, (x,))
    raise wrong_type(name, x, "a number")


@builtin("+", "(&rest numbers)", staged=True)
def add(a: Any = _ABSENT, b: Any = _ABSENT, *rest: Any) -> Value:
    """The sum; 0 of none."""
    if not rest:
        if a.__class__ is int and b.__class__ is int:
            r = a + b
            return r if -BIG < r < BIG else checked("+", r)
        if a.__class__ is float and b.__class__ is float:
            x: float = a + b
            if x - x == 0.0:
                return x
        if b is _ABSENT:
            return 0 if a is _ABSENT else _number("+", a)
    return _fold("+", (a, b, *rest))


@builtin("*", "(&rest numbers)", staged=True)
def multiply(a: Any = _ABSENT, b: Any = _ABSENT, *rest: Any) -> Value:
    """The product; 1 of none."""
    if not rest:
        if a.__class__ is int and b.__class__ is int:
            r = a * b
            return r if -BIG < r < BIG else checked("*", r)
        if a.__class__ is float and b.__class__ is float:
            x: float = a * b
            if x - x == 0.0:
                return x
        if b is _ABSENT:
            return 1 if a is _ABSENT else _number("*", a)
    return _fold("*", (a, b, *rest))


@builtin("-", "(number &rest numbers)", staged=True)
def subtract(a: Any, b: Any = _ABSENT, *rest: Any) -> Value:
    """The difference; of one number, its negative."""
    if not rest:
        if a.__class__ is int and b.__class__ is int:
            r = a - b
            return r if -BIG < r < BIG else checked("-", r)
        if a.__class__ is float and b.__class__ is float:
            x: float = a - b
            if x - x == 0.0:
                return x
        if b is _ABSENT:
            return negate(a) if is_number(a) else _number("-", a)
    return _fold("-", (a, b, *rest))


@builtin("/", "(number &rest numbers)", staged=True)
def divide(*numbers: Any) -> Value:
    """The quotient, a ratio where integers do not divide; of one number, its reciprocal."""
    if len(numbers) == 1:
        x = numbers[0]
        return x.generic("/", numbers) if isinstance(x, Staged) else combine("/", 1, x)
    if len(numbers) == 2 and numbers[0].__class__ is int and numbers[1].__class__ is int:
        if numbers[1] == 0:
            raise bad_arithmetic("/", "division by zero", *numbers)
        return ratio(*numbers)
    return _fold("/", numbers)


@builtin("1+", "(number)", staged=True)
def one_plus(number: Any) -> Value:
    """The number plus 1."""
    if isinstance(number, Staged):
        return number.generic("1+", (number,))
    return add(number, 1)


@builtin("1-", "(number)", staged=True)
def one_minus(number: Any) -> Value:
    """The number minus 1."""
    if isinstance(number, Staged):
        return number.generic("1-", (number,))
    return subtract(number, 1)


@builtin("abs", "(number)", staged=True)
def absolute(number: Any) -> Value:
    """The absolute value."""
    if number.__class__ is int or number.__class__ is float:
        return abs(number)
    if number.__class__ is Ratio:
        return Ratio(abs(number.numerator), number.denominator)
    return _number("abs", number)


@builtin("signum", "(number)", staged=True)
def signum(number: Any) -> Value:
    """-1, 0 or 1 in the number's own kind."""
    if not is_number(number):
        return _number("signum", number)
    if number.__class__ is float:
        return number if number == 0 or number != number else (1.0 if number > 0 else -1.0)
    return -1 if negative(number) else 1 if number != 0 else 0


@builtin("conjugate", "(number)")
def conjugate(number: Any) -> Value:
    """The number itself: there are no complex numbers."""
    return _number("conjugate", number)


def _extreme(name: str, sign: int, numbers: tuple[Any, ...]) -> Value:
    staged = staged_operand(numbers)
    if staged is not None:
        return staged.generic(name, numbers)
    best = numbers[0]
    if not is_number(best):
        raise wrong_type(name, best, "a real number")
    for x in numbers[1:]:
        if compare(name, x, best) == sign:
            best = x
    return best


@builtin("max", "(number &rest numbers)", staged=True)
def maximum(*numbers: Any) -> Value:
    """The largest."""
    return _extreme("max", 1, numbers)


@builtin("min", "(number &rest numbers)", staged=True)
def minimum(*numbers: Any) -> Value:
    """The smallest."""
    return _extreme("min", -1, numbers)


@builtin("numerator", "(rational)")
def numerator(rational: Any) -> Value:
    """The numerator in lowest terms."""
    if rational.__class__ not in (int, Ratio):
        raise wrong_type("numerator", rational, "a rational")
    return fraction(rational)[0]


@builtin("denominator", "(rational)")
def denominator(rational: Any) -> Value:
    """The denominator in lowest terms, positive."""
    if rational.__class__ not in (int, Ratio):
        raise wrong_type("denominator", rational, "a rational")
    return fraction(rational)[1]
