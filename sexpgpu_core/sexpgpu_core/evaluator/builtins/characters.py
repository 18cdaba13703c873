"""Characters: names, codes, case and comparison."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from ..definitions import builtin
from ..faults import wrong_type
from ..spending import spend
from ..symbol_text import CHARACTER_NAMES
from ..values import NIL, Character, String, Symbol, Value, character
from .bounds import natural
from .defining import define, predicate

NAMED = {name.upper(): char for char, name in CHARACTER_NAMES.items()} | {
    "LINEFEED": "\n",
    "NULL": "\0",
    "DELETE": "\x7f",
    "ESC": "\x1b",
    "BELL": "\x07",
}
"""Characters by upper-case name."""


def char_of(name: str, x: Any) -> str:
    """The Python string of a character."""
    if x.__class__ is not Character:
        raise wrong_type(name, x, "a character")
    return str(x.char)


def fold_case(char: str) -> str:
    """What equal letters of either case have in common."""
    upper = char.upper()
    return upper if len(upper) == 1 and has_case(char) else char


def has_case(char: str) -> bool:
    """Whether it is a letter with exactly one partner in the other case."""
    up, low = char.upper(), char.lower()
    if up == low or len(up) != 1 or len(low) != 1:
        return False
    return up.lower() == low and low.upper() == up


_ORDERS: tuple[tuple[str, str, Callable[[Any, Any], bool], str], ...] = (
    ("char=", "char-equal", operator.eq, "all are equal"),
    ("char<", "char-lessp", operator.lt, "each is below the next"),
    ("char>", "char-greaterp", operator.gt, "each is above the next"),
    ("char<=", "char-not-greaterp", operator.le, "none is above the next"),
    ("char>=", "char-not-lessp", operator.ge, "none is below the next"),
)


def _chained(
    name: str, holds: Callable[[Any, Any], bool], fold: bool, all_pairs: bool = False
) -> Callable[..., bool]:
    def call(*characters: Any) -> bool:
        chars = [char_of(name, c) for c in characters]
        if fold:
            chars = [fold_case(c) for c in chars]
        if all_pairs:
            return len(set(chars)) == len(chars)
        return all(holds(a, b) for a, b in pairwise(chars))

    return call


for _exact, _folded, _holds, _doc in _ORDERS:
    predicate(
        _exact, "(character &rest characters)", f"Whether {_doc}.", _chained(_exact, _holds, False)
    )
    predicate(
        _folded,
        "(character &rest characters)",
        f"Whether {_doc}, case aside.",
        _chained(_folded, _holds, True),
    )
predicate(
    "char/=",
    "(character &rest characters)",
    "Whether no two are equal.",
    _chained("char/=", operator.ne, False, True),
)
predicate(
    "char-not-equal",
    "(character &rest characters)",
    "Whether no two are equal, case aside.",
    _chained("char-not-equal", operator.ne, True, True),
)

_TESTS: tuple[tuple[str, Callable[[str], bool], str], ...] = (
    ("alpha-char-p", str.isalpha, "Whether it is a letter."),
    ("alphanumericp", str.isalnum, "Whether it is a letter or digit."),
    ("graphic-char-p", str.isprintable, "Whether it prints as itself."),
    ("standard-char-p", lambda c: c == "\n" or " " <= c <= "~", "Whether it is a standard one."),
    ("upper-case-p", lambda c: has_case(c) and c.isupper(), "Whether it is in upper case."),
    ("lower-case-p", lambda c: has_case(c) and c.islower(), "Whether it is in lower case."),
    ("both-case-p", has_case, "Whether it has a partner in the other case."),
)
for _name, _test, _doc in _TESTS:
    predicate(_name, "(character)", _doc, lambda x, name=_name, test=_test: test(char_of(name, x)))
predicate(
    "characterp", "(object)", "Whether it is a character.", lambda x: x.__class__ is Character
)


def upcase(char: str) -> str:
    return char.upper() if has_case(char) else char


def downcase(char: str) -> str:
    return char.lower() if has_case(char) else char


for _name, _turn, _doc in (
    ("char-upcase", upcase, "The character in upper case."),
    ("char-downcase", downcase, "The character in lower case."),
):
    define(
        _name,
        "(character)",
        _doc,
        lambda x, name=_name, turn=_turn: character(turn(char_of(name, x))),
    )
for _name in ("char-code", "char-int"):
    define(_name, "(character)", "Its code.", lambda x, name=_name: ord(char_of(name, x)))


@builtin("code-char", "(code)")
def code_char(code: Any) -> Value:
    """The character of a code, nil if there is none."""
    n = natural("code-char", code)
    return character(chr(n)) if n < 0x110000 else NIL


@builtin("char-name", "(character)")
def char_name(char: Any) -> Value:
    """Its name, nil if it has none."""
    c = char_of("char-name", char)
    name = CHARACTER_NAMES.get(c)
    if name is None and not c.isprintable():
        name = f"U{ord(c):04X}"
    return String(name) if name else NIL


def named_character(name: str) -> str | None:
    """The character of a name in any case: Space, U0041, or a single character."""
    upper = name.upper()
    if upper in NAMED:
        return NAMED[upper]
    if len(name) == 1:
        return name
    digits = upper[2:] if upper.startswith("U+") else upper[1:]
    if upper[0] == "U" and digits and all(d in "0123456789ABCDEF" for d in digits):
        code = int(digits, 16)
        return chr(code) if code < 0x110000 else None
    return None


@builtin("name-char", "(name)")
def name_char(name: Any) -> Value:
    """The character of that name, nil if there is none."""
    found = named_character(text_of("name-char", name)) if text_of("name-char", name) else None
    return character(found) if found and len(text_of("name-char", name)) > 1 else NIL


def text_of(name: str, x: Any) -> str:
    """The text of a string designator: string, symbol or character."""
    if isinstance(x, String):
        spend(name, len(x.data))
        return x.text()
    if x.__class__ is Symbol:
        return str(x.name)
    if x.__class__ is Character:
        return str(x.char)
    raise wrong_type(name, x, "a string, symbol or character")


_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _radix(name: str, radix: Any) -> int:
    if radix.__class__ is not int or not 2 <= radix <= 36:
        raise wrong_type(name, radix, "a radix from 2 to 36")
    return int(radix)


@builtin("digit-char-p", "(character &optional (radix 10))")
def digit_char_p(char: Any, radix: Any = 10) -> Value:
    """The digit's value in a radix, nil if it is none."""
    weight = _DIGITS.find(char_of("digit-char-p", char).upper())
    return weight if 0 <= weight < _radix("digit-char-p", radix) else NIL


@builtin("digit-char", "(weight &optional (radix 10))")
def digit_char(weight: Any, radix: Any = 10) -> Value:
    """The digit of a value in a radix, nil if it has none."""
    n = natural("digit-char", weight)
    return character(_DIGITS[n]) if n < _radix("digit-char", radix) else NIL


@builtin("character", "(designator)")
def character_designator(designator: Any) -> Value:
    """The character of a character, or of a string or symbol of length 1."""
    if isinstance(designator, (String, Symbol, Character)):
        text = text_of("character", designator)
        if len(text) == 1:
            return character(text)
    raise wrong_type("character", designator, "a character or a string of length 1")
