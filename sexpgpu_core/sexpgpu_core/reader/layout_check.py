"""A text and its layout read as the same forms and hold the same comments: what is asserted before
a layout is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..diagnostics import Problems
from ..evaluator.values import Array, Cons, Ratio, String, Symbol, Value, Vector
from ..spans import Source
from .layout import layout
from .layout_tree import Node, tree
from .reader import Reader


class TextNames:
    """Symbols by their text: a layout knows no modules."""

    def __init__(self) -> None:
        self.known: dict[str, Symbol] = {}

    def intern(self, name: str) -> Symbol:
        return self.known.setdefault(name, Symbol(name, ""))

    def qualified(self, prefix: str, name: str, private: bool) -> Symbol:
        return self.intern(f"{prefix}{'::' if private else ':'}{name}")


def forms_of(source: Source, names: TextNames) -> list[Value]:
    """The forms of a text; Problems if it does not read."""
    reader = Reader(source, names)
    forms = list(reader.forms())
    errors = [found for found in reader.diagnostics if found.is_error]
    if errors:
        raise Problems(sorted(errors, key=lambda d: d.span.start if d.span else 0))
    return forms


def comments_of(root: Node) -> list[str]:
    """The texts of all comments, sorted."""
    found: list[str] = []
    pending = [root]
    while pending:
        node = pending.pop()
        found += [comment.text for comment in (*node.lead, *node.tail)]
        found += [node.trail] if node.trail else []
        found += [node.prefix] if "#|" in node.prefix else []
        pending += node.items or ()
    return sorted(found)


def same_comments(a: str, b: str) -> bool:
    """Whether two texts hold the same comments."""
    return comments_of(tree(a)) == comments_of(tree(b))


def same_forms(a: Value, b: Value) -> bool:
    """EQUAL, and vectors by their elements. Neither recurses nor goes round a circle."""
    pending, met = [(a, b)], set()
    while pending:
        a, b = pending.pop()
        if a.__class__ is list and b.__class__ is list and len(a) == len(b):
            pending += zip(a, b)
            continue
        if a.__class__ is not b.__class__:
            return False
        if a is b or (id(a), id(b)) in met:
            continue
        inner = _parts(a, b)
        if inner is None:
            return False
        if inner:
            met.add((id(a), id(b)))
        pending += inner
    return True


def _parts(a: Any, b: Any) -> list[tuple[Value, Value]] | None:
    """What must be the same in two unlike objects of a class; None if they differ."""
    if a.__class__ is Cons:
        return [(a.cdr, b.cdr), (a.car, b.car)]
    if isinstance(a, String):
        return [] if a.text() == b.text() else None
    if isinstance(a, (Vector, Array)):
        alike = a.dims == b.dims and len(a.data) == len(b.data)
        return list(zip(a.data, b.data)) if alike else None
    if isinstance(a, Symbol):
        return [] if a.home is None is b.home and a.name == b.name else None
    if isinstance(a, (Ratio, int)):
        return [] if a == b else None
    return [] if repr(a) == repr(b) else None


def checked_layout(source: Source, macros: Mapping[str, int] | None = None) -> str:
    """The text of a source in its layout; Problems if it does not read.

    An AssertionError says that the layout would not read as the text does, or lost a comment.
    """
    names = TextNames()
    forms = forms_of(source, names)
    text = layout(source.text, macros)
    if not same_forms(forms, forms_of(Source(source.name, text), names)):
        raise AssertionError(f"the layout of {source.name} reads as other forms")
    if not same_comments(source.text, text):
        raise AssertionError(f"the layout of {source.name} loses a comment")
    return text
