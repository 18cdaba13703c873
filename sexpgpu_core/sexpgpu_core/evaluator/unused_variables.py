"""W-UNUSED: a variable that a person wrote and nothing reads."""

from __future__ import annotations

import re

from ..diagnostics import Change, Diagnostic, Edit, diagnostic
from ..spans import Span
from .scope import Variable


def unused(variable: Variable) -> Diagnostic:
    """W-UNUSED at the variable's name inside the form that binds it."""
    span = variable.span
    name = repr(variable.name)
    assert span is not None
    at = _find(span, name)
    after = Span(span.source, span.end, span.end)
    return diagnostic(
        "W-UNUSED",
        f"the variable {name} is never used",
        span=at,
        edit=Edit("declare it ignored", (Change(after, f" (declare (ignore {name}))"),)),
        hint=f"delete it, or (declare (ignore {name})) at the start of the body",
        kind="variable",
        name=name,
    )


def _find(span: Span, name: str) -> Span:
    """The first place of a name in a span."""
    text = span.source.text
    pattern = re.compile(r"(?<![^\s()'`,])" + re.escape(name) + r"(?![^\s()'`,;])", re.IGNORECASE)
    found = pattern.search(text, span.start, span.end)
    return Span(span.source, found.start(), found.end()) if found else span
