"""Format control strings to trees of text and directives. A fault names its column."""

from __future__ import annotations

from typing import Any

from ..diagnostics import Problem, problem
from ..records import NamedTuple
from .values import character

ARGUMENT, REMAINING = "V", "#"
KNOWN = frozenset("ASDBOXRFEG$CPWI_%&|~T*?(){}[]<>;^\n/")
_CLOSERS = {"(": ")", "{": "}", "[": "]", "<": ">"}
DEEPEST = 100


class Directive(NamedTuple):
    """One directive. `params`: int, Character, V, # or None each.

    Of a bracket, `clauses` hold its parts, `separators` the `~;` between them, `close` its end.
    """

    char: str
    params: tuple[Any, ...]
    colon: bool
    at: bool
    column: int
    clauses: tuple[tuple[Any, ...], ...] = ()
    separators: tuple[Any, ...] = ()
    close: Any = None
    name: str = ""


Node = Any
"""A str or a Directive."""

_parsed: dict[str, tuple[Node, ...]] = {}


def parse_control(text: str) -> tuple[Node, ...]:
    """The nodes of a control string; kept, since loops format the same one."""
    found = _parsed.get(text)
    if found is None:
        found = _Parser(text).parse()
        if len(_parsed) > 1000:
            _parsed.clear()
        _parsed[text] = found
    return found


def format_fault(why: str, text: str | None, column: int) -> Problem:
    """E-FORMAT at a 1-based column of the control string."""
    shown = f' in "{text}"' if text is not None and len(text) <= 60 else ""
    return problem("E-FORMAT", f"format: {why}, at column {column}{shown}", column=column)


def is_pretty(node: Node) -> bool:
    """Whether it is a directive of the pretty printer."""
    if node.__class__ is not Directive:
        return False
    return node.char in "W_I" or (node.char == "T" and node.colon)


class _Open(NamedTuple):
    directive: Directive
    clauses: list[tuple[Node, ...]]
    separators: list[Directive]


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.nodes: list[Node] = []
        self.opened: list[_Open] = []
        self.outer: list[list[Node]] = []
        self.pretty = False  # ~W ~_ ~I ~:T ~<...~:> have been met
        self.overflow: Directive | None = None  # ~<...~:;...~>

    def fault(self, why: str, column: int) -> Problem:
        return format_fault(why, self.text, column)

    def parse(self) -> tuple[Node, ...]:
        text = self.text
        while self.at < len(text):
            tilde = text.find("~", self.at)
            end = len(text) if tilde < 0 else tilde
            if end > self.at:
                self.nodes.append(text[self.at : end])
            self.at = end
            if tilde >= 0:
                self.take(self.directive())
        if self.opened:
            left = self.opened[-1].directive
            raise self.fault(f"~{left.char} is never closed", left.column)
        if self.overflow is not None and self.pretty:
            raise self.fault("~<...~:;...~> does not go with ~W ~_ ~I ~:T", self.overflow.column)
        return tuple(self.nodes)

    def take(self, d: Directive) -> None:
        if d.char in _CLOSERS:
            if len(self.opened) >= DEEPEST:
                raise self.fault("directives are nested too deep", d.column)
            self.opened.append(_Open(d, [], []))
            self.outer.append(self.nodes)
            self.nodes = []
        elif d.char == ";":
            self.separate(d)
        elif d.char in _CLOSERS.values():
            self.close(d)
        elif d.char == "\n":
            self.newline(d)
        else:
            self.pretty = self.pretty or is_pretty(d)
            self.nodes.append(d)

    def separate(self, d: Directive) -> None:
        if not self.opened or self.opened[-1].directive.char not in "[<":
            raise self.fault("~; stands outside ~[ and ~<", d.column)
        self.opened[-1].clauses.append(tuple(self.nodes))
        self.opened[-1].separators.append(d)
        self.nodes = []

    def close(self, d: Directive) -> None:
        if not self.opened or _CLOSERS[self.opened[-1].directive.char] != d.char:
            raise self.fault(f"~{d.char} closes nothing", d.column)
        opened = self.opened.pop()
        clauses = (*opened.clauses, tuple(self.nodes))
        if d.char == ">":
            self.close_justification(opened, d, clauses)
        self.nodes = self.outer.pop()
        self.nodes.append(
            opened.directive._replace(clauses=clauses, separators=tuple(opened.separators), close=d)
        )

    def close_justification(self, opened: _Open, d: Directive, clauses: tuple[Any, ...]) -> None:
        """The pretty printer's directives do not stand inside ~<...~>."""
        if d.colon:
            self.pretty = True
            return
        if any(is_pretty(node) for clause in clauses for node in clause):
            raise self.fault("~W ~_ ~I ~:T do not stand inside ~<...~>", opened.directive.column)
        if opened.separators and opened.separators[0].colon:
            self.overflow = opened.directive

    def newline(self, d: Directive) -> None:
        """~ at a line's end: skip the newline and the blanks after it, as modified."""
        self.nodes.append("\n" if d.at else "")  # even alone it is a body
        if not d.colon:
            while self.at < len(self.text) and self.text[self.at] in " \t\n":
                self.at += 1

    def directive(self) -> Directive:
        column = self.at + 1
        self.at += 1
        params = self.params(column)
        colon = at = False
        while self.peek(column) in ":@":
            colon, at = colon or self.text[self.at] == ":", at or self.text[self.at] == "@"
            self.at += 1
        char = self.peek(column).upper()
        self.at += 1
        if char not in KNOWN:
            raise self.fault(f"there is no directive ~{char}", column)
        name = self.function_name(column) if char == "/" else ""
        return Directive(char, tuple(params), colon, at, column, name=name)

    def peek(self, column: int) -> str:
        if self.at >= len(self.text):
            raise self.fault("the directive has no end", column)
        return self.text[self.at]

    def function_name(self, column: int) -> str:
        end = self.text.find("/", self.at)
        if end < 0:
            raise self.fault("~/ has no closing /", column)
        name = self.text[self.at : end]
        self.at = end + 1
        return name

    def params(self, column: int) -> list[Any]:
        found: list[Any] = []
        while True:
            value = self.param(column)
            if value is None and self.peek(column) != ",":
                return found
            found.append(value)
            if self.peek(column) != ",":
                return found
            self.at += 1

    def param(self, column: int) -> Any:
        c = self.peek(column)
        if c == "'":
            self.at += 1
            found = character(self.peek(column))
            self.at += 1
            return found
        if c in "vV#":
            self.at += 1
            return REMAINING if c == "#" else ARGUMENT
        end = self.at + (c in "+-")
        while end < len(self.text) and self.text[end] in "0123456789":
            end += 1
        digits = self.text[self.at : end]
        if not digits.strip("+-"):
            return None
        self.at = end
        return int(digits) if len(digits) < 4000 else 10**4000
