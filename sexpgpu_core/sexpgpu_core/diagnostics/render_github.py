"""Diagnostics to lines that GitHub shows beside the code (workflow commands `::error`)."""

from __future__ import annotations

from collections.abc import Iterable

from .diagnostic import Diagnostic
from .render_json import place


def workflow_lines(found: Iterable[Diagnostic]) -> str:
    """A line a diagnostic; nothing for none."""
    return "\n".join(map(_line, found))


def _line(d: Diagnostic) -> str:
    facts = {"title": d.code}
    file, span = place(d.span, d.file)
    if file is not None and span is not None:
        facts = {
            "file": file,
            "line": str(span["line"]),
            "endLine": str(span["end_line"]),
            "col": str(span["column"]),
            **facts,
        }
    elif file is not None:
        facts = {"file": file, **facts}
    told = d.message if d.hint is None else f"{d.message}\nhelp: {d.hint}"
    named = ",".join(f"{k}={_escaped(v, ':,')}" for k, v in facts.items())
    return f"::{d.severity} {named}::{_escaped(told)}"


def _escaped(text: str, more: str = "") -> str:
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
