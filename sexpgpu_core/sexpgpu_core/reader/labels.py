"""`#1=form` and `#1#`: one object in several places.

Inside its own form a label is a placeholder, put in its place once the form is complete.
"""

from __future__ import annotations

from typing import Any

from ..diagnostics import problem
from ..evaluator.values import Array, Cons, Value


class Placeholder:
    """`#1#` inside of `#1=`."""

    __slots__ = ("used",)

    def __init__(self) -> None:
        self.used = False


class Labels:
    """What each number stands for, in one top-level form.

    `circular`: whether a form may contain itself: only data that is read while evaluating may.
    """

    __slots__ = ("circular", "known")

    def __init__(self, circular: bool) -> None:
        self.circular = circular
        self.known: dict[int, Any] = {}

    def open(self, number: int) -> None:
        if number in self.known:
            raise problem("E-READ-SYNTAX", f"#{number}= stands twice in one form")
        self.known[number] = Placeholder()

    def value(self, number: int) -> Value:
        """What `#number#` stands for."""
        if number not in self.known:
            raise problem("E-READ-SYNTAX", f"#{number}# comes before any #{number}=")
        found = self.known[number]
        if found.__class__ is Placeholder:
            if not self.circular:
                raise problem("E-READ-SYNTAX", f"#{number}# makes a form contain itself")
            found.used = True
        return found

    def close(self, number: int, value: Value) -> Value:
        """The labelled form is complete."""
        placeholder = self.known[number]
        if value is placeholder:
            raise problem("E-READ-SYNTAX", f"#{number}= labels only itself")
        self.known[number] = value
        if placeholder.__class__ is Placeholder and placeholder.used:
            _replace(value, placeholder, value)
        return value


def _replace(root: Value, old: Any, new: Value) -> None:
    """Put `new` wherever `old` stands in what `root` holds."""
    todo, seen = [root], set()
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if value.__class__ is Cons:
            value.car = new if value.car is old else value.car
            value.cdr = new if value.cdr is old else value.cdr
            todo += [value.cdr, value.car]
        elif isinstance(value, Array):
            value.data[:] = [new if item is old else item for item in value.data]
            todo += value.data
