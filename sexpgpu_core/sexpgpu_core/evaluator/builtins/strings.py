"""Strings: case, trimming, comparison. What changes a string changes its list of characters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..definitions import builtin
from ..equality import active
from ..faults import claim_cells, wrong_type
from ..sequence_parts import items_of
from ..symbol_text import capitalize
from ..values import NIL, String, T, Value, character
from .bounds import bounds, index, natural
from .characters import char_of, downcase, fold_case, text_of, upcase
from .defining import define, predicate

predicate("stringp", "(object)", "Whether it is a string.", lambda x: isinstance(x, String))
predicate(
    "simple-string-p",
    "(object)",
    "Whether it is a string without fill pointer that is not adjustable.",
    lambda x: isinstance(x, String) and x.fill is None and not x.adjustable,
)


def _string(name: str, x: Any) -> String:
    if not isinstance(x, String):
        raise wrong_type(name, x, "a string")
    return x


@builtin("string", "(designator)")
def string(designator: Any) -> Value:
    """The string of a string, symbol or character."""
    if isinstance(designator, String):
        return designator
    return String(text_of("string", designator))


@builtin("make-string", "(size &key initial-element element-type)")
def make_string(size: Any, *, initial_element: Any = None, element_type: Any = None) -> Value:
    """A string of that many times the character."""
    count = natural("make-string", size)
    claim_cells("make-string", count)
    char = "\0" if initial_element is None else char_of("make-string", initial_element)
    return String([char] * count)


@builtin("char", "(string index)")
def char(text: Any, at: Any) -> Value:
    """The character of an index."""
    data = _string("char", text).data
    return character(data[index("char", at, len(data))])


@builtin("schar", "(string index)")
def schar(text: Any, at: Any) -> Value:
    """The character of an index."""
    data = _string("schar", text).data
    return character(data[index("schar", at, len(data))])


def _set_char(name: str) -> Callable[[Any, Any, Any], Value]:
    def call(new: Any, text: Any, at: Any) -> Value:
        data = _string(name, text).data
        data[index(name, at, len(data))] = char_of(name, new)
        return new

    return call


for _name in ("char", "schar"):
    define(
        f"(setf {_name})", "(new string index)", "Set the character of an index.", _set_char(_name)
    )


def _recased(turn: Callable[[str], str]) -> Callable[[list[str]], list[str]]:
    return lambda chars: [turn(c) for c in chars]


_CASES: tuple[tuple[str, Callable[[list[str]], list[str]], str], ...] = (
    ("upcase", _recased(upcase), "in upper case"),
    ("downcase", _recased(downcase), "in lower case"),
    ("capitalize", lambda chars: list(capitalize("".join(chars))), "with words capitalized"),
)


def _copy_cased(name: str, turn: Callable[[list[str]], list[str]]) -> Callable[..., Value]:
    def call(designator: Any, *, start: Any = 0, end: Any = NIL) -> Value:
        chars = list(text_of(name, designator))
        first, last = bounds(name, start, end, len(chars))
        chars[first:last] = turn(chars[first:last])
        return String(chars)

    return call


def _cased_in_place(name: str, turn: Callable[[list[str]], list[str]]) -> Callable[..., Value]:
    def call(text: Any, *, start: Any = 0, end: Any = NIL) -> Value:
        first, last = bounds(name, start, end, len(active(_string(name, text))))
        text.data[first:last] = turn(text.data[first:last])
        return text

    return call


for _case, _turn, _doc in _CASES:
    define(
        f"string-{_case}",
        "(string &key (start 0) end)",
        f"A copy {_doc}.",
        _copy_cased(f"string-{_case}", _turn),
    )
    define(
        f"nstring-{_case}",
        "(string &key (start 0) end)",
        f"The string {_doc}, in place.",
        _cased_in_place(f"nstring-{_case}", _turn),
    )


def _trimmer(name: str, left: bool, right: bool) -> Callable[[Any, Any], Value]:
    def call(bag: Any, designator: Any) -> Value:
        unwanted = {char_of(name, c) for c in items_of(name, bag)}
        text = text_of(name, designator)
        first, last = 0, len(text)
        while left and first < last and text[first] in unwanted:
            first += 1
        while right and first < last and text[last - 1] in unwanted:
            last -= 1
        return String(text[first:last])

    return call


for _name, _left, _right in (
    ("string-trim", True, True),
    ("string-left-trim", True, False),
    ("string-right-trim", False, True),
):
    define(
        _name,
        "(characters string)",
        "A copy without the characters at its ends.",
        _trimmer(_name, _left, _right),
    )

_TWO = "(string1 string2 &key (start1 0) end1 (start2 0) end2)"
_ORDERS: tuple[tuple[str, str, frozenset[int], str], ...] = (
    ("string=", "string-equal", frozenset({0}), "they are equal"),
    ("string/=", "string-not-equal", frozenset({-1, 1}), "they differ"),
    ("string<", "string-lessp", frozenset({-1}), "the first is below"),
    ("string>", "string-greaterp", frozenset({1}), "the first is above"),
    ("string<=", "string-not-greaterp", frozenset({-1, 0}), "the first is not above"),
    ("string>=", "string-not-lessp", frozenset({0, 1}), "the first is not below"),
)


def _comparison(name: str, holds: frozenset[int], fold: bool) -> Callable[..., Value]:
    def call(
        string1: Any,
        string2: Any,
        *,
        start1: Any = 0,
        end1: Any = NIL,
        start2: Any = 0,
        end2: Any = NIL,
    ) -> Value:
        left, right = text_of(name, string1), text_of(name, string2)
        first1, last1 = bounds(name, start1, end1, len(left))
        first2, last2 = bounds(name, start2, end2, len(right))
        order, at = _order(left[first1:last1], right[first2:last2], fold)
        if order not in holds:
            return NIL
        return T if holds == {0} else first1 + at

    return call


def _order(a: str, b: str, fold: bool) -> tuple[int, int]:
    """-1, 0 or 1 and the index where they part."""
    if fold:
        a, b = "".join(map(fold_case, a)), "".join(map(fold_case, b))
    if a == b:
        return 0, len(a)
    at = 0
    while at < len(a) and at < len(b) and a[at] == b[at]:
        at += 1
    return (-1 if a[at:] < b[at:] else 1), at


for _exact, _folded, _holds, _doc in _ORDERS:
    _what = "Whether" if _exact == "string=" else "The index where they part if"
    define(_exact, _TWO, f"{_what} {_doc}.", _comparison(_exact, _holds, False))
    define(_folded, _TWO, f"{_what} {_doc}, case aside.", _comparison(_folded, _holds, True))
