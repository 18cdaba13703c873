"""`(the type form)`: the value, checked."""

from __future__ import annotations

from typing import Any

from ..diagnostics import problem
from . import raising
from .binding_nodes import all_values
from .machine import Machine
from .nodes import Code, Node
from .printer import brief
from .values import Cons, Staged, Symbol, Value, first_value


class The(Node):
    """A form with the type that its value must have; a staged value is not looked at."""

    __slots__ = ("form", "kind", "value")

    def __init__(self, kind: Value, value: Node, form: Value) -> None:
        self.kind = kind
        self.value = value
        self.form = form

    def compile(self, m: Machine) -> Code:
        from .type_specifiers import typep

        code, form = self.value.compile(m), self.form
        kinds = _kinds(self.kind)
        if kinds is None:
            return code

        def run(f: list[Any]) -> Value:
            value = code(f)
            for item, kind in zip(all_values(value), kinds):
                if isinstance(item, Staged):
                    continue
                try:
                    fits = typep(item, kind)
                except Exception as error:
                    raise raising.raised(m, error, form) from None
                if not fits:
                    raise raising.raised(m, wrong_type(item, kind), form)
            return value

        return run


def _kinds(kind: Value) -> list[Value] | None:
    """Types of the values in order; None where values are not restricted in a simple way."""
    if kind.__class__ is Cons and kind.car.__class__ is Symbol and kind.car.name == "VALUES":
        kinds, rest = [], kind.cdr
        while rest.__class__ is Cons and not _is_marker(rest.car):
            kinds.append(rest.car)
            rest = rest.cdr
        return kinds
    if kind.__class__ is Cons and kind.car.__class__ is Symbol and kind.car.name == "FUNCTION":
        return [kind.car]
    return [kind]


def _is_marker(item: Value) -> bool:
    return item.__class__ is Symbol and item.name.startswith("&")


def wrong_type(value: Value, kind: Value) -> Any:
    """E-TYPE: a value that is not of the type said."""
    found = problem(
        "E-TYPE", f"{brief(first_value(value))} is not of type {brief(kind)}", wanted=brief(kind)
    )
    found.datum = value  # type: ignore[attr-defined]
    found.expected = kind  # type: ignore[attr-defined]
    return found
