"""Open brackets and prefixes, and what becomes of what they hold."""

from __future__ import annotations

from typing import Any

from ..diagnostics import problem
from ..evaluator.values import (
    NIL,
    UNQUOTE,
    UNQUOTE_SPLICING,
    Array,
    Cons,
    Symbol,
    Value,
    Vector,
    keyword,
)
from ..spans import Source, Span

TOP, LIST, VECTOR, ARRAY, PREFIX, FEATURE, SKIP, LABEL, POINT = range(9)

MOST_ELEMENTS = 10_000_000
UNQUOTES = {",": UNQUOTE, ",@": UNQUOTE_SPLICING, ",.": UNQUOTE_SPLICING}
FEATURES = frozenset({keyword("SEXPGPU"), keyword("COMMON-LISP")})

MISSING: Any = object()
"""No value: a comment, an opened bracket."""

_new = tuple.__new__


class Dot:
    """The lone dot of a dotted pair, until its list is closed."""


DOT = Dot()


class Frame:
    """A bracket or prefix that waits for what it holds."""

    __slots__ = ("detail", "items", "kind", "level", "level_before", "start", "starts")

    def __init__(self, kind: int, start: int, level: int, detail: Any = None) -> None:
        self.kind = kind
        self.start = start
        self.level = level  # depth of backquotes around what it holds
        self.level_before = 0  # FEATURE and SKIP: the reader's `suppress` before them
        self.detail = detail  # PREFIX: its symbol; FEATURE: wanted; ARRAY: rank; LABEL: number
        self.items: list[Value] = []
        self.starts: list[int] = []


def close_list(frame: Frame, source: Source, end: int) -> Value:
    """The list of a closed frame; each tail spans from its element to the end."""
    items, starts = frame.items, frame.starts
    tail: Value = NIL
    at = len(items)
    if DOT in items:
        if at < 3 or items[-2] is not DOT or items.count(DOT) > 1:
            raise problem(
                "E-READ-SYNTAX",
                "a lone dot stands between the last two elements of a list, or nowhere",
                hint="as (a b . c)",
            )
        tail = items[-1]
        at -= 2
    while at:
        at -= 1
        tail = Cons(items[at], tail, _new(Span, (source, starts[at], end)))
    if tail is not NIL:
        tail.span = _new(Span, (source, frame.start, end))
    return tail


def close_vector(frame: Frame) -> Value:
    """`#(...)`, `#nA(...)` of a closed frame."""
    if DOT in frame.items:
        raise problem("E-READ-SYNTAX", "a dot inside a vector")
    if frame.kind == VECTOR:
        return _vector(frame.items, frame.detail)
    return _array(frame.items, frame.detail)


def _vector(items: list[Value], size: int | None) -> Value:
    if size is not None and size > MOST_ELEMENTS:
        raise problem("E-LIMIT-CELLS", f"#{size}(...) asks for {size:,} elements", size=size)
    if size is not None and items and len(items) < size:
        items = items + items[-1:] * (size - len(items))
    if size is not None and len(items) != size:
        raise problem("E-READ-SYNTAX", f"#{size}(...) holds {len(items)} elements")
    return Vector(items)


def _array(items: list[Value], rank: int) -> Value:
    dims, level = [], items
    for axis in range(rank):
        dims.append(len(level))
        if axis < rank - 1:
            rows = [_elements(row) for row in level]
            if len({len(row) for row in rows}) > 1:
                raise problem("E-READ-SYNTAX", f"rows of #{rank}A(...) are of unlike length")
            level = [item for row in rows for item in row]
            dims_next = len(rows[0]) if rows else 0
            if axis == rank - 2:
                dims.append(dims_next)
                break
    return Array(tuple(dims[:rank]) if rank != 1 else (len(items),), level)


def _elements(row: Value) -> list[Value]:
    items = []
    while row.__class__ is Cons:
        items.append(row.car)
        row = row.cdr
    return items


def prefixed(frame: Frame, value: Value, start: int, end: int, source: Source) -> Value:
    """(quote x) of `'x`, with spans."""
    inner = Cons(value, NIL, _new(Span, (source, start, end)))
    return Cons(frame.detail, inner, _new(Span, (source, frame.start, end)))


def feature_holds(form: Value, features: frozenset[Symbol] = FEATURES) -> bool:
    """Whether a feature expression of `#+` is true."""
    if form.__class__ is Symbol:
        return form in features
    items = _elements(form)
    head = items[0].name if items and items[0].__class__ is Symbol else ""
    if head == "NOT" and len(items) == 2:
        return not feature_holds(items[1], features)
    if head in ("AND", "OR"):
        every = all if head == "AND" else any
        return every(feature_holds(item, features) for item in items[1:])
    return False
