"""W-UNUSED: a variable that a person wrote and nothing reads."""

from __future__ import annotations

import re
from collections.abc import Collection

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


def misread(variable: Variable, refused: Collection[str]) -> bool:
    """Whether the form that binds it calls what was refused as a definition: the name then means
    another thing, `(block x)` a special form, and what it does not read says nothing."""
    span = variable.span
    assert span is not None
    text = span.source.text
    end = text.find("\n(", span.end)  # the next form of the file
    rest = text[span.start : end if end >= 0 else None]
    return any(_called(name).search(rest) for name in refused)


def _called(name: str) -> re.Pattern[str]:
    return re.compile(r"\(" + re.escape(name) + r"[\s)]", re.IGNORECASE)


def _find(span: Span, name: str) -> Span:
    """The first place of a name in a span."""
    text = span.source.text
    pattern = re.compile(r"(?<![^\s()'`,])" + re.escape(name) + r"(?![^\s()'`,;])", re.IGNORECASE)
    found = pattern.search(text, span.start, span.end)
    return Span(span.source, found.start(), found.end()) if found else span
