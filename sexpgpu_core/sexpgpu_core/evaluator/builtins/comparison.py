"""`= /= < > <= >=`, exact between integers, ratios and floats, and the sign tests."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from ..definitions import builtin
from ..faults import wrong_type
from ..numeric import compare, is_number
from ..values import NIL, Ratio, T, Value
from .defining import define, predicate, staged_operand

_RELATIONS: tuple[tuple[str, tuple[int, ...], Callable[[Any, Any], bool], str], ...] = (
    ("=", (0,), operator.eq, "Whether all are equal in value."),
    ("<", (-1,), operator.lt, "Whether each is below the next."),
    (">", (1,), operator.gt, "Whether each is above the next."),
    ("<=", (-1, 0), operator.le, "Whether none is above the next."),
    (">=", (1, 0), operator.ge, "Whether none is below the next."),
)


_ABSENT: Any = object()
"""An operand that was not given."""


def _relation(
    name: str, holds: tuple[int, ...], fast: Callable[[Any, Any], bool]
) -> Callable[..., Value]:
    def call(a: Any, b: Any = _ABSENT, *rest: Any) -> Value:
        if (
            not rest
            and (a.__class__ is int or a.__class__ is float)
            and (b.__class__ is int or b.__class__ is float)
        ):
            return T if fast(a, b) else NIL
        return _chain(name, holds, (a,) if b is _ABSENT else (a, b, *rest))

    return call


def _chain(name: str, holds: tuple[int, ...], numbers: tuple[Any, ...]) -> Value:
    staged = staged_operand(numbers)
    if staged is not None:
        return staged.generic(name, numbers)
    result = T
    if len(numbers) == 1 and not is_number(numbers[0]):
        raise wrong_type(name, numbers[0], "a number")
    for a, b in pairwise(numbers):
        if compare(name, a, b) not in holds:
            result = NIL
    return result


for _name, _holds, _fast, _doc in _RELATIONS:
    define(_name, "(number &rest numbers)", _doc, _relation(_name, _holds, _fast), staged=True)


@builtin("/=", "(number &rest numbers)", staged=True)
def all_unequal(*numbers: Any) -> Value:
    """Whether no two are equal in value."""
    staged = staged_operand(numbers)
    if staged is not None:
        return staged.generic("/=", numbers)
    if len(numbers) == 1 and not is_number(numbers[0]):
        raise wrong_type("/=", numbers[0], "a number")
    result = T
    for i, a in enumerate(numbers):
        for b in numbers[i + 1 :]:
            if compare("/=", a, b) == 0:
                result = NIL
    return result


def _sign_test(name: str, test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def call(x: Any) -> bool:
        if not is_number(x):
            raise wrong_type(name, x, "a real number")
        return test(x.numerator if x.__class__ is Ratio else x)

    return call


def _parity(name: str, wanted: int) -> Callable[[Any], bool]:
    def call(x: Any) -> bool:
        if x.__class__ is not int:
            raise wrong_type(name, x, "an integer")
        return bool(x & 1 == wanted)

    return call


predicate("zerop", "(number)", "Whether it is 0.", _sign_test("zerop", lambda x: x == 0))
predicate("plusp", "(number)", "Whether it is above 0.", _sign_test("plusp", lambda x: x > 0))
predicate("minusp", "(number)", "Whether it is below 0.", _sign_test("minusp", lambda x: x < 0))
predicate("evenp", "(integer)", "Whether it is even.", _parity("evenp", 0))
predicate("oddp", "(integer)", "Whether it is odd.", _parity("oddp", 1))
