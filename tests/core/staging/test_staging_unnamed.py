"""Unnamed calls in a loop that a knob counts are told, with names that keep their parameters."""

from __future__ import annotations

import pytest
from staging_case import FIELDS, OPERATIONS, declared, trace_stage, whole

from sexpgpu_core.diagnostics import Diagnostic


def file_of(form: str, knobs: str = "(defknob depth 2)\n") -> str:
    return whole(knobs=knobs, model=f"(defmodel net (x)\n  {form}\n  (nn:linear x 10))\n")


def told(text: str) -> list[Diagnostic]:
    experiment, evaluator = declared(text)
    trace_stage(experiment, evaluator, OPERATIONS, "data", "train", FIELDS, 8)
    return [d for d in evaluator.diagnostics if d.code == "W-SCOPE-UNNAMED"]


NUMBERED = {
    "(dotimes (i depth) (setq x (nn:linear x 64)))": ':name (path "linear" i)',
    "(dotimes (i (* 2 depth)) (setq x (relu (nn:linear x 64))))": ':name (path "linear" i)',
    "(loop for i below depth do (setq x (nn:linear x 64)))": ':name (path "linear" i)',
    "(loop for k from 1 to depth do (setq x (nn:linear x 64)))": ':name (path "linear" k)',
    "(dotimes (i depth) (dotimes (j 2) (setq x (nn:linear x 64))))": ':name (path "linear" i j)',
}
NO_EDIT = (
    "(loop repeat depth do (setq x (nn:linear x 64)))",
    "(dolist (w (make-list depth :initial-element 64)) (setq x (nn:linear x w)))",
    "(do ((i 0 (1+ i))) ((= i depth)) (setq x (nn:linear x 64)))",
    "(dotimes (i depth) (setq x (apply #'nn:linear x '(64))))",
)
QUIET = (
    '(dotimes (i depth) (setq x (nn:linear x 64 :name (path "h" i))))',
    "(dotimes (i 3) (setq x (nn:linear x 64)))",
    "(setq x (nn:linear x (* 32 depth)))",
    "(dotimes (i 2) (setq x (nn:linear x (* 32 depth))))",
    "(dotimes (i depth) (setq x (relu x)))",
    "(progn (dotimes (i depth) (setq x (relu x))) (setq x (nn:linear x 64)))",
)


@pytest.mark.parametrize("form", NUMBERED)
def test_a_call_that_a_knob_counts_is_told_and_its_edit_mends_it(form: str) -> None:
    text = file_of(form)
    (found,) = told(text)
    assert "the knob depth decides" in found.message
    assert found.span is not None
    assert found.span.text == "(nn:linear x 64)"
    assert found.edit is not None
    (change,) = found.edit.changes
    assert change.new == f" {NUMBERED[form]}"
    assert told(text[: change.span.start] + change.new + text[change.span.end :]) == []


@pytest.mark.parametrize("form", NO_EDIT)
def test_without_a_counter_a_name_is_shown_and_no_edit(form: str) -> None:
    (found,) = told(file_of(form))
    assert found.edit is None
    assert found.hint is not None
    assert ':name (path "linear"' in found.hint


@pytest.mark.parametrize("form", QUIET)
def test_what_no_knob_counts_or_has_a_name_is_left_alone(form: str) -> None:
    assert told(file_of(form)) == []


def test_without_a_knob_nothing_is_told() -> None:
    form = "(dotimes (i depth) (setq x (nn:linear x 64)))"
    assert told(file_of(form, "(defparameter depth 2)\n")) == []
