"""Symbols and characters to text, under *print-case*. What is printed with escapes reads back."""

from __future__ import annotations

import re

from .values import Symbol

CHARACTER_NAMES = {
    " ": "Space",
    "\n": "Newline",
    "\t": "Tab",
    "\f": "Page",
    "\r": "Return",
    "\b": "Backspace",
    "\x7f": "Rubout",
    "\0": "Nul",
    "\x1b": "Escape",
}
_PLAIN = re.compile(r"[^\sa-z()\"'`,;|\\:#]+#*[^\sa-z()\"'`,;|\\:]*")
_POTENTIAL_NUMBER = re.compile(r"(?=.*\d)[-+.^_\d](?:[-+.^_/\d]|[A-Z](?![A-Z]))*(?<![-+])")
"""CLHS 2.3.1.1: what another reader might take for a number."""


def symbol_text(symbol: Symbol, escape: bool, case: str, gensym: bool = True) -> str:
    """`case` is UPCASE, DOWNCASE or CAPITALIZE."""
    name = symbol.name
    if not escape:
        return _cased(name, case)
    prefix = ":" if symbol.keyword else "#:" if symbol.home is None and gensym else ""
    return prefix + (_cased(name, case) if reads_bare(name) else _barred(name))


def reads_bare(name: str) -> bool:
    """Whether a name reads as itself without bars (it has no lower-case letter, for one)."""
    if not name or not _PLAIN.fullmatch(name) or not name.strip("."):
        return False
    if name != name.upper() and any(c.upper() != c and c.upper().lower() == c for c in name):
        return False
    return not _POTENTIAL_NUMBER.fullmatch(name)


def _barred(name: str) -> str:
    return "|" + name.replace("\\", "\\\\").replace("|", "\\|") + "|"


def _cased(name: str, case: str) -> str:
    if case == "DOWNCASE":
        return name.lower()
    if case == "CAPITALIZE":
        return capitalize(name, lower_only=True)
    return name


def capitalize(text: str, lower_only: bool = False) -> str:
    """Each word's first letter up, the rest down; a word is a run of letters and digits."""
    out, inside = [], False
    for c in text:
        if not c.isalnum():
            out.append(c)
        elif inside:
            out.append(c.lower())
        else:
            out.append(c if lower_only else c.upper())
        inside = c.isalnum()
    return "".join(out)


def character_text(char: str) -> str:
    """`#\\a`, `#\\Space`."""
    name = None if char == " " else CHARACTER_NAMES.get(char)  # the space is graphic
    return "#\\" + (name or _visible(char))


def _visible(char: str) -> str:
    return char if char.isprintable() else f"U{ord(char):04X}"


def string_text(text: str) -> str:
    """In quotes, with a backslash before quotes and backslashes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
