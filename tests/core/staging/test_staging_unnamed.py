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


CALL = "(setq x (nn:linear x 64))"
LOOP = f"(dotimes (i n) {CALL})"
FOLLOWED = {
    "let": f"(let ((n depth)) {LOOP})",
    "let over let": f"(let* ((m (* 2 depth)) (n (1+ m))) {LOOP})",
    "assigned": f"(let ((n 1)) (setq n depth) {LOOP})",
    "several values": f"(multiple-value-bind (n rest) (floor depth 2) {LOOP})",
    "do": f"(do ((i 0 (1+ i)) (n depth)) ((= i n)) {CALL})",
    "do by its step": f"(do ((i 0 (+ i depth))) ((> i 9)) {CALL})",
    "until": f"(loop for i from 0 until (= i depth) do {CALL})",
    "a list's length": f"(dolist (w (make-list depth :initial-element 64)) {CALL})",
    "length of a list": f"(let ((l (make-list depth))) (dotimes (i (length l)) {CALL}))",
    "elements of a list": f"(dolist (n (list 1 depth)) {LOOP})",
    "map": f"(mapcar (lambda (w) {CALL}) (make-list depth))",
    "a local function": f"(flet ((f (n) {LOOP})) (f depth))",
    "labels": f"(labels ((f (n) {LOOP})) (f (+ 1 depth)))",
}
HELPERS = {
    "argument": (f"(defun f (x n) {LOOP} x)", "(setq x (f x depth))"),
    "by key": (f"(defun f (x &key (n 1)) {LOOP} x)", "(setq x (f x :n depth))"),
    "default": (f"(defun f (x &key (n depth)) {LOOP} x)", "(setq x (f x))"),
    "through two": (
        f"(defun f (x n) {LOOP} x) (defun g (x m) (f x (* 2 m)))",
        "(setq x (g x depth))",
    ),
    "value": ("(defun n () (* 2 depth))", f"(dotimes (i (n)) {CALL})"),
    "variable": ("(defparameter *n* (* 2 depth))", f"(dotimes (i *n*) {CALL})"),
    "called in a loop": (
        "(defun f (x) (nn:linear x 64))",
        "(dotimes (i depth) (setq x (f x)))",
    ),
}
SHADOWED = {
    "let": f"(let ((depth 3)) (dotimes (i depth) {CALL}))",
    "parameter": f"(funcall (lambda (depth) (dotimes (i depth) {CALL})) 3)",
    "loop variable": f"(dotimes (depth 3) {CALL})",
    "let of another": f"(let ((n 3)) {LOOP})",
    "list as long as it is written": f"(dolist (w (list 64 (* 32 depth))) {CALL})",
    "quoted": f"(dolist (w '(depth depth)) {CALL})",
    "unused in do": f"(do ((i 0 (1+ i)) (n depth)) ((= i 3)) {CALL})",
    "start of another variable": f"(loop for i below 3 for n = depth do {CALL})",
    "body": "(dotimes (i 3) (let ((n depth)) (setq x (nn:linear x (* n 32)))))",
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_a_count_is_followed_to_the_knob_that_it_comes_from(name: str) -> None:
    (found,) = told(file_of(FOLLOWED[name]))
    assert "the knob depth decides" in found.message


@pytest.mark.parametrize("name", HELPERS)
def test_a_count_is_followed_through_functions_and_variables(name: str) -> None:
    before, form = HELPERS[name]
    (found,) = told(file_of(form, f"(defknob depth 2)\n{before}\n"))
    assert "the knob depth decides" in found.message
    without = before.replace("depth", "3"), form.replace("depth", "3")
    assert told(file_of(without[1], f"(defknob depth 2)\n{without[0]}\n")) == []


@pytest.mark.parametrize("name", SHADOWED)
def test_what_only_has_the_name_of_a_knob_decides_nothing(name: str) -> None:
    assert told(file_of(SHADOWED[name])) == []


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
