"""What people write who come from Scheme, Clojure, Emacs Lisp or Python gets its own help."""

from __future__ import annotations

from pathlib import Path

import pytest

from sexpgpu_core.diagnostics import Diagnostic, Edit, Problems
from sexpgpu_core.evaluator.evaluator import Evaluator
from sexpgpu_core.evaluator.framework_habits import FRAMEWORKS
from sexpgpu_core.evaluator.habits import CLOJURE, EMACS, HABITS, PYTHON, SCHEME
from sexpgpu_core.evaluator.mistakes import function_names
from sexpgpu_core.spans import Source
from sexpgpu_core.staging import declare

LINES = Path(__file__).with_name("habits.tsv").read_text(encoding="utf-8").splitlines()
BUILTINS = declare.DEFINED
"""Tensor builtins too: imported for what they define."""

ROWS = [tuple(line.split("\t")) for line in LINES if not line.startswith("#")]


def said(text: str) -> list[Diagnostic]:
    evaluator = Evaluator()
    try:
        evaluator.load(Source("f.lisp", text))
    except Problems as problems:
        return [*problems.diagnostics, *evaluator.diagnostics]
    return evaluator.diagnostics


def edited(text: str, edit: Edit | None) -> str:
    """The text after an edit."""
    if edit is None:
        return ""
    for change in sorted(edit.changes, key=lambda c: -c.span.start):
        text = text[: change.span.start] + change.new + text[change.span.end :]
    return text


@pytest.mark.parametrize(("text", "code", "help", "fixed"), ROWS, ids=[row[0] for row in ROWS])
def test_a_habit_gets_its_help_and_its_edit(text: str, code: str, help: str, fixed: str) -> None:
    found = [(d.code, d.hint, edited(text, d.edit)) for d in said(text)]
    assert (code, help, fixed) in found


@pytest.mark.parametrize("row", [row for row in ROWS if row[3]], ids=lambda row: row[3])
def test_what_an_edit_makes_no_longer_says_so(row: tuple[str, str, str, str]) -> None:
    _, code, help, fixed = row
    assert (code, help) not in [(d.code, d.hint) for d in said(fixed)]


def test_an_escape_for_a_new_line_is_told_of_format() -> None:
    assert any("~%" in str(d.hint) for d in said('(print "a\\n")'))


def test_a_variable_with_the_name_of_a_function_is_a_test() -> None:
    assert said("(defun f (list) (cond (list 1) (t 2)))") == []


def test_every_language_has_its_words_and_no_word_is_one_of_ours() -> None:
    assert min(map(len, (SCHEME, CLOJURE, EMACS, PYTHON, FRAMEWORKS))) > 15
    assert not set(HABITS) & {name.upper() for name in function_names(Evaluator())}


def test_a_single_word_of_help_is_a_name_here() -> None:
    known = set(function_names(Evaluator())) | {"nil", "t"}
    words = [word for word in HABITS.values() if not set(" ,:") & set(word)]
    assert [word for word in words if word not in known] == []


def test_a_variable_of_a_form_that_is_wrong_is_not_called_unused() -> None:
    found = said("(defun g (h) (h 1))")
    assert [d.code for d in found] == ["E-NAME-FUNCTION"]


def test_an_atom_at_top_level_has_its_place() -> None:
    found = said("(print 1)\n\n  unknown")[0]
    assert (found.code, found.span and found.span.line, found.span and found.span.column) == (
        "E-NAME-UNBOUND", 3, 3,
    )  # fmt: skip
