"""Places of the file that nodes come from: of what an installed module made, the call of it."""

from __future__ import annotations

from ..evaluator import machine
from ..evaluator.calls import calls_around
from ..ir.graph import Node
from ..reader import span_of
from ..spans import Span
from .regions import Region


def place_of(node: Node, region: Region) -> Span | None:
    """Where a node was made, in the file; a merged one has several places, the first counts."""
    origins = region.builder.graph.origins.get(node.id, ())
    return next((o.span for o in origins if o.span is not None), None)


def called_from_file(asked: Span | None = None) -> Span | None:
    """The call being made; of a call in an installed module, the author's around it. `asked`: who
    asked for what is traced, where no call of the file is being made any more."""
    span: Span | None = machine.current().call_span
    if span is None or not installed(span):
        return span
    around = (span_of(form) for form in calls_around())
    own = (s for s in around if s.__class__ is Span and not installed(s))
    return next(own, asked if asked is not None else span)


def installed(span: Span) -> bool:
    """Whether a place is in a module of an installed distribution."""
    library = getattr(machine.current(), "library", None)
    return library is not None and bool(library.is_installed(span.source))


def within(inner: Span, outer: Span) -> bool:
    return inner.source is outer.source and outer.start <= inner.start <= inner.end <= outer.end


def called(node: Node, place: Span | None) -> str:
    """What the file calls that made a node: a builtin, or the operation in a module's function."""
    text = place.text if place is not None else ""
    head = text[1:].split(None, 1)[0].strip("()") if text[:1] == "(" and text[1:] else ""
    if not head or head[0] in "'#`(":
        return node.operation
    return f"{node.operation} in {head}" if ":" in head else head
