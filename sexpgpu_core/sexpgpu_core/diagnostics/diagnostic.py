"""What went wrong as data, and the one exception that carries it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..records import NamedTuple
from ..spans import Span
from .catalogue import lookup

BOUNDS = frozenset(" \t\n()'`,;\"#")
"""What a name of a text stands between."""


class Change(NamedTuple):
    """Replace `old`, which stands at `span`, by `new`. An insertion has an empty span."""

    span: Span
    new: str

    @property
    def old(self) -> str:
        return self.span.text


class Edit(NamedTuple):
    """A fix that a machine can apply: all changes or none."""

    title: str
    changes: tuple[Change, ...]
    safe: bool = False


class Related(NamedTuple):
    """Another place that says something about the fault."""

    message: str
    span: Span | None


class Expansion(NamedTuple):
    """One link of the chain of macro calls that made a form: innermost first."""

    macro: str
    span: Span | None


class Diagnostic(NamedTuple):
    """One coded message. Rendered once, by `render_text` or `render_json`; never a traceback."""

    code: str
    message: str
    span: Span | None = None
    hint: str | None = None
    edit: Edit | None = None
    facts: Mapping[str, Any] = {}
    related: tuple[Related, ...] = ()
    expansion: tuple[Expansion, ...] = ()
    scope: str | None = None
    file: str | None = None  # where there is no span

    @property
    def severity(self) -> str:
        return lookup(self.code).severity

    @property
    def phase(self) -> str:
        return lookup(self.code).phase

    @property
    def is_error(self) -> bool:
        return self.code.startswith("E-")


class Problem(Exception):
    """A user's mistake. Raised anywhere, placed by whoever knows where, caught at phase borders."""

    clause: tuple[str, ...] = ()
    """The clause of a declaration that it speaks of, and what of it, where that is known."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic)
        self.diagnostic = diagnostic

    def of(self, *clause: str) -> Problem:
        """Say which clause it speaks of, if nobody has yet; returns itself."""
        self.clause = self.clause or clause
        return self

    def __str__(self) -> str:
        d = self.diagnostic
        return f"{d.code}: {d.message}"

    def locate(self, span: Span | None, expansion: tuple[Expansion, ...] = ()) -> Problem:
        """Fill in the place if nobody has yet; returns itself."""
        if self.diagnostic.span is None and span is not None:
            placed = self.diagnostic._replace(span=span, expansion=expansion)
            self.diagnostic = respelt(placed)
        return self


class Problems(Exception):
    """Several mistakes of one phase, in source order."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__(f"{len(diagnostics)} diagnostics")
        self.diagnostics = diagnostics


def diagnostic(
    code: str,
    message: str | None = None,
    *,
    span: Span | None = None,
    hint: str | None = None,
    edit: Edit | None = None,
    related: tuple[Related, ...] = (),
    expansion: tuple[Expansion, ...] = (),
    scope: str | None = None,
    file: str | None = None,
    **facts: Any,
) -> Diagnostic:
    """A diagnostic. Without a message: the catalogue's title and the facts; no hint: its fix."""
    entry = lookup(code)
    if message is None:
        told = ", ".join(f"{k.replace('_', ' ')} {_fact(v)}" for k, v in facts.items())
        message = f"{entry.title}: {told}" if told else entry.title
    made = Diagnostic(
        code,
        message,
        span,
        entry.fix if hint is None else hint,
        edit if isinstance(edit, Edit) else None,
        facts,
        related,
        expansion,
        scope,
        file,
    )
    return respelt(made)


def respelt(d: Diagnostic) -> Diagnostic:
    """At the word that the fact `written` says, and with an edit where `nearest` says what was
    meant.

    The name must stand at the span's head or once in it, and the span must be the user's text.
    """
    written, near = d.facts.get("written"), d.facts.get("nearest")
    if d.edit is not None or not written or d.span.__class__ is not Span:
        return d
    assert d.span is not None
    places = places_of(d.span.text, written)
    if not places or (len(places) > 1 and places[0] > 1):
        return d
    first, start = d.span.start, d.span.start + places[0]
    word = Span(d.span.source, start, start + len(written))
    if near:
        d = d._replace(edit=Edit(f"write {near}", (Change(word, near),)))
    token = _token(word)
    return d if token.start - first <= 1 else d._replace(span=token)


def _token(word: Span) -> Span:
    """With the quotes of a string, a keyword's colon or a module's prefix."""
    text, start, end = word.source.text, word.start, word.end
    if text[start - 1 : start] == text[end : end + 1] == '"':
        return Span(word.source, start - 1, end + 1)
    while start and text[start - 1] not in BOUNDS:
        start -= 1
    return Span(word.source, start, end)


def places_of(text: str, name: str) -> list[int]:
    """Offsets at which a name stands by itself, in any case."""
    found, low, name = [], text.lower(), name.lower()
    at = low.find(name)
    while at >= 0:
        end = at + len(name)
        before = at == 0 or text[at - 1] in BOUNDS or text[at - 1] == ":"
        if before and (end == len(text) or text[end] in BOUNDS):
            found.append(at)
        at = low.find(name, end)
    return found


def problem(code: str, message: str | None = None, **rest: Any) -> Problem:
    """`raise problem("E-TYPE", "...", hint=..., wanted="list")`; arguments as for `diagnostic`."""
    return Problem(diagnostic(code, message, **rest))


def _fact(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return " ".join(map(str, value))
    return str(value)
