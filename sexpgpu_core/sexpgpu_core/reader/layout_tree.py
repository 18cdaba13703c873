"""Text to a tree of forms as they are written: comments and blank lines stay with what they
belong to. Only white space is lost.
"""

from __future__ import annotations

import re

from ..records import NamedTuple
from .tokens import BACKQUOTE, CLOSE, COMMA, COMMENT, OPEN, QUOTE, SHARP, Token, tokens

VECTOR = re.compile(r"#\d*[aA]?")
LABELS = re.compile(r"#\d+=")
PREFIXES = frozenset((QUOTE, BACKQUOTE, COMMA))
GUARDS = ("#+", "#-")


class Comment(NamedTuple):
    """A comment on lines of its own; `blank`: an empty line stands before it."""

    text: str
    blank: bool


class Node:
    """An atom (`items` is None) or a list, whose `text` is its opening bracket.

    `lead`: comments before it; `trail`: those behind it on its line; `tail`: those before its
    closing bracket. What a layout finds out: `flat`, its text on one line, None if it breaks;
    `narrow`, columns that it needs at least; `before`, blanks but one before it, to align it.
    """

    __slots__ = (
        "before", "blank", "flat", "items", "lead", "narrow", "prefix", "style", "tail", "text",
        "trail",
    )  # fmt: skip

    def __init__(self, text: str, items: list[Node] | None) -> None:
        self.text = text
        self.items = items
        self.prefix = ""
        self.lead: list[Comment] = []
        self.tail: list[Comment] = []
        self.trail = ""
        self.blank = False
        self.style: object = None
        self.flat: str | None = None
        self.narrow = 0
        self.before = 0

    @property
    def operator(self) -> str:
        """Lower-case text of the atom at the head of a list; "" if there is none."""
        head = self.items[0] if self.items else None
        plain = head is not None and head.items is None and not head.prefix
        return head.text.lower() if plain and head is not None else ""


def tree(text: str) -> Node:
    """The forms of a text, as items of a list without brackets.

    Where the text does not read, so some tree of what stands there.
    """
    return _Parser(text).run()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.stream = list(tokens(text))
        self.stack = [Node("", [])]
        self.last: Node | None = None  # what ended on this line
        self.lead: list[Comment] = []
        self.prefix = ""
        self.blank = False  # before the prefix or, without one, this token
        self.at = 0

    def run(self) -> Node:
        end = 0
        while self.at < len(self.stream):
            token = self.stream[self.at]
            newlines = self.text.count("\n", end, token.start)
            if newlines:
                self.last = None
            if not self.prefix:
                self.blank = newlines > 1
            self._token(token, newlines)
            end = self.stream[self.at].end
            self.at += 1
        self.stack[0].tail = self.lead
        return self.stack[0]

    def _token(self, token: Token, newlines: int) -> None:
        word = self.text[token.start : token.end]
        if token.kind == COMMENT or word.startswith("#|"):
            self._comment(token, word.rstrip(), newlines)
        elif token.kind == CLOSE and len(self.stack) > 1:
            closed = self.stack.pop()
            closed.tail, self.lead = self.lead, []
            self.last = closed
        elif token.kind == OPEN or self._opens(token, word):
            self.stack.append(self._add(word if word == "(" else word + "(", []))
            self.last = None
        elif token.kind in PREFIXES or word == "#'" or LABELS.fullmatch(word):
            self.prefix += word
        elif word in GUARDS:
            self.prefix += word + self._feature() + " "
        else:
            self.last = self._add(word, None)

    def _opens(self, token: Token, word: str) -> bool:
        """Whether the bracket of a vector or array follows, which is then taken too."""
        after = self._next()
        joined = after is not None and after.kind == OPEN and after.start == token.end
        if token.kind != SHARP or not joined or not VECTOR.fullmatch(word):
            return False
        self.at += 1
        return True

    def _next(self) -> Token | None:
        return self.stream[self.at + 1] if self.at + 1 < len(self.stream) else None

    def _add(self, text: str, items: list[Node] | None) -> Node:
        node = Node(text, items)
        if self.prefix.endswith(",") and text[0] in "@.":
            self.prefix += " "  # `, @a` is not `,@a`
        node.prefix, node.lead, node.blank = self.prefix, self.lead, self.blank
        self.prefix, self.lead = "", []
        parent = self.stack[-1].items
        assert parent is not None
        parent.append(node)
        return node

    def _comment(self, token: Token, word: str, newlines: int) -> None:
        if not self.prefix and self._inline(token, word):
            self.prefix = word + " "
        elif self.last is not None and not self.prefix and "\n" not in word:
            self.last.trail = f"{self.last.trail} {word}".lstrip()
        else:
            self.lead.append(Comment(word, newlines > 1))
            self.last = None

    def _inline(self, token: Token, word: str) -> bool:
        """Whether a form stands behind a comment, on its line."""
        after = self._next()
        if after is None or after.kind in (CLOSE, COMMENT) or "\n" in word or word[0] == ";":
            return False
        if "\n" in self.text[token.end : after.start]:
            return False
        return not self.text.startswith("#|", after.start)

    def _feature(self) -> str:
        """The feature expression behind a `#+`, on one line."""
        depth, words = 0, ""
        while self.at + 1 < len(self.stream):
            self.at += 1
            token = self.stream[self.at]
            word = self.text[token.start : token.end]
            if token.kind == COMMENT or word.startswith("#|"):
                self.lead.append(Comment(word.rstrip(), False))
                continue
            depth += (token.kind == OPEN) - (token.kind == CLOSE)
            words += ("" if not words or words[-1] in "('" or word == ")" else " ") + word
            if depth == 0 and token.kind not in PREFIXES:
                break
        return words
