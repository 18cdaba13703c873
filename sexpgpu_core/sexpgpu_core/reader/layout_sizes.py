"""What forms take on one line and at least; neighbours aligned in columns."""

from __future__ import annotations

from .layout_plans import WIDTH
from .layout_styles import COLUMNS, Style
from .layout_tree import Node

APART = 24
"""Most blanks that align a column."""


def measure(node: Node) -> None:
    """Find a node's `flat` and `narrow` from those of its items."""
    if node.items is None:
        text = node.prefix + node.text
        node.flat = None if "\n" in text else text
        node.narrow = max(map(len, text.split("\n")))
        return
    align(node)
    inner = max((item.narrow for item in node.items), default=0)
    node.narrow = len(node.prefix) + len(node.text) + inner + 1
    node.flat = None if _breaks(node) else _flat(node)
    if node.flat is not None:
        node.narrow = min(node.narrow, len(node.flat))


def _breaks(node: Node) -> bool:
    """Whether a list never stands on one line."""
    items, style = node.items or [], node.style
    assert isinstance(style, Style)
    if node.tail or any(item.lead or item.trail or item.flat is None for item in items):
        return True
    ahead = _ahead(items) if style.kind == "options" else style.beside
    return 0 < style.least < len(items) - ahead


def _ahead(items: list[Node]) -> int:
    """Keywords and values at the head of the arguments."""
    at = 1
    while at + 1 < len(items) and items[at].text[0] == ":":
        at += 2
    return at - 1


def _flat(node: Node) -> str | None:
    text = node.prefix + node.text
    for place, item in enumerate(node.items or ()):
        text += (" " * (1 + item.before) if place else "") + (item.flat or "")
        if len(text) >= WIDTH:
            return None
    return text + ")"


def align(parent: Node) -> None:
    """Give neighbours of one operator blanks that align their arguments."""
    items, at = parent.items or [], 0
    while at < len(items):
        end = at + 1
        count = COLUMNS.get(items[at].operator, 0)
        while count and end < len(items) and _neighbours(items[end - 1], items[end]):
            end += 1
        if end - at > 1:
            _align(items[at:end], count)
        at = end


def _neighbours(a: Node, b: Node) -> bool:
    return a.operator == b.operator and not (b.blank or b.lead or b.prefix)


def _align(rows: list[Node], count: int) -> None:
    """Align columns from the left, each only if no row on one line needs two for it."""
    whole = [row for row in rows if row.flat is not None]
    if count == 1 and len(whole) < len(rows):
        return
    for column in range(1, count + 1):
        placed = [r.items for r in rows if r.items and _has(r, column, count)]
        widths = [len(items[column].flat or "") for items in placed]
        if not widths or max(widths) - min(widths) > APART:
            break
        for items, width in zip(placed, widths):
            items[column + 1].before = max(widths) - width
        if any(_flat(row) is None for row in whole):
            for items in placed:
                items[column + 1].before = 0
            break
    for row in whole:
        row.flat = _flat(row)


def _has(row: Node, column: int, count: int) -> bool:
    """Whether more follows on the line of a row's column."""
    items = row.items or []
    if len(items) <= column + 1 or items[column].flat is None:
        return False
    return column < count or row.flat is not None
