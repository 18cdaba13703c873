"""Places of the file that nodes come from: of what an installed module made, the call of it."""

from __future__ import annotations

from ..evaluator import machine
from ..evaluator.calls import calls_around
from ..ir.graph import Node, Origin
from ..reader import span_of
from ..spans import Span
from .host import host
from .regions import Region
from .tracer import Tracer


def place_of(t: Tracer, node: Node, region: Region) -> Span | None:
    """Where a node was made: in the file, or where the file calls the module that made it."""
    for origin in region.builder.graph.origins.get(node.id, ()):
        span = user_place(t, origin)
        if span is not None:
            return span
    return None


def user_place(t: Tracer, origin: Origin) -> Span | None:
    """The place of an origin, moved out of installed modules by the scopes around it."""
    span: Span | None = origin.span
    return call_of_module(t, origin.scope) if span is not None and installed(span) else span


def authored(t: Tracer, scope: str) -> Span | None:
    """The call being made; of one in an installed module, the file's that opened the scope."""
    span: Span | None = machine.current().call_span
    return (call_of_module(t, scope) or span) if span is not None and installed(span) else span


def called_from_file() -> Span | None:
    """The call being made; of a call in an installed module, the author's around it."""
    span: Span | None = machine.current().call_span
    if span is None or not installed(span):
        return span
    around = (span_of(form) for form in calls_around())
    return next((s for s in around if s.__class__ is Span and not installed(s)), span)


def installed(span: Span) -> bool:
    """Whether a place is in a module of an installed distribution."""
    library = getattr(machine.current(), "library", None)
    return library is not None and bool(library.is_installed(span.source))


def call_of_module(t: Tracer, path: str) -> Span | None:
    """The file's call that opened a scope or one around it."""
    while path:
        span = t.places.get(path)
        if span is not None and span.source.name == host().collector.main:
            return span
        path = path.rpartition("/")[0]
    return None


def within(inner: Span, outer: Span) -> bool:
    return inner.source is outer.source and outer.start <= inner.start <= inner.end <= outer.end


def called(node: Node, place: Span | None) -> str:
    """What the file calls that made a node: a builtin, or the operation in a module's function."""
    text = place.text if place is not None else ""
    head = text[1:].split(None, 1)[0].strip("()") if text[:1] == "(" and text[1:] else ""
    if not head or head[0] in "'#`(":
        return node.operation
    return f"{node.operation} in {head}" if ":" in head else head
