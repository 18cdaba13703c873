"""The manual: every word of the language is in it, and its examples give the values shown."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from sexpgpu_core import api
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.evaluator.definitions import BUILTINS, NATIVE_MACROS, TENSOR_NAMES
from sexpgpu_core.evaluator.evaluator import Evaluator
from sexpgpu_core.evaluator.expansion import SPECIAL_FORMS
from sexpgpu_core.evaluator.printer import print_text
from sexpgpu_core.evaluator.values import MultipleValues
from sexpgpu_core.manual import CHAPTERS, entries, find, names

ORACLE = Path(__file__).parents[2] / "fuzz" / "oracle.lisp"
SHOWN_ELSEWHERE = {
    "load-params",
    "file-tensor",
    "stage-stat",
    "with-weights",
    "with-call",
    "loader-batch",
}
"""Words that want files, data or averages, with examples in tests/e2e; and one not there."""


class Case(NamedTuple):
    chapter: str
    name: str
    form: str
    value: str


CASES = [
    Case(chapter.name, name, form, value)
    for chapter in CHAPTERS
    for name, entry in entries(chapter).items()
    for form, value in entry.examples
    if value
]


def test_every_function_macro_and_special_form_is_in_a_chapter() -> None:
    listed = {name for chapter in CHAPTERS for name in entries(chapter)}
    tables = (BUILTINS, NATIVE_MACROS, SPECIAL_FORMS)
    there = {n.lower() for table in tables for n in table if n[0] not in "%("}
    assert there - {n.lower() for n in TENSOR_NAMES} - SHOWN_ELSEWHERE - listed == set()


def test_a_word_is_in_one_chapter_and_has_a_call_a_sentence_and_an_example() -> None:
    every = [name for chapter in CHAPTERS for name in entries(chapter)]
    assert len(every) == len(set(every))
    for name in every:
        word = find(name)
        assert word is not None
        assert word.usage.startswith(name if word.kind == "variable" else f"({name}")
        assert word.doc.endswith((".", "="))
        assert word.examples
        assert any(name in form or name in ("quote", "function") for form, _ in word.examples)


def test_what_is_listed_is_found() -> None:
    pytest.importorskip("sexpgpu_nn", reason="words of nn are listed too")
    registry = api.plugins()
    for name in names(registry):
        word = find(name, registry)
        assert word is not None
        assert word.doc
        assert word.page in registry.names("docs")
    assert find("no-such-word", registry) is None
    assert find("nn:no-such-word", registry) is None


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_an_example_gives_the_value_shown(case: Case) -> None:
    assert given(case.form) == case.value


def given(form: str) -> str:
    """The printed values of a form, or the code that it ends in."""
    try:
        found = Evaluator().evaluate(form)
    except Problem as error:
        return error.diagnostic.code
    values = found if isinstance(found, MultipleValues) else (found,)
    return "; ".join(print_text(value) for value in values)


OURS = {"threading", "macro-writing", "classes", "objects"}
"""Chapters that are not the standard's, and those that define one class in several ways."""
ELSEWHERE = {
    "let-values": "not of the standard",
    "with-standard-io-syntax": "there are no packages",
    "load-time-value": "the oracle interprets",
    "pairlis": "the standard leaves the order open",
    "hash-table-rehash-size": "the standard leaves it open",
    "hash-table-rehash-threshold": "the standard leaves it open",
    "function-lambda-expression": "the standard leaves it open",
    **dict.fromkeys(
        ("ffloor", "fceiling", "ftruncate", "fround", "exp", "log", "sqrt", "float", "coerce"),
        "every float is a double",
    ),
}
"""Words whose value differs, with the reason."""


@pytest.mark.skipif(shutil.which("sbcl") is None, reason="sbcl is not installed")
def test_examples_of_the_standard_have_the_values_that_sbcl_gives(tmp_path: Path) -> None:
    same = [
        case for case in CASES
        if case.chapter not in OURS and case.name not in ELSEWHERE
        and not case.value.startswith("E-") and "parse-integer \"x\"" not in case.form
    ]  # fmt: skip
    path = tmp_path / "forms.lisp"
    path.write_text("\n".join(" ".join(case.form.split("\n")) for case in same), encoding="utf-8")
    command = ["sbcl", "--noinform", "--script", str(ORACLE), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    lines = [line.replace("\\\\", "\\").replace(" ; ", "; ") for line in done.stdout.splitlines()]
    assert len(lines) == len(same), done.stderr
    wrong = [(c.form, c.value, line) for c, line in zip(same, lines) if c.value != line]
    assert not wrong
