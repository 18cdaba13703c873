"""Function designators to functions."""

from __future__ import annotations

from ..diagnostics import problem
from .machine import current
from .printer import brief
from .values import NIL, Function, Symbol, Value


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
        hint="a function is #'name or (lambda ...)",
        wanted="function",
    )
    error.datum = value  # type: ignore[attr-defined]
    error.expected = "function"  # type: ignore[attr-defined]
    raise error
