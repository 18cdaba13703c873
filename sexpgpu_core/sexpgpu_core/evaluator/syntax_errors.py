"""`syntax-error`: what a macro says of a wrong call, at the part that is wrong."""

from __future__ import annotations

from typing import Any

from ..diagnostics import problem
from ..reader import element_span, span_of
from ..spans import Span
from .definitions import builtin
from .format_flow import format_text
from .printer import brief
from .values import Cons, Value


@builtin("syntax-error", "(form subform control &rest arguments)")
def syntax_error(form: Any, subform: Any, control: Any, *arguments: Value) -> Value:
    """Refuse a macro's call FORM: E-FORM-SHAPE at its part, with a text by format."""
    name = f"{brief(form.car)}: " if form.__class__ is Cons else ""
    told = name + format_text(control, list(arguments))
    found = problem("E-FORM-SHAPE", told, hint="correct the call", kind="syntax-error")
    raise found.locate(_place(form, subform) or span_of(form))


def _place(form: Value, part: Value) -> Span | None:
    """Where a part of a form stands, the first that is the same object."""
    waiting = [form]
    while waiting:
        rest = waiting.pop()
        while rest.__class__ is Cons:
            if rest.car is part:
                return element_span(rest)
            waiting.append(rest.car)
            rest = rest.cdr
    return None
