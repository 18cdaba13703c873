"""Evaluation ends: what would go on or grow without end stops by count, and says where."""

from __future__ import annotations

import pytest

from sexpgpu_core.diagnostics import Diagnostic, Problems
from sexpgpu_core.evaluator.evaluator import Evaluator, Limits
from sexpgpu_core.spans import Source

LOOPED = "(let ((x (list 1))) (setf (cdr x) x) {})"


def first(text: str, steps: int = 100_000) -> Diagnostic:
    with pytest.raises(Problems) as raised:
        Evaluator(limits=Limits(steps=steps)).load(Source("f.lisp", text))
    return raised.value.diagnostics[0]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("(defun f (n) (1+ (f n))) (f 0)", "E-LIMIT-DEPTH"),
        ("(defun f (n) (1+ (f n))) (handler-case (f 0) (error () 1))", "E-LIMIT-DEPTH"),
        ("(expt 10 100000000)", "E-LIMIT-INTEGER"),
        ("(expt 3 (expt 10 30))", "E-LIMIT-INTEGER"),
        ("(ash 1 100000000)", "E-LIMIT-INTEGER"),
        ("(let ((x 3)) (loop (setq x (* x x))))", "E-LIMIT-INTEGER"),
        ("(make-array 1000000000)", "E-LIMIT-CELLS"),
        ("(make-array '(100000 100000))", "E-LIMIT-CELLS"),
        ("(make-string 1000000000)", "E-LIMIT-CELLS"),
        ('(format nil "~1000000000a" 1)', "E-LIMIT-CELLS"),
        ("'#1000000000(a)", "E-LIMIT-CELLS"),
        (LOOPED.format("(length x)"), "E-TYPE"),
        (LOOPED.format("(reverse x)"), "E-TYPE"),
        (LOOPED.format("(mapcar #'1+ x)"), "E-TYPE"),
        (LOOPED.format("(dolist (y x) y)"), "E-LIMIT-STEPS"),
        ("(let ((x (list '+ 1))) (setf (cddr x) x) (eval x))", "E-LIMIT-CELLS"),
        ("(defmacro m (x) `(m (1+ ,x))) (m 1)", "E-FORM-MACRO"),
        ("(macrolet ((m () '(m))) (m))", "E-FORM-MACRO"),
        ("(macrolet ((m (x) `(progn (m (,x ,x)) 1))) (m 1))", "E-FORM-MACRO"),
        ("(unwind-protect (loop) (loop))", "E-LIMIT-STEPS"),
        ("(handler-case (loop) (error () 1) (serious-condition () 2))", "E-LIMIT-STEPS"),
        ("(loop (ignore-errors (loop)))", "E-LIMIT-STEPS"),
        ("(sort (list 3 1 2) (lambda (a b) (loop)))", "E-LIMIT-STEPS"),
    ],
)
def test_what_would_not_end_stops_with_its_code(text: str, code: str) -> None:
    assert first(text).code == code


def test_a_circular_list_that_is_printed_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sexpgpu_core.evaluator.printer.PIECES", 10_000)
    assert first(LOOPED.format("(print x)")).code == "E-LIMIT-CELLS"


def test_the_limit_of_steps_names_the_three_busiest_functions_with_shares() -> None:
    text = (
        "(defun a (n) (dotimes (i n) (* i i)))\n(defun b (n) (dotimes (i n) (a 20)))\n"
        "(defun c () (loop (b 10)))\n(c)"
    )
    found = first(text)
    assert found.code == "E-LIMIT-STEPS"
    assert 1 <= len(found.facts["busiest"]) <= 3
    assert " %" in found.message


def test_the_limit_of_depth_shows_the_cycle() -> None:
    found = first("(defun f (n) (g n))\n(defun g (n) (1+ (f n)))\n(f 0)")
    assert "calls f" in found.message
    assert "calls g" in found.message
