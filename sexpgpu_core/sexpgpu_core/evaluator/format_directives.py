"""Directives that write one thing: ~A ~S ~W ~D ~B ~O ~X ~R ~F ~E ~G ~$ ~C ~P ~% ~& ~| ~~ ~T."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import format_floats as floats
from .format_output import State, shown
from .format_parser import Directive
from .integer_text import integer_text
from .number_words import LARGEST_WORD, cardinal, ordinal, roman
from .numeric import is_number, to_float
from .printer import current_settings, print_text
from .symbol_text import CHARACTER_NAMES, character_text
from .values import NIL, Character, String, Value, first_value

Directed = Callable[[State, Directive], None]


def padded(s: State, d: Directive, text: str) -> str:
    """mincol, colinc, minpad, padchar; on the left with @."""
    p = s.params(d)
    return _padded(s, d, p, text)


def _padded(s: State, d: Directive, p: list[Any], text: str) -> str:
    width, step = s.number(p, 0, d, 0), max(1, s.number(p, 1, d, 1))
    least, pad = s.number(p, 2, d, 0), s.char(p, 3, d)
    count = max(least, 0)
    missing = width - len(text) - count
    if missing > 0:
        count += -(-missing // step) * step
    filler: str = pad * count
    return filler + text if d.at else text + filler


def _aesthetic(escape: bool) -> Directed:
    def write(s: State, d: Directive) -> None:
        p = s.params(d)
        value = s.next(d)
        text = "()" if d.colon and value is NIL else _text(value, escape)
        s.output.write(_padded(s, d, p, text) if p else text)

    return write


def _text(value: Value, escape: bool) -> str:
    if not escape and value.__class__ is String:
        return str(value.text())
    return shown(value, escape)


def _write(s: State, d: Directive) -> None:
    s.params(d)
    s.output.write(print_text(s.next(d)))


def grouped(digits: str, comma: str, interval: int) -> str:
    """Digits in groups from the right."""
    groups = []
    while len(digits) > interval:
        groups.append(digits[-interval:])
        digits = digits[:-interval]
    return comma.join([digits, *reversed(groups)])


def integer_field(s: State, d: Directive, p: list[Any], value: Value, base: int) -> str:
    """mincol, padchar, commachar, interval; : groups, @ signs. Other values as ~A, alone."""
    width, pad = s.number(p, 0, d, 0), s.char(p, 1, d)
    comma, interval = s.char(p, 2, d, ","), s.number(p, 3, d, 3)
    if value.__class__ is not int:
        settings = current_settings()._replace(base=base, radix=False, escape=False)
        return print_text(value, settings)
    digits = integer_text(abs(value), base)
    if d.colon:
        if interval < 1:
            raise s.fault("the comma interval must be positive", d)
        digits = grouped(digits, comma, interval)
    sign = "-" if value < 0 else "+" if d.at else ""
    return (sign + digits).rjust(width, pad)


def _integer(base: int) -> Directed:
    def write(s: State, d: Directive) -> None:
        p = s.params(d)
        s.output.write(integer_field(s, d, p, s.next(d), base))

    return write


def _radix(s: State, d: Directive) -> None:
    p = s.params(d)
    value = s.next(d)
    base = s.number(p, 0, d)
    if base is not None:
        if not 2 <= base <= 36:
            raise s.fault(f"{base} is no radix", d)
        s.output.write(integer_field(s, d, p[1:], value, base))
        return
    if value.__class__ is not int:
        raise s.fault(f"~R wants an integer, got {shown(value, True)}", d)
    s.output.write(_words(s, d, value))


def _words(s: State, d: Directive, n: int) -> str:
    if d.at:
        if not 0 < n < (5000 if d.colon else 4000):
            raise s.fault(f"{n} has no Roman numeral", d)
        return roman(n, d.colon)
    if abs(n) >= LARGEST_WORD:
        return integer_text(n)
    return ordinal(n) if d.colon else cardinal(n)


def _not_a_float(s: State, d: Directive, value: Value, width: int) -> float | None:
    """The double of a real number; anything else is written as by ~D."""
    if is_number(value):
        return to_float("format", value)
    s.output.write(shown(value, False).rjust(width))
    return None


def _fixed(s: State, d: Directive) -> None:
    p = s.params(d)
    value = s.next(d)
    field = floats.Field(s.number(p, 0, d), s.char(p, 3, d, None), s.char(p, 4, d))
    x = _not_a_float(s, d, value, field.width or 0)
    if x is not None:
        scale = s.number(p, 2, d, 0)
        s.output.write(floats.fixed(x, s.number(p, 1, d), scale, field, d.at))


def _exponential(make: Callable[..., str]) -> Directed:
    def write(s: State, d: Directive) -> None:
        p = s.params(d)
        value = s.next(d)
        field = floats.Field(s.number(p, 0, d), s.char(p, 4, d, None), s.char(p, 5, d))
        x = _not_a_float(s, d, value, field.width or 0)
        if x is None:
            return
        places, digits, scale = s.number(p, 1, d), s.number(p, 2, d), s.number(p, 3, d, 1)
        s.output.write(make(x, places, digits, scale, field, s.char(p, 6, d, "e"), d.at))

    return write


def _money(s: State, d: Directive) -> None:
    p = s.params(d)
    value = s.next(d)
    field = floats.Field(s.number(p, 2, d), None, s.char(p, 3, d))
    x = _not_a_float(s, d, value, field.width or 0)
    if x is not None:
        places, before = s.number(p, 0, d, 2), s.number(p, 1, d, 1)
        s.output.write(floats.money(x, places, before, field, d.colon, d.at))


def _character(s: State, d: Directive) -> None:
    s.params(d)
    value = s.next(d)
    if value.__class__ is not Character:
        raise s.fault(f"~C wants a character, got {shown(value, True)}", d)
    if d.colon:
        s.output.write(CHARACTER_NAMES.get(value.char) or character_text(value.char)[2:])
    elif d.at:
        s.output.write(character_text(value.char))
    else:
        s.output.write(value.char)


def _plural(s: State, d: Directive) -> None:
    if d.colon:
        if s.arguments.at == 0:
            raise s.fault("~:P has no argument before it", d)
        s.arguments.at -= 1
    value = s.next(d)
    one = value.__class__ is int and value == 1
    if d.at:
        s.output.write("y" if one else "ies")
    elif not one:
        s.output.write("s")


def _repeated(text: str) -> Directed:
    def write(s: State, d: Directive) -> None:
        s.output.write(text * max(0, s.number(s.params(d), 0, d, 1)))

    return write


def _fresh_line(s: State, d: Directive) -> None:
    count = s.number(s.params(d), 0, d, 1)
    if count > 0:
        s.output.write("\n" * (count - (s.output.column == 0)))


def _tabulate(s: State, d: Directive) -> None:
    p = s.params(d)
    first, step = s.number(p, 0, d, 1), s.number(p, 1, d, 1)
    column = s.output.column
    if d.at:
        spaces = first
        if step > 0:
            spaces += -(column + first) % step
    elif column < first:
        spaces = first - column
    else:
        spaces = step - (column - first) % step if step > 0 else 0
    s.output.write(" " * max(0, spaces))


def _nothing(s: State, d: Directive) -> None:
    """~_ and ~I mean something to the pretty printer only."""
    s.params(d)


def _call(s: State, d: Directive) -> None:
    """~/name/: call a function of the file with a stream, the argument, colon, at, parameters."""
    from .builtins.calling import callable_of
    from .machine import current
    from .streams import StringOutputStream
    from .values import T

    p = s.params(d)
    stream = StringOutputStream()
    flags = [T if flag else NIL for flag in (d.colon, d.at)]
    arguments = [stream, s.next(d), *flags, *(NIL if x is None else x for x in p)]
    call = callable_of(current().module.intern(d.name.upper()), len(arguments))
    first_value(call(*arguments))
    s.output.write("".join(stream.pieces))


DIRECTIVES: dict[str, Directed] = {
    "A": _aesthetic(False),
    "S": _aesthetic(True),
    "W": _write,
    "D": _integer(10),
    "B": _integer(2),
    "O": _integer(8),
    "X": _integer(16),
    "R": _radix,
    "F": _fixed,
    "E": _exponential(floats.exponential),
    "G": _exponential(floats.general),
    "$": _money,
    "C": _character,
    "P": _plural,
    "%": _repeated("\n"),
    "|": _repeated("\f"),
    "~": _repeated("~"),
    "&": _fresh_line,
    "T": _tabulate,
    "_": _nothing,
    "I": _nothing,
    "/": _call,
}
