"""What people write who come from Scheme, Clojure, Emacs Lisp or Python gets its own help."""

from __future__ import annotations

import pytest

from sexpgpu_core.diagnostics import Diagnostic, Problems
from sexpgpu_core.evaluator.evaluator import Evaluator
from sexpgpu_core.spans import Source


def said(text: str) -> list[Diagnostic]:
    evaluator = Evaluator()
    try:
        evaluator.load(Source("f.lisp", text))
    except Problems as problems:
        return [*problems.diagnostics, *evaluator.diagnostics]
    return evaluator.diagnostics


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("(defn f (x) x)", "defun"),
        ("(def x 1)", "defparameter"),
        ("(define (f x) x)", "defun"),
        ("(fn (x) x)", "lambda"),
        ("(print #t)", "write t"),
        ("(print #f)", "write nil"),
        ("(nil? 1)", "null"),
        ("(null? 1)", "null"),
        ("(empty? 1)", "null"),
        ("(set! x 1)", "setf"),
        ("(begin 1 2)", "progn"),
        ("(letrec ((f 1)) f)", "labels"),
        ("(cond (else 1))", "t"),
        ("(print True)", "write t"),
        ("(print None)", "write nil"),
        ("(print false)", "write nil"),
        ("(len '(1 2))", "length"),
        ("(range 3)", "loop"),
        ("(println 1)", "print"),
        ("(== 1 2)", "="),
        ("(!= 1 2)", "/="),
        ("(% 7 2)", "mod"),
        ("(** 2 3)", "expt"),
        ("(import x)", "require"),
        ("(raise 1)", "error"),
        ("(try 1)", "handler-case"),
        ("(for-each 1 2)", "mapc"),
        ("(let ((f #'car)) (f '(1)))", "funcall"),
        ("(print car)", "#'car"),
        ('(print "a\\n")', "~%"),
        ("(case 1 ('a 1))", "a"),
        ('(case 1 ("a" 1))', "string"),
        ("(defclass point (object) (x y)) (make-instance 'point)", "define it: (defclass"),
        ("(reduce * '(1 2))", "#'*"),
        ("(defpackage :shapes)", "require"),
        ("(list [1 2])", "#(...)"),
        ("(let [x 1] x)", "(let ((name value)"),
    ],
)
def test_a_habit_of_another_language_is_told_the_word_here(text: str, help: str) -> None:
    found = said(text)
    assert found
    assert any(help in f"{d.message} {d.hint}" for d in found), [(d.message, d.hint) for d in found]
