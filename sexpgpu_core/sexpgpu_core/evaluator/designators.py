"""Function designators to functions."""

from __future__ import annotations

from ..diagnostics import problem
from .machine import current
from .printer import brief
from .values import NIL, Function, Symbol, Value, Vector


def function_of(value: Value) -> Function:
    """The function that a function or a symbol names; E-TYPE or E-NAME-FUNCTION if there is
    none.
    """
    if value.__class__ is Function:
        found: Function = value
        return found
    if isinstance(value, Function):
        return value
    if value.__class__ is Symbol and value is not NIL:
        cell = current().cell(value)
        if cell.function is None:
            cell.call()
        assert cell.function is not None
        return cell.function
    error = problem(
        "E-TYPE",
        f"{brief(value)} is no function",
        hint=_hint(value),
        wanted="function",
    )
    error.datum = value  # type: ignore[attr-defined]
    error.expected = "function"  # type: ignore[attr-defined]
    raise error


def _hint(value: Value) -> str:
    """How a function is written; Clojure's #(+ % 1) is a vector."""
    if isinstance(value, Vector) and any(getattr(x, "name", "") in ("%", "%1") for x in value.data):
        return "#(...) is a vector: a function of one argument is (lambda (x) ...)"
    return "a function is #'name or (lambda ...)"
