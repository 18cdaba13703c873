"""Signalling: handlers run where the error happened, innermost first; what none takes becomes a
Problem.
"""

from __future__ import annotations

from typing import Any

from ..diagnostics import Problem, diagnostic, problem
from .conditions import Condition, report_text, standard_type
from .definitions import core_symbol
from .machine import Machine
from .printer import brief
from .raising import Signalled
from .values import NIL, String, Symbol, Value, make_list

TYPES = {
    "E-TYPE": "type-error",
    "E-INDEX": "type-error",
    "E-NAME-UNBOUND": "unbound-variable",
    "E-NAME-FUNCTION": "undefined-function",
    "E-SLOT-UNBOUND": "unbound-slot",
    "E-UNSUPPORTED": "undefined-function",
    "E-CALL-ARGUMENTS": "program-error",
    "E-CALL-KEYWORD": "program-error",
    "E-FORM-SHAPE": "program-error",
    "E-FORM-MACRO": "program-error",
    "E-REDEFINE": "program-error",
    "E-PLACE": "program-error",
    "E-CONTROL": "control-error",
    "E-ARITHMETIC": "arithmetic-error",
    "E-READ-EOF": "end-of-file",
}
"""The condition type of a problem by its code; codes of reading are reader-errors, others
errors.
"""

KINDS = {
    "division-by-zero": "division-by-zero",
    "overflow": "floating-point-overflow",
    "parse-error": "parse-error",
    "package-error": "package-error",
    "simple-error": "simple-error",
    "undefined-function": "undefined-function",
}
"""The same by `facts["kind"]`, where it says more."""


def condition_of(error: Problem) -> Condition:
    """The condition object of a problem that a builtin raised."""
    d = error.diagnostic
    kind = KINDS.get(str(d.facts.get("kind"))) or TYPES.get(d.code)
    if kind is None:
        kind = "reader-error" if d.code.startswith("E-READ") else "error"
    condition = Condition(standard_type(kind), {})
    condition.problem = error
    if kind == "type-error":
        _set(condition, "datum", getattr(error, "datum", NIL))
        _set(condition, "expected-type", _type_spec(getattr(error, "expected", "t")))
    if hasattr(error, "operation"):
        _set(condition, "operation", core_symbol(error.operation.upper()))
        _set(condition, "operands", make_list(error.operands))  # type: ignore[attr-defined]
    if hasattr(error, "stream"):
        _set(condition, "stream", error.stream)
    if kind == "unbound-slot":
        _set(condition, "instance", getattr(error, "instance", NIL))
    if "name" in d.facts and kind in ("unbound-variable", "undefined-function", "unbound-slot"):
        name = getattr(error, "cell", None)
        _set(condition, "name", name if name is not None else _symbol(str(d.facts["name"])))
    return condition


def _set(condition: Condition, slot: str, value: Value) -> None:
    condition.slots[core_symbol(slot.upper())] = value


def _type_spec(expected: Any) -> Value:
    """The type of what was wanted; nil, which nothing is of, where it is told in words."""
    if not isinstance(expected, str):
        return expected
    found = _read(expected.removeprefix("a ").removeprefix("an "))
    return NIL if isinstance(found, String) else found


def _read(text: str) -> Value:
    from ..reader import read_all
    from ..spans import Source
    from .machine import current

    forms, _ = read_all(Source("-", text), current().module)
    return forms[0] if len(forms) == 1 else String(text)


def _symbol(name: str) -> Value:
    found = _read(name)
    return found if isinstance(found, Symbol) else String(name)


def signal_problem(m: Machine, error: Problem) -> BaseException:
    """Give handlers their turn at a builtin's problem; what to raise if none took it."""
    condition = condition_of(error)
    signal(m, condition)
    return unhandled(condition, error)


def unhandled(condition: Condition, error: Problem) -> Signalled:
    """What goes up when no handler took an error."""
    found = Signalled(error.diagnostic)
    found.condition = condition
    found.__cause__ = error.__cause__
    return found


def signal(m: Machine, condition: Condition) -> None:
    """Call the handlers that fit, each with the handlers outside of its own."""
    cluster = m.handlers
    before = m.handlers
    try:
        while cluster is not None:
            bindings, outer = cluster
            m.handlers = outer
            for fits, handler in bindings:
                if fits(condition):
                    handler(condition)
            cluster = outer
    finally:
        m.handlers = before


def raise_error(m: Machine, condition: Condition) -> BaseException:
    """`(error condition)`: signal it; the E-CONDITION (or its own problem) to raise if nobody
    takes it.
    """
    signal(m, condition)
    if condition.problem is not None:
        return unhandled(condition, condition.problem)
    text = report_text(condition)
    found = problem("E-CONDITION", text, type=brief(condition.type.name))
    return unhandled(condition, found)


def warn(m: Machine, condition: Condition) -> None:
    """`(warn condition)` that nobody muffled: W-CONDITION."""
    m.warn(
        diagnostic(
            "W-CONDITION",
            report_text(condition),
            span=m.call_span,
            expansion=m.expansion,
            type=brief(condition.type.name),
        )
    )
