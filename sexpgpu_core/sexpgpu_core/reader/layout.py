"""A text to its one layout. It reads as before, keeps every comment, and layout(layout(x)) is
layout(x).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .layout_plans import FILL, LINE, WIDTH, Gap, plan
from .layout_sizes import align, measure
from .layout_styles import Style, style_of, style_parts
from .layout_tree import Comment, Node, tree

INDENT = 80
"""Most columns that a line begins with."""

BESIDE = ("declaration", "options")
"""Kinds of forms that need no empty line between them."""


def layout(text: str, macros: Mapping[str, int] | None = None) -> str:
    """The text in its layout. It must read without errors.

    `macros`: macros with a &body, by lower-case name, and how many parameters stand before it.
    """
    root = tree(text)
    for node in reversed(_styled(root, macros or {})):
        measure(node)
    align(root)
    return _Writer().top(root)


def _styled(root: Node, macros: Mapping[str, int]) -> list[Node]:
    """All nodes, parents first, once every list has its style."""
    found: list[Node] = []
    pending: list[tuple[Node, Style | None]] = [(n, None) for n in root.items or ()]
    while pending:
        node, given = pending.pop()
        found.append(node)
        if node.items is not None:
            style = style_of(node, given, macros)
            node.style = style
            pending.extend(zip(node.items, style_parts(style, node)))
    return found


class _Writer:
    """Writes nodes from left to right. What is still to be written waits on a stack, so that
    depth is bounded by memory alone.
    """

    def __init__(self) -> None:
        self.out: list[str] = []
        self.column = 0
        self.todo: list[tuple[Any, ...]] = []

    def top(self, root: Node) -> str:
        """All top-level forms, lines of comments between them."""
        before: Node | None = None
        for node in root.items or ():
            self._apart(before, node)
            self._comments(node.lead, 0)
            if node.lead:
                self.line(0, node.blank)
            self.node(node)
            before = node
        if root.tail and self.out:
            self.line(0, root.tail[0].blank)
        self._comments(root.tail, 0)
        return "".join(self.out) + ("\n" if self.out else "")

    def _apart(self, before: Node | None, node: Node) -> None:
        if before is not None:
            written = node.lead[0].blank if node.lead else node.blank
            self.line(0, written or not (_lonely(before) and _lonely(node)))

    def _comments(self, comments: list[Comment], column: int) -> None:
        """Comments, the first of them here."""
        for place, comment in enumerate(comments):
            if place:
                self.line(_column(comment, column), comment.blank)
            self.write(comment.text)

    def write(self, text: str) -> None:
        self.out.append(text)
        newline = text.rfind("\n")
        self.column = self.column + len(text) if newline < 0 else len(text) - newline - 1

    def line(self, column: int, blank: bool = False) -> None:
        self.column = min(column, INDENT)
        self.out.append(("\n\n" if blank else "\n") + " " * self.column)

    def node(self, node: Node) -> None:
        """A form with the comment behind it."""
        self.todo.append((self._form, node, 0))
        while self.todo:
            task = self.todo.pop()
            task[0](*task[1:])

    def _form(self, node: Node, closers: int) -> None:
        """`closers`: brackets that follow at once."""
        if node.trail:
            self.todo.append((self.write, f"  {node.trail}"))
        fits = node.flat is not None and self.column + len(node.flat) + closers <= WIDTH
        if node.items is None or fits:
            self.write(node.flat if node.flat is not None else node.prefix + node.text)
            return
        self.write(node.prefix + node.text)
        self._list(node, node.items, closers)

    def _list(self, node: Node, items: list[Node], closers: int) -> None:
        inner = self.column
        gaps = [Gap(LINE, inner), *plan(node, inner)]
        content = gaps[len(items) - 1].column if items else inner
        todo: list[tuple[Any, ...]] = []
        for place, item in enumerate(items):
            after = closers + 1 if place == len(items) - 1 else 0
            reach = closers + 1 if place + gaps[place].parts >= len(items) else 0
            before = items[place - 1] if place else None
            todo += [(self._gap, before, item, gaps[place], reach), (self._form, item, after)]
        todo.append((self._close, node, content))
        self.todo.extend(reversed(todo))

    def _gap(self, before: Node | None, item: Node, gap: Gap, closers: int) -> None:
        if before is None:
            self._comments(item.lead, gap.column)
            if item.lead:
                self.line(gap.column, item.blank)
            return
        if not (item.lead or before.trail) and self._stays(item, gap, closers):
            self.write(" " * (1 + item.before))
            return
        if item.lead:
            self.line(_column(item.lead[0], gap.column), item.lead[0].blank)
            self._comments(item.lead, gap.column)
        self.line(gap.column, item.blank)

    def _stays(self, item: Node, gap: Gap, closers: int) -> bool:
        """Whether a part goes on the line of the one before it."""
        if gap.kind == LINE or (gap.kind == FILL and (item.blank or gap.width is None)):
            return False
        room = WIDTH - self.column - 1 - item.before - closers
        return gap.kind != FILL or (gap.width or 0) <= room

    def _close(self, node: Node, column: int) -> None:
        items = node.items or []
        if node.tail:
            if items:
                self.line(_column(node.tail[0], column), node.tail[0].blank)
            self._comments(node.tail, column)
        if node.tail or (items and items[-1].trail):
            self.line(column)
        self.write(")")


def _column(comment: Comment, column: int) -> int:
    """Where a comment's line begins: with three semicolons at the margin."""
    return 0 if comment.text.startswith(";;;") else column


def _lonely(node: Node) -> bool:
    """Whether a top-level form may stand beside others without an empty line."""
    style = node.style
    return node.flat is not None or (isinstance(style, Style) and style.kind in BESIDE)
