"""The `#` syntaxes: characters, radix numbers, vectors, functions, uninterned symbols, features,
comments.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..diagnostics import Problem, problem
from ..evaluator.values import FUNCTION, NIL, Symbol, Value, Vector
from . import mistakes
from .frames import ARRAY, LABEL, MISSING, MOST_ELEMENTS, POINT, PREFIX, SKIP, VECTOR
from .names import parse_character, unescape
from .numbers import parse_radix
from .tokens import atom_end, block_comment_end, character_end

if TYPE_CHECKING:
    from .reader import Reader

SHARP_SYNTAX = re.compile(r"#([0-9]*)(.?)", re.DOTALL)
LONGEST_ARGUMENT = 30
RADIXES = {"b": 2, "o": 8, "x": 16}


def read_sharp(reader: Reader, start: int) -> tuple[Value, int]:
    """What stands at a `#`: its value, or MISSING when a frame was opened; and where reading goes
    on.
    """
    match = SHARP_SYNTAX.match(reader.text, start)
    assert match is not None
    argument, char, after = match[1], match[2].lower(), match.end()
    if len(argument) > LONGEST_ARGUMENT:
        reader.report(mistakes.unknown_sharp(match[0], ""), start, after)
        return MISSING, after
    if char == "(":
        reader.push(VECTOR, start, int(argument) if argument else None)
    elif char == "'":
        reader.push(PREFIX, start, FUNCTION)
    elif char in ("+", "-") and not argument:
        reader.push_feature(start, char == "+")
    elif char == "|":
        return MISSING, _comment(reader, start)
    elif char == "a" and argument.strip("0") and reader.text[after : after + 1] == "(":
        reader.push(ARRAY, start, int(argument))
        after += 1
    elif char == "a" and argument and int(argument) == 0:
        reader.push(POINT, start)
    elif char == "\\":
        return _token(reader, start, character_end(reader.text, after), after)
    elif char in ("=", "#") and argument:
        return _label(reader, int(argument), char, start, after), after
    elif char == ".":
        reader.report(mistakes.unknown_sharp("#.", "."), start, after)
        reader.push(SKIP, start)  # what it would evaluate
    else:
        return _token(reader, start, atom_end(reader.text, after), after)
    return MISSING, after


def _label(reader: Reader, number: int, char: str, start: int, after: int) -> Value:
    """`#1=` waits for its form, `#1#` is it."""
    if reader.suppress:
        return MISSING if char == "=" else NIL
    try:
        if char == "#":
            return reader.labels.value(number)
        reader.labels.open(number)
        reader.push(LABEL, start, number)
        return MISSING
    except Problem as error:
        reader.report(error, start, after)
        return MISSING if char == "=" else NIL


def _comment(reader: Reader, start: int) -> int:
    end = block_comment_end(reader.text, start)
    if end < 0:
        mistakes.open_comment(reader, start)
        return len(reader.text)
    reader.comments.append(reader.span(start, end))
    return end


def _token(reader: Reader, start: int, end: int, after: int) -> tuple[Value, int]:
    if reader.suppress:
        return NIL, end
    try:
        return _sharp_value(reader.text, start, after, end), end
    except Problem as error:
        reader.report(error, start, end)
        return NIL, end


def _sharp_value(text: str, start: int, after: int, end: int) -> Value:
    argument, char, body = text[start + 1 : after - 1], text[after - 1].lower(), text[after:end]
    if char == "\\" and not argument:
        if not body:
            raise problem("E-READ-SYNTAX", "no character after #\\")
        return parse_character(body)
    if char == ":" and not argument:
        return _uninterned(body)
    if char == "*":
        return _bits(body, int(argument) if argument else None)
    if char in RADIXES or (char == "r" and argument):
        radix = RADIXES[char] if char in RADIXES else int(argument)
        number = parse_radix(body, radix) if 2 <= radix <= 36 else None
        if number is None:
            raise problem("E-READ-SYNTAX", f"{text[start:end]} is no number of radix {radix}")
        return number
    raise mistakes.unknown_sharp(text[start:end], char)


def _uninterned(body: str) -> Symbol:
    parts = unescape(body)
    symbol = Symbol(":".join(parts))
    symbol.plist = NIL
    return symbol


def _bits(body: str, size: int | None) -> Vector:
    """`#*0110`; with a size, the last bit is repeated up to it."""
    if set(body) - {"0", "1"}:
        raise problem("E-READ-SYNTAX", f"#*{body} holds something else than 0 and 1")
    if size is not None:
        if len(body) > size or (size and not body):
            raise problem("E-READ-SYNTAX", f"#{size}*{body} holds {len(body)} bits")
        if size > MOST_ELEMENTS:
            raise problem("E-LIMIT-CELLS", f"#{size}* asks for {size:,} bits", size=size)
        body += body[-1:] * (size - len(body))
    return Vector([int(bit) for bit in body], "bit")
