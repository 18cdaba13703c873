"""How a place is shown: paths relative to the working directory when below it, with `/`."""

from __future__ import annotations

import os


def shown_path(name: str) -> str:
    """A source's name as documents and texts show it."""
    if not os.path.isabs(name):
        return name.replace(os.sep, "/")
    below = os.path.relpath(name) if os.path.splitdrive(name)[0] == _drive() else name
    return (name if below.startswith("..") else below).replace(os.sep, "/")


def _drive() -> str:
    return os.path.splitdrive(os.getcwd())[0]


def printable(text: str) -> str:
    """Text without what would move a terminal's cursor or change its colours."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else _escape(c) for c in text)


def _escape(c: str) -> str:
    if c == "\t":
        return "    "
    return c.encode("unicode_escape").decode("ascii")
