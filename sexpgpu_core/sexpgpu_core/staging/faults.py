"""Messages about operands: what a value is, which dtypes differ, where a call's parts stand."""

from __future__ import annotations

from itertools import pairwise

from ..diagnostics import Change, Edit, Problem, problem
from ..evaluator import machine
from ..evaluator.printer import brief
from ..evaluator.values import Staged, Value
from ..spans import Span
from .tensor import is_tensor


def describe(value: Value) -> str:
    """A value in a message: a tensor by its type, anything else as it prints."""
    if is_tensor(value):
        return str(value.type)
    return value.describe() if isinstance(value, Staged) else brief(value)


def mixed(name: str, values: tuple[Value, ...]) -> Problem:
    """E-DTYPE-MIX with the types of all tensors."""
    tensors = [v for v in values if is_tensor(v)]
    return problem(
        "E-DTYPE-MIX",
        f"{name} of {' and '.join(str(v.type) for v in tensors)}: their dtypes differ",
        hint="tensors are never promoted in silence: (cast x :f32)",
        dtypes=[v.dtype for v in tensors],
    )


def ending(more: str, title: str) -> Edit | None:
    """An edit that writes more at the end of the call being made."""
    span = machine.current().call_span
    if span.__class__ is not Span or not span.text.endswith(")"):
        return None
    return Edit(title, (Change(Span(span.source, span.end - 1, span.end - 1), more),))


def operand_spans(span: Span) -> list[Span]:
    """Spans of the elements of a list that was written, its head first; [] if it is none."""
    text = span.text
    if not text.startswith("(") or not text.endswith(")"):
        return []
    found: list[Span] = []
    at, end = 1, len(text) - 1
    while at < end:
        c = text[at]
        if c.isspace():
            at += 1
        elif c == ";":
            at = text.find("\n", at) % (len(text) + 1)
        else:
            stop = _datum_end(text, at, end)
            found.append(Span(span.source, span.start + at, span.start + stop))
            at = stop
    return found


def option_span(span: Span | None, *names: str) -> Span | None:
    """Where the value of an option of a form stands, `option_span(s, "checkpoint", "every")` of one
    inside another's list; None where it was not written there."""
    for name in names:
        words = operand_spans(span) if span is not None else []
        span = next((b for a, b in pairwise(words) if a.text.lower() == f":{name}"), None)
    return span


def _datum_end(text: str, at: int, end: int) -> int:
    while at < end and text[at] in "'`,@#":
        at += 1
    if at < end and text[at] == '"':
        return _string_end(text, at) + 1
    if at < end and text[at] == "(":
        depth = 0
        while at < end:
            c = text[at]
            if c == '"':
                at = _string_end(text, at)
            elif c == ";":
                at = text.find("\n", at) % (len(text) + 1)
            depth += (c == "(") - (c == ")")
            at += 1
            if depth == 0:
                return at
        return end
    while at < end and not text[at].isspace() and text[at] not in '()";':
        at += 1
    return at


def _string_end(text: str, at: int) -> int:
    at += 1
    while at < len(text) and text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at
