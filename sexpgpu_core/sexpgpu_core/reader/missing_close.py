"""Which bracket was left open, and where its close is likely missing, told by the indentation."""

from __future__ import annotations

from ..records import NamedTuple
from .tokens import CLOSE, COMMENT, OPEN, SHARP, tokens


class MissingClose(NamedTuple):
    """`opener`: the bracket left open; insert `closes` closes at `at`; `next_form`: -1 if none
    follows.
    """

    opener: int
    at: int
    closes: int
    next_form: int


class _Line(NamedTuple):
    at: int  # offset of its first token
    column: int
    before: int  # end of the last code before it
    open: tuple[int, ...]  # brackets open there


def missing_close(text: str, outer: int, left_open: list[int]) -> MissingClose:
    """What is missing in the form at `outer`, whose brackets `left_open` are open at the end."""
    lines = _lines(text, outer)
    next_form = next((line.at for line in lines if line.column == 0 and text[line.at] == "("), -1)
    for line in lines:
        wrong = [b for b in line.open if _column(text, b) >= line.column]
        if wrong and text[line.at] != ")":
            return MissingClose(wrong[0], line.before, len(wrong), next_form)
    end = len(text.rstrip())
    return MissingClose(left_open[-1], end, len(left_open), -1)


def _lines(text: str, outer: int) -> list[_Line]:
    """Lines of the form after its first, up to the end of the text."""
    found: list[_Line] = []
    stack: list[int] = []
    before = outer
    for token in tokens(text[:]):
        if token.start < outer or token.kind == COMMENT:
            continue
        if "\n" in text[before : token.start] and stack:
            column = _column(text, token.start)
            found.append(_Line(token.start, column, before, tuple(stack)))
        if token.kind == OPEN:
            stack.append(token.start)
        elif token.kind == CLOSE and stack:
            stack.pop()
        elif token.kind == SHARP and text[token.end : token.end + 1] == "(":
            pass
        before = token.end
    return found


def _column(text: str, at: int) -> int:
    return at - (text.rfind("\n", 0, at) + 1)
