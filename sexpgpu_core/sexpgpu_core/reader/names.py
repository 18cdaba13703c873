"""Tokens to symbols and characters; who owns a symbol is the module's business (`Names`)."""

from __future__ import annotations

from typing import Protocol

from ..diagnostics import nearest, problem
from ..evaluator.values import Character, Symbol, character, keyword


class Names(Protocol):
    """Where a reader finds symbols: a module."""

    def intern(self, name: str) -> Symbol:
        """The symbol of an upper-case name, made if it is not there."""

    def qualified(self, prefix: str, name: str, private: bool) -> Symbol:
        """`prefix:name` or, private, `prefix::name`; a Problem when it may not be named."""


class FeatureNames:
    """Names in a feature expression: keywords, unless they say whose they are."""

    def __init__(self, outside: Names) -> None:
        self.outside = outside

    def intern(self, name: str) -> Symbol:
        """The keyword of a name."""
        return keyword(name)

    def qualified(self, prefix: str, name: str, private: bool) -> Symbol:
        """`prefix:name`, as elsewhere."""
        return self.outside.qualified(prefix, name, private)


CHARACTER_NAMES = {
    "SPACE": " ",
    "NEWLINE": "\n",
    "TAB": "\t",
    "PAGE": "\f",
    "RETURN": "\r",
    "LINEFEED": "\n",
    "BACKSPACE": "\b",
    "RUBOUT": "\x7f",
    "DELETE": "\x7f",
    "ESCAPE": "\x1b",
    "ESC": "\x1b",
    "NUL": "\0",
    "NULL": "\0",
}


def parse_character(text: str) -> Character:
    """The character named after `#\\`."""
    if len(text) == 1:
        return character(text)
    found = CHARACTER_NAMES.get(text.upper())
    if found is not None:
        return character(found)
    if text[0] in "uU" and len(text) in (5, 7, 9):
        try:
            return character(chr(int(text[1:].lstrip("+"), 16)))
        except (ValueError, OverflowError):
            pass
    near = nearest(text, CHARACTER_NAMES)
    hint = f"did you mean #\\{near.capitalize()}?" if near else "as #\\a, #\\Space or #\\Newline"
    raise problem("E-READ-SYNTAX", f"no character is named {text}", hint=hint)


def unescape(text: str) -> list[str]:
    """Parts of a token between unescaped colons, upcased where not escaped."""
    parts, part, inside, at = [], "", False, 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
            if at == len(text):
                raise problem("E-READ-SYNTAX", "no character after \\")
            part += text[at : at + 1]
        elif char == "|":
            inside = not inside
        elif char == ":" and not inside:
            parts.append(part)
            part = ""
        else:
            part += char if inside else char.upper()
        at += 1
    if inside:
        raise problem("E-READ-SYNTAX", f"{text} is not closed by another |")
    return [*parts, part]


def resolve(parts: list[str], text: str, names: Names) -> Symbol:
    """The symbol of the parts of a token that is no number."""
    if len(parts) == 1:
        return names.intern(parts[0])
    if text[0] in "{[":
        hint = "a property list is '(:key value), a table (make-hash-table), a vector #(...)"
        raise problem("E-READ-SYNTAX", f"{text[0]} opens nothing here", hint=hint)
    if len(parts) == 2 and parts[0] == "":
        return keyword(parts[1])
    if len(parts) == 2 and parts[1]:
        return names.qualified(parts[0], parts[1], False)
    if len(parts) == 3 and parts[0] and parts[1] == "" and parts[2]:
        return names.qualified(parts[0], parts[2], True)
    hint = "a keyword begins with its colon, :name; parameters stand in a list, (lambda (x) ...)"
    raise problem("E-READ-SYNTAX", f"{text} has a colon that reads as nothing", hint=hint)
