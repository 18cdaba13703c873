"""The edit of W-UNUSED is legal in every form that binds: applied, the warning is gone."""

from __future__ import annotations

import pytest

from sexpgpu_core.diagnostics import Diagnostic, Problem, Problems
from sexpgpu_core.evaluator.evaluator import Evaluator
from sexpgpu_core.spans import Source

FORMS = {
    "defun": "(defun f (x y) x)",
    "docstring": '(defun f (x y)\n  "Doc."\n  x)',
    "declared": "(defun f (x y) (declare (type integer x)) x)",
    "lines": "(defun f (x\n          y)\n  x)",
    "comment": "(defun f (x y) ; why\n  x)",
    "no body": "(defun f (y))",
    "lambda": "(defun g () (lambda (a b) a))",
    "let": "(defun f () (let ((x 1) (y 2)) y))",
    "let*": "(defun f () (let* ((x 1) (y x)) 3))",
    "flet": "(defun f () (flet ((g (a b) a)) (g 1 2)))",
    "labels": "(defun f () (labels ((g (a b) a)) (g 1 2)))",
    "values": "(defun f () (multiple-value-bind (a b) (floor 7 2) a))",
    "destructuring": "(defun f (l) (destructuring-bind (a (b &key c)) l (list a c)))",
    "prog": "(defun f () (prog ((x 1)) (return 2)))",
    "macro": '(defmacro m (a &body body) "Doc." `(progn ,@body))',
    "macrolet": "(defun f () (macrolet ((m (a b) a)) (m 1 2)))",
    "method": "(defgeneric g (x y)) (defmethod g ((x integer) y) x)",
    "generic": "(defgeneric g (x y) (:method (x y) x))",
    "optional": "(defun f (x &optional y) x)",
    "supplied": "(defun f (x &optional (y 1 yp)) (list x y))",
    "key": "(defun f (x &key y (z 2)) (list x y))",
    "aux": "(defun f (x &aux (z 2)) (list x))",
    "rest": "(defun f (x &rest r) x)",
    "type": "(deftype small (n m) `(integer 0 ,n))",
    "setf": "(defsetf thing (x) (v) `(progn ,v))",
    "handler": "(defun f () (handler-bind ((error (lambda (c) 1))) 2))",
}


def told(text: str) -> list[Diagnostic]:
    evaluator = Evaluator()
    try:
        evaluator.load(Source("f.lisp", text))
    except Problem as error:
        return [*evaluator.diagnostics, error.diagnostic]
    except Problems as error:
        return [*evaluator.diagnostics, *error.diagnostics]
    return list(evaluator.diagnostics)


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_the_edit_of_an_unused_variable_takes_the_warning_away(text: str) -> None:
    (found,) = told(text)
    assert found.code == "W-UNUSED"
    assert found.edit is not None
    (change,) = found.edit.changes
    assert told(text[: change.span.start] + change.new + text[change.span.end :]) == []


def test_a_declaration_behind_a_docstring_has_a_line_of_its_own() -> None:
    (found,) = told(FORMS["docstring"])
    assert found.edit is not None
    assert found.edit.changes[0].new == "(declare (ignore y))\n  "


@pytest.mark.parametrize("text", ["(defun f (x) x.shape)", "(defun f (x) (x.mean 1))",
                                  "(defun f (x) (list x[0]))"])  # fmt: skip
def test_what_is_used_as_other_languages_would_is_used(text: str) -> None:
    assert [d.code for d in told(text)] != []
    assert "W-UNUSED" not in [d.code for d in told(text)]
    unused = [d for d in told(f"{text} (defun g (x) 1)") if d.code == "W-UNUSED"]
    assert [d.span.start > len(text) for d in unused if d.span] == [True]
