"""What a format call is doing: its arguments, its output, where it stands on the line."""

from __future__ import annotations

from typing import Any

from ..diagnostics import Problem
from ..records import NamedTuple
from .faults import claim_cells
from .format_parser import REMAINING, Directive, format_fault
from .printer import brief, current_settings, print_text
from .values import NIL, Character, Value

LONG = 1_000
"""Characters from which a piece of text is paid for."""


class Arguments:
    """The arguments of one level, and the next to be used."""

    __slots__ = ("at", "items")

    def __init__(self, items: list[Value]) -> None:
        self.items = items
        self.at = 0

    @property
    def left(self) -> int:
        return len(self.items) - self.at


class Output:
    """Text written so far. `column` counts from the start of the line."""

    __slots__ = ("column", "pieces", "size")

    def __init__(self, column: int) -> None:
        self.pieces: list[str] = []
        self.column = column
        self.size = 0

    def write(self, text: str) -> None:
        self.pieces.append(text)
        self.size += len(text)
        if len(text) > LONG:
            claim_cells("format", self.size)
        newline = text.rfind("\n")
        self.column = self.column + len(text) if newline < 0 else len(text) - newline - 1

    def text(self) -> str:
        return "".join(self.pieces)


class Escape(Exception):
    """~^ : leave the innermost construct; `all_rounds` (~:^): the whole iteration."""

    def __init__(self, all_rounds: bool) -> None:
        super().__init__()
        self.all_rounds = all_rounds


class State(NamedTuple):
    """One level of directives: what they read and write. `more`: of ~:{, are there rounds left."""

    arguments: Arguments
    output: Output
    depth: int
    more: bool = True
    outermost: bool = False

    def fault(self, why: str, d: Directive) -> Problem:
        return format_fault(why, None, d.column)

    def next(self, d: Directive) -> Value:
        a = self.arguments
        if a.at >= len(a.items):
            raise self.fault(f"~{d.char} has no argument left", d)
        a.at += 1
        return a.items[a.at - 1]

    def params(self, d: Directive) -> list[Any]:
        """The parameters with V and # resolved; None where not given."""
        found: list[Any] = []
        for p in d.params:
            if p.__class__ is str:
                p = self.arguments.left if p == REMAINING else self.next(d)
                if p is NIL:
                    p = None
            found.append(p)
        return found

    def number(self, found: list[Any], at: int, d: Directive, default: Any = None) -> Any:
        value = found[at] if at < len(found) else None
        if value is None:
            return default
        if value.__class__ is not int:
            raise self.fault(f"parameter {at + 1} of ~{d.char} is {brief(value)}, no integer", d)
        if abs(value) > LONG and d.char not in "[*^":
            claim_cells("format", abs(value))
        return value

    def char(self, found: list[Any], at: int, d: Directive, default: Any = " ") -> Any:
        value = found[at] if at < len(found) else None
        if value is None:
            return default
        if value.__class__ is not Character:
            raise self.fault(f"parameter {at + 1} of ~{d.char} is {brief(value)}, no character", d)
        return value.char


def shown(value: Value, escape: bool) -> str:
    """A value as ~A or ~S writes it."""
    return print_text(value, current_settings()._replace(escape=escape))
