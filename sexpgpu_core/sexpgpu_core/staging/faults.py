"""Messages about operands: what a value is, which operands differ, and the cast that joins them."""

from __future__ import annotations

from ..diagnostics import Change, Edit, Problem, problem
from ..evaluator import machine
from ..evaluator.printer import brief
from ..evaluator.values import Staged, Value
from ..ir.types import FLOATS
from ..spans import Span
from .tensor import is_tensor


def describe(value: Value) -> str:
    """A value in a message: a tensor by its type, anything else as it prints."""
    return value.describe() if isinstance(value, Staged) else brief(value)


def mixed(name: str, values: tuple[Value, ...], found: str, common: str, at: int) -> Problem:
    """E-DTYPE-MIX with the types of all tensors, and an edit that casts one operand."""
    types = " and ".join(str(v.type) for v in values if is_tensor(v))
    target, which = _target(values, found, common, at)
    return problem(
        "E-DTYPE-MIX",
        f"{name} of {types}",
        hint=f"tensors are never promoted in silence: (cast x :{target})",
        edit=_cast_edit(which, len(values), target),
        dtypes=[common, found],
    )


def _target(values: tuple[Value, ...], found: str, common: str, at: int) -> tuple[str, int]:
    """The dtype to cast to and the operand to cast: towards floats, and the wider one."""
    first = next(i for i, v in enumerate(values) if is_tensor(v))
    if found in FLOATS and common not in FLOATS:
        return found, first
    return common, at


def _cast_edit(which: int, count: int, dtype: str) -> Edit | None:
    return wrapped(which + 1, count + 1, f"(cast {{}} :{dtype})", f"cast it to {dtype}")


def wrapped(which: int, count: int, form: str, title: str) -> Edit | None:
    """An edit that puts a form around an element of the call being made, if it has so many."""
    span = machine.current().call_span
    if span.__class__ is not Span:
        return None
    parts = operand_spans(span)
    if len(parts) != count:
        return None
    part = parts[which]
    return Edit(title, (Change(part, form.format(part.text)),))


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
