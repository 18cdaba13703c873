"""Knobs and variants as their page says: what is right is read, what is wrong told at its words."""

from __future__ import annotations

from pathlib import Path

import pytest
from knob_cases import FILE, KNOB, RIGHT, WRONG, Wrong
from run_file import HERE

from sexpgpu_core import api
from sexpgpu_core.diagnostics import Diagnostic
from sexpgpu_core.spans import Source


def errors(forms: str, folder: Path = HERE) -> list[Diagnostic]:
    text = FILE.replace("@KNOBS", forms)
    found = api.check(Source(str(folder / "changed.lisp"), text)).diagnostics
    return [d for d in found if d.is_error]


@pytest.mark.parametrize("forms", RIGHT)
def test_what_a_knob_and_a_variant_may_be(forms: str) -> None:
    assert errors(forms) == []


@pytest.mark.parametrize("wrong", WRONG, ids=lambda w: w.forms)
def test_what_is_wrong_with_a_knob_is_told_at_its_words(wrong: Wrong) -> None:
    forms = wrong.forms if wrong.forms.startswith("(defknob") else f"{KNOB}\n{wrong.forms}"
    told, *more = errors(forms)
    assert told.code == wrong.code
    assert told.span is not None
    assert told.span.text == wrong.marked or told.span.text.startswith(wrong.marked + " ")
    assert wrong.told in f"{told.message} {told.hint}"
    assert {d.code for d in more} <= {"E-NAME-UNBOUND"}  # `depth`, where it was not made


def test_a_wrong_knob_leaves_other_files_alone() -> None:
    assert errors("(defknob nil 4) (defknob t 3)")
    assert errors(KNOB) == []


@pytest.mark.parametrize(
    "knob",
    ["(defknob {} 4)", "(progn (defknob {} 4))", "(defmacro k (n) `(defknob ,n 4)) (k {})"],
)
@pytest.mark.parametrize("name", ["labels", "length", "sum"])
def test_a_knob_named_as_a_function_of_core_is_of_its_file_alone(name: str, knob: str) -> None:
    text = "(defknob depth {0}) (defparameter kept (list {0} (length '(1 2))))".replace("{0}", name)
    assert errors(f"{knob.format(name)} {text}") == []
    (told, *_) = errors(text)
    assert (told.code, told.span and told.span.text) == ("E-NAME-UNBOUND", name)


def test_two_files_at_once_have_their_own_values_of_such_a_knob() -> None:
    texts = (FILE.replace("@KNOBS", f"(defknob labels {n}) (defknob depth labels)") for n in (5, 7))
    loaded = [api.load(Source("x.lisp", text)).evaluator for text in texts]
    assert [evaluator.evaluate("(+ 1 labels)") for evaluator in loaded * 2] == [6, 8, 6, 8]
    (told,) = errors(f"(defknob labels 3) {KNOB} (setq labels 4)")
    assert (told.code, told.span and told.span.text) == ("E-REDEFINE", "(defknob labels 3)")


MODULE = "(provide f)\n(defknob wide 32 :type (integer 1))\n(defun f () wide)\n"


def test_a_variant_names_knobs_of_its_file_and_others_are_told_how_to_be_chosen(
    tmp_path: Path,
) -> None:
    (tmp_path / "m.lisp").write_text(MODULE, encoding="utf-8")
    head = '(require "./m.lisp" :as m)\n(defknob depth (m:f))\n'
    assert errors(head, tmp_path) == []
    (told,) = errors(head + "(defvariant v :wide 3)", tmp_path)
    assert (told.code, told.span and told.span.text) == ("E-KNOB-UNKNOWN", ":wide")
    assert "choose it by -s m:wide=VALUE" in (told.hint or "")
    (told,) = errors(head + "(defknob m:f 3)", tmp_path)
    assert (told.code, told.span and told.span.text) == ("E-REDEFINE", "m:f")
