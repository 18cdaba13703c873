"""Where the operands of a call come from: a note each, with its type and the place that made it.

A tensor that an installed module made is placed at the file's own call of that module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..diagnostics import Related
from ..evaluator.values import Value
from ..ir.graph import Node
from ..spans import Span
from .arguments import shape_text
from .attempt import Attempt
from .origins import place_of, within
from .regions import Region
from .tensor import FileTensor, Handle, Tensor
from .tracer import Tracer

MOST = 4
"""Operands that are told."""
LONGEST = 32
"""Characters of an operand's text that names it."""


def provenance(attempt: Attempt, message: str) -> tuple[Related, ...]:
    """A note for each tensor among the operands and keywords, but for those that are written in
    the call and whose types the message has."""
    seen: set[int] = set()
    found: list[Related] = []
    for name, value in _named(attempt):
        if id(value) not in seen and len(found) < MOST:
            seen.add(id(value))
            note = _note(attempt.t, name, value, attempt.span, message)
            found += [note] if note is not None else []
    return tuple(found)


def _named(attempt: Attempt) -> Iterator[tuple[str, Value]]:
    for i, value in attempt.tensors:
        text = attempt.text(i)
        short = len(text) <= LONGEST and "\n" not in text
        yield (text if short else f"operand {i + 1}"), value
    for key, value in attempt.options.items():
        if value.__class__ is Tensor:
            yield f":{key.replace('_', '-')}", value


def _note(t: Tracer, name: str, value: Value, call: Span | None, message: str) -> Related | None:
    if value.__class__ is Handle:
        return Related(f"{name} is {value.type}, a constant of the file", None)
    if value.__class__ is FileTensor:
        return Related(f"{name} is {value.type}, data that is read before the run", None)
    node, region = value.value.node, value.region
    told = f"{name} is {value.type}"
    if node.operation == "input":
        return _of_input(t, told, node, region)
    span = place_of(node, region)
    if span is None or (call is not None and within(span, call)):
        return Related(told, None) if shape_text(value.shape) not in message else None
    return Related(f"{told}, made here", span)


def _of_input(t: Tracer, told: str, node: Node, region: Region) -> Related | None:
    kind, name = node.get("kind"), str(node.get("name"))
    if kind == "batch":
        return Related(f"{told}, the field {name} of the data{_short(t)}", None)
    made = t.parameters.get(name) or t.states.get(name)
    if made is not None:
        return Related(f"{told}, the {kind} {name}", made.span)
    outer = region.captures.get(name)
    if outer is not None and region.outside is not None:
        span = place_of(outer.node, region.outside)
        return Related(f"{told}, made here", span) if span is not None else None
    if name.startswith(("carry:", "x:")):
        what = "the carry of" if name.startswith("carry:") else "one part of the xs of"
        return Related(f"{told}, {what} {region.what}", region.span)
    return None


def _short(t: Tracer) -> str:
    """That a batch is a short one: its size is not the one that the file says."""
    if t.rows is None or t.whole_rows is None or t.rows >= t.whole_rows:
        return ""
    return f": the last batch of this pass has {t.rows} rows, the others {t.whole_rows}"


def dimensions(t: Tracer, sizes: Iterable[int]) -> tuple[Related, ...]:
    """A note for each `bind-shape` that names some of the sizes, in the scope at hand or around."""
    told: dict[Span, list[str]] = {}
    for size in dict.fromkeys(sizes):
        found = _bound(t, size)
        if found is not None:
            names, span = found
            told.setdefault(span, []).append(f"{size} is {names}")
    return tuple(Related(f"{', '.join(parts)}, bound here", span) for span, parts in told.items())


def _bound(t: Tracer, size: int) -> tuple[str, Span] | None:
    here = t.scope.path
    for path, names, span in reversed(t.bound):
        named = [n for n, s in names.items() if s == size]
        if named and (path in ("", here) or here.startswith(path + "/")):
            return " and ".join(named), span
    return None
