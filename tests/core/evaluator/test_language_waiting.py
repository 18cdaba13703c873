"""Definitions of tried modules wait for their first use, and mean what they always mean."""

from __future__ import annotations

import pytest

from sexpgpu_core.diagnostics import Problems
from sexpgpu_core.evaluator.evaluator import Evaluator, ModuleText
from sexpgpu_core.spans import Source

LIBRARY = """\
(provide even-p times twice-of layer-norm *base*)
(defun even-p (n) (if (= n 0) t (odd-p (- n 1))))
(defun odd-p (n)
  (if (= n 0) nil (even-p (- n 1))))
(defun plain (x) (+ x 1))
(defparameter *base* (plain 3))
(defmacro times (x) `(* *base* ,x))
(defun twice-of (x)
  "Twice of x." (flet ((double (y) (* 2 y))) (double (times x))))
(print :loaded)
(defun layer-norm (x) (list :mine x))
(defun spoilt (x) (there-is-no-such-function x))
"""


def evaluator(*, tried: bool, library: str = LIBRARY) -> Evaluator:
    return Evaluator(modules={"lib/x": ModuleText("x.lisp", library, tried)})


def value(of: Evaluator, form: str) -> str:
    of.load(Source("f.lisp", f'(require "lib/x" :as x)\n(print {form})'))
    return "".join(of.output)


@pytest.mark.parametrize(
    "form",
    [
        "(x:even-p 10)",
        "(list (x:twice-of 2) (x:times 5) x:*base*)",
        "(funcall #'x:twice-of 3)",
        "(mapcar 'x:even-p '(1 2))",
        "(x:layer-norm 1)",
        "(list (fboundp 'x:even-p) (apply #'x:even-p '(3)))",
    ],
)
def test_what_waits_means_what_it_means_at_once(form: str) -> None:
    whole = LIBRARY.replace("(defun spoilt (x) (there-is-no-such-function x))\n", "")
    told = value(evaluator(tried=True), form)
    assert told == value(evaluator(tried=False, library=whole), form)
    assert told.upper().startswith("\n:LOADED")


def test_only_what_is_used_is_analyzed() -> None:
    value(evaluator(tried=True), "(x:even-p 3)")
    with pytest.raises(Problems) as raised:
        value(evaluator(tried=False), "1")
    assert "there-is-no-such-function" in raised.value.diagnostics[0].message


def test_a_definition_that_waits_has_its_span_and_docstring() -> None:
    at = evaluator(tried=True)
    value(at, "1")
    cell = at.cell(at.library.loaded["lib/x"].exports["TWICE-OF"])
    assert cell.function is not None
    assert (cell.function.doc, cell.function.lambda_list) == ("Twice of x.", "(x)")
    span = cell.span
    assert span is not None
    assert (span.source.name, span.line) == ("x.lisp", 8)


def test_a_wrong_call_of_what_waits_is_told_at_the_call() -> None:
    with pytest.raises(Problems) as raised:
        value(evaluator(tried=True), "(x:even-p 1 2)")
    found = raised.value.diagnostics[0]
    assert (found.code, found.span and found.span.source.name) == ("E-CALL-ARGUMENTS", "f.lisp")


ODD = """\
(provide first-of second-of third-of)
(defmacro never ()
  "Not a definition:
(defun second-of (x) (list :wrong x))
" nil)
(defun first-of (x)
  "The first of x, as
(first x)
does it; \\"quoted\\"."
  (first x))
; "an open quote of a comment
(defun second-of (x) #| "another
(defun none () |# (if (eql #\\" #\\") (second x)))
(defun third-of (x) (third x))
"""


@pytest.mark.parametrize("tried", [False, True])
def test_a_line_of_a_text_or_comment_that_begins_like_a_form_is_none(tried: bool) -> None:
    form = "(list (x:first-of '(1 2 3)) (x:second-of '(1 2 3)) (x:third-of '(1 2 3)))"
    assert value(evaluator(tried=tried, library=ODD), form).split("\n")[-1].strip() == "(1 2 3)"
