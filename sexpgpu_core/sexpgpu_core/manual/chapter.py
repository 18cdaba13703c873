"""The entries of a chapter, from `chapters/NAME.lisp`.

An entry begins with `;;;; name [-> page] [(parameter...)]`; `;;; ` begins what a form is; each
example ends in ` ; VALUE`, several values as `1; 2`, a code where it fails. Examples of the run
file are top-level forms and have no value.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from ..records import NamedTuple


class Chapter(NamedTuple):
    """`kind` says what its words are; `page` is the topic that lists them."""

    name: str
    title: str
    kind: str
    page: str


class Entry(NamedTuple):
    """`usage` and `doc` are empty where a docstring has them. `examples`: form and value each."""

    name: str
    usage: str
    doc: str
    examples: tuple[tuple[str, str], ...]
    page: str


CHAPTERS = (
    Chapter("special-forms", "Special forms", "special form", "special-forms"),
    Chapter("definitions", "Definitions", "definition", "special-forms"),
    Chapter("classes", "Classes, generic functions, methods", "definition", "special-forms"),
    Chapter("conditionals", "Conditionals", "macro", "prelude"),
    Chapter("iteration", "Iteration", "macro", "prelude"),
    Chapter("values", "Values and binding", "macro", "prelude"),
    Chapter("places", "Places", "macro", "prelude"),
    Chapter("handling", "Conditions", "macro", "prelude"),
    Chapter("output", "Text", "macro", "prelude"),
    Chapter("macro-writing", "For writing macros", "macro", "prelude"),
    Chapter("threading", "Threading", "macro", "prelude"),
    Chapter("numbers", "Numbers", "function", "builtins"),
    Chapter("conses", "Conses and lists", "function", "builtins"),
    Chapter("compositions", "Compositions of car and cdr", "function", "builtins"),
    Chapter("sequences", "Sequences", "function", "builtins"),
    Chapter("strings", "Strings", "function", "builtins"),
    Chapter("characters", "Characters", "function", "builtins"),
    Chapter("arrays", "Arrays", "function", "builtins"),
    Chapter("hash-tables", "Hash tables", "function", "builtins"),
    Chapter("symbols", "Symbols", "function", "builtins"),
    Chapter("calling", "Functions, equality and several values", "function", "builtins"),
    Chapter("types", "Types", "function", "builtins"),
    Chapter("structures", "Structures", "function", "builtins"),
    Chapter("objects", "Objects", "function", "builtins"),
    Chapter("conditions", "Conditions", "function", "builtins"),
    Chapter("printing", "Printing", "function", "builtins"),
    Chapter("reading", "Reading", "function", "builtins"),
    Chapter("evaluation", "Evaluation and macros", "function", "builtins"),
    Chapter("variables", "Variables and constants", "variable", "builtins"),
    Chapter("run-file", "The run file", "form of the run file", "run-file"),
)
"""In the order of the pages."""

HEAD = re.compile(r"(\S+)(?: -> (\S+))?(?: (\(.*\)))?")


def entries(chapter: Chapter) -> dict[str, Entry]:
    """The entries of a chapter by name, in the page's order."""
    path = Path(__file__).parent / "chapters" / f"{chapter.name}.lisp"
    return read_entries(path, chapter.page, chapter.name != "run-file")


@cache
def read_entries(path: Path, page: str, valued: bool) -> dict[str, Entry]:
    """The entries of a file by name. `valued`: a value stands behind each example."""
    _, *found = ("\n" + path.read_text(encoding="utf-8")).split("\n;;;; ")
    return {e.name: e for e in (_entry(text, page, valued) for text in found)}


def _entry(text: str, page: str, valued: bool) -> Entry:
    head, *lines = text.splitlines()
    found = HEAD.fullmatch(head)
    assert found is not None, head
    name, own, parameters = found.groups()
    doc = " ".join(line[4:] for line in lines if line.startswith(";;; "))
    rest = [line for line in lines if not line.startswith(";;; ")]
    usage = f"({name} {parameters[1:]}".replace(" )", ")") if parameters else ""
    examples = _valued(rest) if valued else (("\n".join(rest).strip(), ""),)
    return Entry(name, usage, doc, examples, own or page)


def _valued(lines: list[str]) -> tuple[tuple[str, str], ...]:
    """Forms with the values behind them; a form may take several lines."""
    found: list[tuple[str, str]] = []
    form: list[str] = []
    for line in lines:
        text, mark, value = line.rpartition(" ; ")
        form.append(text if mark else line)
        if mark:
            found.append(("\n".join(form), value))
            form = []
    assert not form, form
    return tuple(found)
