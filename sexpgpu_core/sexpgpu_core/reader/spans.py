"""Where a form stands. Conses made by a macro stand where the macro was called, with the chain of
calls.
"""

from __future__ import annotations

import re

from ..diagnostics import Expansion
from ..evaluator.values import NIL, Cons, Value
from ..spans import Span
from .tokens import TOKEN

EMPTY = re.compile(r"\(\s*\)")
CHAIN = 12
"""Most macro calls that a place remembers."""


class MadeSpan(Span):
    """Span of the call of a macro, on a cons that the macro made. `chain`: innermost call first."""

    chain: tuple[Expansion, ...]


def made_span(macro: str | None, call: Span | None) -> MadeSpan | None:
    """What conses carry that a macro call makes; a macro of the language (None) is not named."""
    if call is None:
        return None
    made = MadeSpan(*call)
    link = (Expansion(macro, Span(*call)),) if macro is not None else ()
    made.chain = (*link, *chain_of(call)[: CHAIN - 1])
    return made


def chain_of(span: Span | None) -> tuple[Expansion, ...]:
    """The macro calls that made what stands at a span; () for what was written."""
    return span.chain if isinstance(span, MadeSpan) else ()


def span_of(form: Value) -> Span | None:
    """Where a form was read, or the call that made it; None for atoms and conses made by
    functions.
    """
    return form.span if form.__class__ is Cons else None


def element_span(tail: Value) -> Span | None:
    """Where the car of a cons stands, atoms included."""
    if tail.__class__ is not Cons:
        return None
    inner: Span | None = span_of(tail.car)
    if inner is not None or tail.span is None:
        return inner
    span: Span = tail.span
    if isinstance(span, MadeSpan):
        return span
    text = span.source.text
    empty = EMPTY.match(text, span.start) if tail.car is NIL else None
    start = span.start + (empty is None and text[span.start : span.start + 1] == "(")
    match = empty or (EMPTY.match(text, start) if tail.car is NIL else None)
    if match is not None:
        return Span(span.source, match.start(), match.end())
    match = TOKEN.match(text, start)
    if match is None:
        return span
    return Span(span.source, match.start(match.lastindex or 0), match.end())


def place(form: Value, span: Span | None) -> Value:
    """Give every cons of a fresh form that has no span this one; what was written keeps its own."""
    if span is None or form.__class__ is not Cons or form.span is not None:
        return form
    pending = [form]
    while pending:
        cons = pending.pop()
        while cons.__class__ is Cons and cons.span is None:
            cons.span = span
            if cons.car.__class__ is Cons:
                pending.append(cons.car)
            cons = cons.cdr
    return form
