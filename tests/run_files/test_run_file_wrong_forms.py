"""Each wrong form is told by its code, at the word that is wrong; what is right is let through."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import wrong_declarations
import wrong_forms
from wrong_forms import RIGHT

from sexpgpu_core.diagnostics import Diagnostic
from sexpgpu_core.diagnostics.example import Example

sys.path.append(str(Path(__file__).parents[1] / "e2e"))
from code_cases import found, whole

AT = "(defparameter *at* '(5 :end))\n"
TABLES = (wrong_forms.WRONG, wrong_declarations.WRONG)
CASES = [(form, *row) for table in TABLES for form, rows in table.items() for row in rows]


def told(form: str, written: str, folder: Path) -> list[Diagnostic]:
    """What is said of the smallest file with a form in it."""
    forms = form.replace("{}", written)
    text = (AT if "*at*" in forms else "") + forms
    return found(whole(Example("", "file", text, text, {}), text + "\n"), folder)


@pytest.mark.parametrize(
    ("form", "written", "code", "place", "words"),
    CASES,
    ids=[f"{code}-{i}" for i, (_, _, code, _, _) in enumerate(CASES)],
)
def test_a_wrong_form_is_told_at_the_word_that_is_wrong(
    form: str, written: str, code: str, place: str, words: str, tmp_path: Path
) -> None:
    said = told(form, written, tmp_path)
    mine = [d for d in said if d.code == code]
    assert mine, [(d.code, d.message) for d in said]
    first = mine[0]
    assert first.span is not None
    assert first.span.source.name == (tmp_path / "x.lisp").as_posix()
    place = place or written
    if place.endswith("..."):
        assert first.span.text.startswith(place[:-3])
    else:
        assert first.span.text == place
    assert any(words in f"{d.message} {d.hint}" for d in mine), [(d.message, d.hint) for d in mine]


@pytest.mark.parametrize(
    ("form", "written"), [(form, text) for form, texts in RIGHT.items() for text in texts]
)
def test_the_form_as_it_should_be_is_let_through(form: str, written: str, tmp_path: Path) -> None:
    said = told(form, written, tmp_path)
    assert not [(d.code, d.message) for d in said if d.is_error]
