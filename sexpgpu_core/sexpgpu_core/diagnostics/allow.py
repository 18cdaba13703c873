"""`;; allow W-CODE: reason` on a form's line or the line above keeps a warning back."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..spans import Source, Span
from .catalogue import lookup
from .diagnostic import Change, Diagnostic, Edit, diagnostic

ALLOW = re.compile(r";+[ \t]*allow[ \t]+(W(?:-[A-Z0-9]+)+)(:[^\n]*)?", re.IGNORECASE)


def allowed(found: Iterable[Diagnostic], source: Source, complete: bool) -> list[Diagnostic]:
    """Without the warnings that the source allows. `complete`: whether all of them are there, so
    that a comment that allows nothing is W-ALLOW-UNUSED."""
    if "allow" not in source.text:
        return list(found)
    comments = _comments(source)
    used: set[tuple[int, str]] = set()
    kept = []
    for d in found:
        line = d.span.line if d.span is not None and d.span.source is source else 0
        near = [(at, d.code) for at in (line, line - 1) if (at, d.code) in comments]
        if not line or d.is_error or not near:
            kept.append(d)
        used.update(near)
    unused = [(key, span) for key, span in comments.items() if key not in used]
    return kept + [_unused(code, span) for (_, code), span in unused if complete]


def not_allowed(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Without the warnings that the files allow in which they stand."""
    kept = list(found)
    for source in {id(d.span.source): d.span.source for d in kept if d.span is not None}.values():
        kept = allowed(kept, source, complete=False)
    return kept


def _comments(source: Source) -> dict[tuple[int, str], Span]:
    """Line and code of each comment, with its place."""
    found = {}
    for match in ALLOW.finditer(source.text):
        span = Span(source, match.start(), match.end())
        found[span.line, match[1].upper()] = span
    return found


def _unused(code: str, span: Span) -> Diagnostic:
    return diagnostic(
        "W-ALLOW-UNUSED",
        f"nothing on this line or the next is {code}",
        span=span,
        hint=f"{lookup('W-ALLOW-UNUSED').fix[:-1]}; the line of a warning or the one above counts",
        edit=Edit("delete the comment", (Change(span, ""),)),
        allows=code,
    )
