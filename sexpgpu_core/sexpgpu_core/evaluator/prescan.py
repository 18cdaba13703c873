"""What a text will define, seen before it is read: so that it may take a tensor builtin's name."""

from __future__ import annotations

import re

from ..records import NamedTuple

DEFINITION = re.compile(
    r"^\((defun|defmacro|defgeneric|defmethod|defclass|defmodel|defstruct|defparameter|defvar|"
    r"defconstant|defschedule|"
    r"defoptimizer|defknob|deftype|define-condition|define-modify-macro|defsetf)"
    r"\s+\(?\s*([^\s()\"'`,;|]+)",
    re.MULTILINE | re.IGNORECASE,
)
READER = re.compile(r":(?:reader|accessor)\s+([^\s()\"'`,;|]+)", re.IGNORECASE)
CLASS = re.compile(r"^\((?:defclass|define-condition)\s", re.MULTILINE | re.IGNORECASE)
RUN = re.compile(r"^\(defrun[\s)]", re.MULTILINE | re.IGNORECASE)


class Definition(NamedTuple):
    """A name defined at top level, upper case, and where it stands."""

    name: str
    start: int
    end: int


def definitions(text: str) -> list[Definition]:
    """Top-level definitions of a text, by the look of its lines."""
    found = []
    for match in DEFINITION.finditer(text):
        if match[2].lower() != "setf":
            found.append(Definition(match[2].upper(), match.start(2), match.end(2)))
    return found + _readers(text)


def _readers(text: str) -> list[Definition]:
    """The functions that slots of classes bring along."""
    if CLASS.search(text) is None:
        return []
    return [Definition(m[1].upper(), m.start(1), m.end(1)) for m in READER.finditer(text)]


def is_run_file(text: str) -> bool:
    """Whether a text holds a defrun."""
    return RUN.search(text) is not None
