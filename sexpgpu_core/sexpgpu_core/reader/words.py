"""What a text says without its comments and its layout."""

from __future__ import annotations

from .tokens import COMMENT, tokens


def words(text: str) -> str:
    """The tokens of a text, a blank between two: equal for texts that differ in comments, line
    breaks and blanks alone."""
    found = ((text[token.start : token.end], token.kind) for token in tokens(text))
    return " ".join(word for word, kind in found if kind != COMMENT and not word.startswith("#|"))
