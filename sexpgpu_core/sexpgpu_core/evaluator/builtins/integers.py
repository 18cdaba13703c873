"""Divisors, parsing and random numbers."""

from __future__ import annotations

import math
from typing import Any

from ...reader.numbers import integer_of
from ..definitions import builtin
from ..faults import bad_argument, bad_number_text, too_big, wrong_type
from ..numeric import checked
from ..random_state import RandomState
from ..spending import limits, spend, spend_quotient
from ..standard_variables import RANDOM_STATE
from ..values import NIL, MultipleValues, String, T, Value
from .bounds import bounds


def _integers(name: str, values: tuple[Any, ...]) -> tuple[int, ...]:
    for x in values:
        if x.__class__ is not int:
            raise wrong_type(name, x, "an integer")
    return values


@builtin("gcd", "(&rest integers)")
def greatest_common_divisor(*integers: Any) -> Value:
    """The greatest common divisor; 0 of none."""
    numbers = _integers("gcd", integers)
    spend_quotient("gcd", max((x.bit_length() for x in numbers), default=0))
    return math.gcd(*numbers)


@builtin("lcm", "(&rest integers)")
def least_common_multiple(*integers: Any) -> Value:
    """The least common multiple; 1 of none."""
    result = 1
    for x in _integers("lcm", integers):
        result = abs(result * x) // (math.gcd(result, x) or 1)
        spend_quotient("lcm", result.bit_length())
        checked("lcm", result)
    return result


_DIGITS = {c: i for i, c in enumerate("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")}
_SPACES = " \t\n\f\r\v"


@builtin("parse-integer", "(string &key (start 0) end (radix 10) junk-allowed)")
def parse_integer(
    string: Any, *, start: Any = 0, end: Any = NIL, radix: Any = 10, junk_allowed: Any = NIL
) -> Value:
    """The integer that a string spells, and the index where it ends."""
    if not isinstance(string, String):
        raise wrong_type("parse-integer", string, "a string")
    if radix.__class__ is not int or not 2 <= radix <= 36:
        raise wrong_type("parse-integer", radix, "a radix from 2 to 36")
    text = string.text()
    first, last = bounds("parse-integer", start, end, len(text))
    while first < last and text[first] in _SPACES:
        first += 1
    number, stop = _scan(text, first, last, radix)
    if number is not None and junk_allowed is NIL:
        while stop < last and text[stop] in _SPACES:
            stop += 1
    if junk_allowed is NIL and (number is None or stop < last):
        raise bad_number_text(text)
    return MultipleValues((NIL if number is None else number, stop))


def _scan(text: str, at: int, last: int, radix: int) -> tuple[int | None, int]:
    """The integer at `at`, None if there is no digit, and where it stops."""
    negative = at < last and text[at] == "-"
    if at < last and text[at] in "+-":
        at += 1
    first = at
    while at < last and _DIGITS.get(text[at].upper(), 99) < radix:
        at += 1
    spend("parse-integer", at - first)
    if at == first:
        return None, at
    if (at - first) * (radix.bit_length() - 1) > limits().bits:
        raise too_big("parse-integer")
    number = integer_of(text[first:at], radix)
    spend_quotient("parse-integer", number.bit_length())
    return -number if negative else number, at


@builtin("random", "(limit &optional random-state)")
def random(limit: Any, random_state: Any = None) -> Value:
    """A number from 0 to below the limit, of the limit's kind; drawn from the run's seed."""
    state = RANDOM_STATE.value if random_state is None else random_state
    if not isinstance(state, RandomState):
        raise wrong_type("random", state, "a random state")
    if limit.__class__ is int and limit > 0:
        return state.below(limit)
    if limit.__class__ is float and limit > 0:
        return state.fraction() * limit
    raise wrong_type("random", limit, "a positive integer or float")


@builtin("make-random-state", "(&optional state)")
def make_random_state(state: Any = NIL) -> Value:
    """A copy of a random state, of the current one without an argument."""
    source = state if isinstance(state, RandomState) else RANDOM_STATE.value
    if state is not NIL and not isinstance(state, RandomState) and state is not T:
        raise bad_argument("make-random-state", "wants a random state, nil or t")
    return RandomState(source.seed)


@builtin("random-state-p", "(object)")
def random_state_p(value: Any) -> Value:
    """Whether it is a random state."""
    return T if isinstance(value, RandomState) else NIL
