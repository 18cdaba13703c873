"""A misspelt keyword of any form is told where it stands, with the word that was meant."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from form_keywords import OPTIONS, SLIPS, VALUES

from sexpgpu_core.diagnostics import Diagnostic
from sexpgpu_core.diagnostics.example import Example

sys.path.append(str(Path(__file__).parents[1] / "e2e"))
from code_cases import found, whole


def cases(table: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    return [(forms, word) for forms, words in table for word in words.split()]


def misspelt(word: str) -> str:
    """Two letters that are not alike change places, as fast fingers do; a short one is doubled."""
    for at in range(len(word) - 2, 0, -1):
        if word[at] != word[at + 1]:
            return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word + word[-1]


def told(forms: str, word: str, folder: Path) -> tuple[str, list[Diagnostic], int]:
    """The text with the first :word misspelt, what is said of it, and where the word stands."""
    again = re.sub(rf":{word}(?![\w-])", f":{misspelt(word)}", forms, count=1)
    assert again != forms
    text = whole(Example("", "file", again, again, {}), again + "\n")
    return text, found(text, folder), text.index(f":{misspelt(word)}")


def places(d: Diagnostic) -> list[int]:
    """Where a diagnostic stands: its own place, and those that its edit changes."""
    edits = [change.span.start for change in d.edit.changes] if d.edit is not None else []
    return edits + ([d.span.start] if d.span is not None else [])


def named(d: Diagnostic, word: str) -> bool:
    """Whether a diagnostic says the word that was meant."""
    new = [change.new for change in d.edit.changes] if d.edit is not None else []
    return f":{word}" in new or bool(re.search(rf":?\b{word}(?![\w-])", d.hint or ""))


@pytest.mark.parametrize(
    ("forms", "word"), cases(OPTIONS), ids=[f"{w}-{i}" for i, (_, w) in enumerate(cases(OPTIONS))]
)
def test_a_misspelt_option_is_told_at_its_place(forms: str, word: str, tmp_path: Path) -> None:
    _, said, at = told(forms, word, tmp_path)
    mine = [d for d in said if at in places(d)]
    assert mine, [(d.code, d.message, str(d.span)) for d in said]
    assert any(d.is_error and named(d, word) for d in mine), [(d.code, d.hint) for d in mine]


@pytest.mark.parametrize(
    ("forms", "word"), cases(VALUES), ids=[f"{w}-{i}" for i, (_, w) in enumerate(cases(VALUES))]
)
def test_a_misspelt_value_is_told_in_its_form(forms: str, word: str, tmp_path: Path) -> None:
    _, said, at = told(forms, word, tmp_path)
    around = [d for d in said if d.span is not None and d.span.start <= at < d.span.end]
    assert any(d.is_error and named(d, word) for d in around), [
        (d.code, d.message, str(d.span), d.hint) for d in said
    ]


@pytest.mark.parametrize(
    ("code", "forms", "word"), SLIPS, ids=[f"{c}-{i}" for i, (c, _, _) in enumerate(SLIPS)]
)
def test_nothing_that_is_written_does_nothing_in_silence(
    code: str, forms: str, word: str, tmp_path: Path
) -> None:
    said = found(whole(Example("", "file", forms, forms, {}), forms + "\n"), tmp_path)
    mine = [d for d in said if d.code == code]
    assert mine, [(d.code, d.message) for d in said]
    assert mine[0].span is not None
    assert any(word in f"{d.message} {d.hint}" for d in mine), [(d.message, d.hint) for d in mine]
