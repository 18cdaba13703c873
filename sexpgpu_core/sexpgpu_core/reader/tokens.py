"""Text to tokens by one regular expression. Concatenated texts and gaps give back the whole source.

Groups are told apart by `lastindex`; what is rare (`|`, a backslash, `#`) is left to exact code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..records import NamedTuple

ATOM, OPEN, CLOSE, QUOTE, STRING, COMMENT, BACKQUOTE, COMMA, SHARP, OTHER = range(1, 11)

TOKEN = re.compile(
    r"""\s*(?:
    ([^\s()"'`,;#|\\][^\s()"'`,;|\\]*(?=[\s()"'`,;]|\Z))   # 1 atom without escapes
    |(\()|(\))|(')
    |("[^"\\]*(?:\\.[^"\\]*)*")                             # 5 whole string
    |(;[^\n]*)|(`)|(,[@.]?)|(\#)|(\S))""",
    re.VERBOSE | re.DOTALL,
)

LABEL = re.compile(r"#\d+[=#]")
"""Of a form that stands in several places: `#1=` and `#1#`."""

DELIMITERS = frozenset(" \t\n\r\f()\"'`,;")


class Token(NamedTuple):
    """A piece of source text: kind is one of the numbers above."""

    kind: int
    start: int
    end: int


def tokens(text: str) -> Iterator[Token]:
    """All tokens with comments, in order; what lies between two is white space."""
    at = 0
    while match := TOKEN.match(text, at):
        kind = match.lastindex or OTHER
        start = match.start(kind)
        at = match.end()
        if kind == SHARP:
            at = _sharp_end(text, start)
        elif kind == OTHER and text[start] != '"':
            at = atom_end(text, start)
        elif kind == OTHER:
            at = len(text)
        yield Token(kind, start, at)


def atom_end(text: str, at: int) -> int:
    """End of the token that starts at `at`, with `|...|` and backslash escapes."""
    size, inside = len(text), False
    while at < size:
        char = text[at]
        if char == "\\":
            at += 1
        elif char == "|":
            inside = not inside
        elif not inside and char in DELIMITERS:
            break
        at += 1
    return min(at, size)


def character_end(text: str, at: int) -> int:
    """End of the name of a character that starts at `at`, after its `#\\`."""
    if text[at : at + 1] in DELIMITERS or text[at : at + 1] in ("|", "\\", "#"):
        return min(at + 1, len(text))
    end = at
    while end < len(text) and text[end] not in DELIMITERS:
        end += 1
    return end


def block_comment_end(text: str, at: int) -> int:
    """End of the nested comment `#|` that starts at `at`; -1 if it is never closed."""
    depth = 0
    for match in re.compile(r"#\||\|#").finditer(text, at):
        depth += 1 if match.group() == "#|" else -1
        if depth == 0:
            return match.end()
    return -1


def _sharp_end(text: str, at: int) -> int:
    after = text[at + 1 : at + 2]
    if after == "|":
        end = block_comment_end(text, at)
        return len(text) if end < 0 else end
    if after == "\\":
        return character_end(text, at + 2)
    if after and after in "'(+-.":
        return at + 2 - (after == "(")
    label = LABEL.match(text, at)
    if label:
        return label.end()
    return atom_end(text, at)
