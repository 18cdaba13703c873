"""The pages of contracts/ beside the checkout as data: what was settled before it was built."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

CONTRACTS = Path(__file__).parents[3] / "shared" / "design" / "contracts"
missing = pytest.mark.skipif(not CONTRACTS.exists(), reason="contracts/ is not beside the checkout")


def page(name: str) -> str:
    """A page's text; empty where the contracts are not here, so that nothing is held to it."""
    path = CONTRACTS / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


def rows(text: str) -> Iterator[list[str]]:
    """Cells of the tables' rows that begin with code; \\| is a bar inside of a cell."""
    for line in text.splitlines():
        if line.startswith("| `"):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            yield [cell.strip().replace("\\|", "|") for cell in cells]


class Option(NamedTuple):
    """`value`: its word in the synopsis, None of a flag."""

    names: tuple[str, ...]
    value: str | None
    several: bool
    needed: bool


class Synopsis(NamedTuple):
    """One form of a verb: its second words (`list|show`), arguments and options."""

    verb: str
    words: tuple[str, ...]
    arguments: tuple[str, ...]
    options: tuple[Option, ...]


class Row(NamedTuple):
    synopses: tuple[Synopsis, ...]
    json: str
    exits: tuple[int, ...]

    @property
    def verb(self) -> str:
        return self.synopses[0].verb


def verbs() -> list[Row]:
    """contracts/verbs.md, a row a verb."""
    text = page("verbs.md")
    chosen = re.search(r"^SELECT +(\[.*?)  ", text, re.M)
    select = chosen[1] if chosen else ""
    return [_row(cells, select) for cells in rows(text)]


def _row(cells: list[str], select: str) -> Row:
    forms, *_, told, exits = cells
    codes = [code.replace("SELECT", select) for code in re.findall(r"`([^`]+)`", forms)]
    verb = codes[0].split()[0]
    made = tuple(_synopsis(verb, code) for code in codes)
    return Row(made, told.strip("`"), tuple(map(int, re.findall(r"\d+", exits))))


def _synopsis(verb: str, code: str) -> Synopsis:
    words = list(_words(code.removeprefix(verb).strip()))
    second = words.pop(0) if words and re.fullmatch(r"[a-z]+(\|[a-z]+)*", words[0]) else ""
    if verb == "completion":  # its argument is one of three words
        words, second = [second], ""
    arguments, options = _parted(words)
    return Synopsis(verb, tuple(filter(None, second.split("|"))), arguments, options)


def _words(text: str) -> Iterator[str]:
    """Parts at spaces that no bracket holds."""
    at, depth = 0, 0
    for i, c in enumerate(text + " "):
        depth += (c == "[") - (c == "]")
        if c == " " and depth == 0:
            if text[at:i]:
                yield text[at:i]
            at = i + 1


def _parted(words: list[str], needed: bool = True, several: bool = False):  # type: ignore[no-untyped-def]
    """Arguments and options of a synopsis or of what a bracket of it holds."""
    arguments: list[str] = []
    options: list[Option] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word.startswith("["):
            inner, often = word.removesuffix("..."), word.endswith("...")
            more, found = _parted(list(_words(inner[1:-1])), False, often)
            arguments += [f"[{argument}]" for argument in more]
            options += found
        elif word.startswith("-"):
            takes = bool(left) and left[0][0] not in "-["
            value = left.pop(0) if takes else None
            for each in _alternatives(word, value):
                options.append(Option(*each, several, needed))
        else:
            arguments.append(word)
    return tuple(arguments), tuple(options)


def _alternatives(word: str, value: str | None) -> list[tuple[tuple[str, ...], str | None]]:
    """`-s|--set` is one option of two names; `--keep N|--best` are two options."""
    if value is not None and "|--" in value:
        value, other = value.split("|", 1)
        return [((word,), value), ((other,), None)]
    return [(tuple(word.split("|")), value)]
