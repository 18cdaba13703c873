"""Files that are no runs: modules are checked by themselves, forms evaluated in any file."""

from __future__ import annotations

from pathlib import Path

import pytest

from sexpgpu_core import api, inspection
from sexpgpu_core.diagnostics import Problem, Problems
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
