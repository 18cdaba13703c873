"""Files that are no runs: modules are checked by themselves, forms evaluated in any file."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from sexpgpu_core import api, inspection
from sexpgpu_core.diagnostics import Problem, Problems
from sexpgpu_core.evaluator.modules import Module
from sexpgpu_core.spans import Source

MODULE = """(provide while)
(defmacro while (test &body body) `(loop (unless ,test (return)) ,@body))
(defun hidden (x) (* x x))"""


def test_a_module_is_checked_without_a_run() -> None:
    report = api.check(Source("m.lisp", MODULE))
    assert (report.diagnostics, report.complete, report.summary) == ([], True, None)


def test_what_is_wrong_in_a_module_is_said() -> None:
    report = api.check(Source("m.lisp", MODULE + "\n(defun f () (g))"))
    assert [d.code for d in report.diagnostics] == ["E-NAME-FUNCTION"]
    assert not report.complete


def test_a_form_is_evaluated_in_a_file_that_is_no_run() -> None:
    assert inspection.evaluate(Source("m.lisp", MODULE), "(hidden 4)")[0][0] == "16"
    with pytest.raises(Problems):
        inspection.evaluate(Source("m.lisp", "(car 1)"), "1")


def test_a_file_that_is_no_run_reads_its_data() -> None:
    loader = "(defloader d (source (digits)) (stage :train) (batch 2))\n"
    text = loader + "(defparameter *most* (stage-stat (d :train) image :max))"
    for form, told in (("*most*", "16.0"), ("(loader-info d :examples)", "1797")):
        assert inspection.evaluate(Source("m.lisp", text), form, run=True)[0][0] == told
    with pytest.raises(Problem) as raised:
        inspection.evaluate(Source("m.lisp", loader), "(loader-batch d :train 1)")
    assert "of a run file" in raised.value.diagnostic.message


def test_a_selection_asks_for_a_run() -> None:
    with pytest.raises(Problems) as raised:
        inspection.evaluate(Source("m.lisp", MODULE), "(hidden 4)", seed=1)
    assert "E-MISSING" in [d.code for d in raised.value.diagnostics]


def test_a_form_is_expanded_one_step() -> None:
    [(text, _)] = inspection.evaluate(Source("m.lisp", MODULE), "(while t (print 1))", expand=True)
    assert text == "(loop (unless t (return)) (print 1))"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("sexpgpu-optim", "sexpgpu/optim"),
        ("sexpgpu_nn", "sexpgpu/nn"),
        ("sexpgpu/optm", "sexpgpu/optim"),
        ("sexpgpu/nn/norm", "sexpgpu/nn/norms"),
    ],
)
def test_a_module_that_is_not_there_has_the_nearest_as_an_edit(
    tmp_path: Path, written: str, meant: str
) -> None:
    path = tmp_path / "x.lisp"
    path.write_text(f'(require "{written}")\n(provide f)\n(defun f () 1)\n')
    (found,) = api.check(path).diagnostics
    assert found.code == "E-REQUIRE-MISSING"
    assert found.hint == f"did you mean {meant}?"
    assert found.edit is not None
    (change,) = found.edit.changes
    assert change.new.strip('"') == meant


EVERYTHING = """
(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defstruct point (x 1) (y 2))
(defstruct (pair (:type list)) a b)
(defclass thing () ((a :initarg :a :initform 3 :accessor thing-a)))
(defclass more (thing) ())
(defgeneric area (x))
(defmethod area ((x thing)) (thing-a x))
(defmethod area ((x more)) (+ 1 (call-next-method)))
(deftype small () '(integer 0 9))
(define-condition oops (error) ((why :initarg :why)))
(defun twice (x) (* 2 x))
(define-compiler-macro twice (x) `(+ ,x ,x))
(defsetf first-x (p) (v) `(setf (point-x ,p) ,v))
(defmacro listed (x) `(list ,x))
(define-symbol-macro eight (twice 4))
(defknob width 8 "Width." :type small)
(defloader d (source (digits)) (batch 8) (stage :train))
(defmodel net (x)
  (defstate seen () :init 0.0)
  (setf seen (+ seen 1.0))
  (nn:linear (relu (nn:linear x width)) (+ 6 (area (make-instance 'more)))))
(defun objective (&key image label)
  (assert (typep (point-y (make-point)) 'small))
  (assert (equal (listed 8) (list eight)))
  (mean (nn:cross-entropy (net image) label)))
(defun optimizer () (groups (group :rest (optim:adamw :lr 1e-3))))
(defrun :steps 1)
"""


def test_what_a_file_defines_goes_with_it(tmp_path: Path) -> None:
    """Nothing of a file stays in the process: not its classes, types, structures, models."""
    path = tmp_path / "x.lisp"
    path.write_text(EVERYTHING)
    for number in range(2):
        assert api.check(path).complete
        assert api.run(path, runs_root=tmp_path, name=f"r{number}").exit == 0
    gc.collect()
    sources = [o for o in gc.get_objects() if o.__class__ is Module]
    assert [o.path for o in sources if o.path.endswith("x.lisp")] == []
