"""How a place is shown, paths relative to the working directory when below it, with `/`; and in
which order what was found is told."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .diagnostic import Diagnostic


def shown_path(name: str) -> str:
    """A source's name as documents and texts show it."""
    if not os.path.isabs(name):
        return name.replace(os.sep, "/")
    below = os.path.relpath(name) if os.path.splitdrive(name)[0] == _drive() else name
    return (name if below.startswith("..") else below).replace(os.sep, "/")


def ordered(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """By file and place; one a span and code, but for names that are missing at one place."""
    seen: dict[tuple[Any, ...], Diagnostic] = {}
    for d in found:
        place = (d.span.source.name, d.span.start) if d.span else (d.file or "", -1)
        alone = d.span is not None and d.code != "E-MISSING"
        seen.setdefault((*place, d.code, "" if alone else d.message), d)
    return sorted(seen.values(), key=_place)


def _place(d: Diagnostic) -> tuple[Any, ...]:
    return (d.span.source.name, d.span.start, d.code) if d.span else (d.file or "", -1, d.code)


def _drive() -> str:
    return os.path.splitdrive(os.getcwd())[0]


def printable(text: str) -> str:
    """Text without what would move a terminal's cursor or change its colours."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else _escape(c) for c in text)


def _escape(c: str) -> str:
    if c == "\t":
        return "    "
    return c.encode("unicode_escape").decode("ascii")
