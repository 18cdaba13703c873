"""W-EQ-VALUE: eq and eql that compare what has no identity, strings and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..diagnostics import Change, Edit, diagnostic
from ..reader import span_of
from ..spans import Span
from .values import Cons, Ratio, String, Value

if TYPE_CHECKING:
    from .machine import Machine

IDENTITY = frozenset(("EQ", "EQL"))
NUMBERS = frozenset((int, float, Ratio))


def warn_identity(m: Machine, name: str, form: Cons) -> None:
    """Warn of a call of eq or eql with a written string, or of eq with a written number."""
    span = span_of(form)
    if span.__class__ is not Span or form.cdr.__class__ is not Cons:
        return
    operands = (form.cdr.car, form.cdr.cdr.car if form.cdr.cdr.__class__ is Cons else None)
    what, instead = _meant(name, operands)
    if not what:
        return
    assert span is not None
    start = span.start + 1
    written = Span(span.source, start, start + len(name))
    edit = Edit(f"write {instead}", (Change(written, instead),))
    m.warn(
        diagnostic(
            "W-EQ-VALUE",
            f"{name.lower()} of {what} asks if they are one object, not if they are equal",
            span=span,
            hint=f"write ({instead} ...)",
            edit=edit if written.text.upper() == name else None,
            name=name.lower(),
        )
    )


def _meant(name: str, operands: tuple[Value, ...]) -> tuple[str, str]:
    if any(o.__class__ is String for o in operands):
        return "a string", "equal"
    if name == "EQ" and any(o.__class__ in NUMBERS for o in operands):
        return "a number", "eql"
    return "", ""
