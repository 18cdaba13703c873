"""W-UNUSED: a variable that a person wrote and nothing reads."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from ..diagnostics import Change, Diagnostic, Edit, diagnostic
from ..reader import element_span, span_of
from ..spans import Span
from .scope import Variable
from .values import Symbol, Value

if TYPE_CHECKING:
    from .analyzer import Analyzer


def unused(variable: Variable, forms: Value) -> Diagnostic:
    """W-UNUSED at the variable's name inside the form that binds it, of a body of `forms`."""
    span = variable.span
    name = repr(variable.name)
    assert span is not None
    at = _find(span, name)
    change = _declared(f"(declare (ignore {name}))", span, element_span(forms))
    return diagnostic(
        "W-UNUSED",
        f"the variable {name} is never used",
        span=at,
        edit=Edit("declare it ignored", (change,)),
        hint=f"delete it, or (declare (ignore {name})) at the start of the body",
        kind="variable",
        name=name,
    )


def _declared(declaration: str, span: Span, body: Span | None) -> Change:
    """Behind what binds; before the body's first form where docstrings or clauses stand between."""
    text = span.source.text
    if body is None or body.source is not span.source or not span.end <= body.start:
        return Change(Span(span.source, span.end, span.end), f" {declaration}")
    if not _COMMENT.sub("", text[span.end : body.start]).strip():
        return Change(Span(span.source, span.end, span.end), f" {declaration}")
    indent = text[text.rfind("\n", 0, body.start) + 1 : body.start]
    behind = " " if indent.strip() else f"\n{indent}"
    return Change(Span(span.source, body.start, body.start), declaration + behind)


_COMMENT = re.compile(r";[^\n]*")


def misread(variable: Variable, refused: Collection[str]) -> bool:
    """Whether the form that binds it calls what was refused as a definition: the name then means
    another thing, `(block x)` a special form, and what it does not read says nothing."""
    span = variable.span
    assert span is not None
    text = span.source.text
    end = text.find("\n(", span.end)  # the next form of the file
    rest = text[span.start : end if end >= 0 else None]
    return any(_called(name).search(rest) for name in refused)


def touched(variable: Variable, an: Analyzer) -> bool:
    """Whether the body says `x.shape` or `x[0]` for what it binds: the name that is wrong is told
    of, and is a use. What was read since the variable was bound is of that body."""
    span, name = variable.span, variable.name.name
    assert span is not None
    told = [(r.symbol, element_span(r.at)) for r in an.references]
    told += [(cell.name, span_of(form)) for cell, _, form in an.calls]
    return any(
        symbol.name.startswith((f"{name}.", f"{name}["))
        and place is not None
        and place.source is span.source
        and place.start >= span.start
        for symbol, place in told
        if symbol.__class__ is Symbol
    )


def _called(name: str) -> re.Pattern[str]:
    return re.compile(r"\(" + re.escape(name) + r"[\s)]", re.IGNORECASE)


def _find(span: Span, name: str) -> Span:
    """The first place of a name in a span."""
    text = span.source.text
    pattern = re.compile(r"(?<![^\s()'`,])" + re.escape(name) + r"(?![^\s()'`,;])", re.IGNORECASE)
    found = pattern.search(text, span.start, span.end)
    return Span(span.source, found.start(), found.end()) if found else span
