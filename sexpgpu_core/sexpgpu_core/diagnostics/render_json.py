"""A diagnostic to the JSON object that every document has them in. Law: no NaN, bounded."""

from __future__ import annotations

import math
from typing import Any

from ..spans import Span
from .diagnostic import Diagnostic, Edit
from .places import shown_path

LONGEST = 300
"""Characters of source text or of one fact."""


def diagnostic_json(d: Diagnostic) -> dict[str, Any]:
    """Keys that say nothing are left out, except those that are always there."""
    file, span = place(d.span, d.file)
    found: dict[str, Any] = {
        "code": d.code,
        "severity": d.severity,
        "phase": d.phase,
        "message": d.message,
        "file": file,
        "span": span,
        "hint": d.hint,
        "edit": edit_json(d.edit),
        "docs": f"errors#{d.code.lower()}",
    }
    facts = {name: value_json(value) for name, value in d.facts.items()}
    notes = [r.message for r in d.related if r.span is None]
    if notes:
        facts["notes"] = notes
    said: dict[str, Any] = {
        "source": cut(d.span.text) if d.span is not None else "",
        "scope": d.scope,
        "facts": facts,
        "related": [
            {"message": r.message, **_place(r.span)} for r in d.related if r.span is not None
        ],
        "expansion": [
            {"macro": x.macro, **_place(x.span)}
            for x in reversed(d.expansion)
            if x.span is not None
        ],
    }
    found.update((key, value) for key, value in said.items() if value)
    return found


def place(span: Span | None, file: str | None = None) -> tuple[str | None, dict[str, int] | None]:
    """`file` and `span`, the pair that every place is."""
    if span is not None:
        return shown_path(span.source.name), span.json()
    return (shown_path(file) if file is not None else None), None


def _place(span: Span) -> dict[str, Any]:
    return {"file": shown_path(span.source.name), "span": span.json()}


def edit_json(edit: Edit | None) -> dict[str, Any] | None:
    """All changes with what stands there now."""
    if edit is None or not edit.changes:
        return None
    changes = [{**_place(c.span), "old": c.old, "new": c.new} for c in edit.changes]
    return {"title": edit.title, "safe": edit.safe, "changes": changes}


def value_json(value: Any) -> Any:
    """Any fact or metric as JSON can say it; non-finite numbers are "nan", "inf", "-inf"."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return [value_json(item) for item in value]
    if isinstance(value, dict):
        return {str(name): value_json(item) for name, item in value.items()}
    return cut(str(value))


def cut(text: str) -> str:
    """At most LONGEST characters, and a sign that there were more."""
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
