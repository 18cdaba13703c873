"""W-UNUSED in the forms of a run file that have clauses: its edit stands where it is legal."""

from __future__ import annotations

from pathlib import Path

import pytest

from sexpgpu_core import api
from sexpgpu_core.diagnostics import Diagnostic
from sexpgpu_core.spans import Source

pytest.importorskip("sexpgpu_nn", reason="the run files here use nn and optim")
pytest.importorskip("sexpgpu_optim", reason="the run files here use nn and optim")

PARTS = {
    "prepare": "",
    "model": "(defmodel net (x) (nn:linear x 10))",
    "objective": '(defun objective (&key image label)\n'
    '  (metric "loss" (nn:cross-entropy (net image) label)))',
    "evaluate": "",
    "optimizer": "(defun optimizer () (groups (group :rest (optim:sgd :lr 1e-3))))",
    "diagnostic": "",
}  # fmt: skip
RATED = "(defun optimizer () (groups (group :rest (optim:sgd :lr (rate 1e-3 2)))))"
FORMS = {
    "prepare": ("prepare", '(defun prepare (&key image label (more nil))\n  "Doc."\n'
                "  (batch :image (cast image :f32) :label label))"),
    "model": ("model", '(defmodel net (x &key y)\n  "Doc."\n  (nn:linear x 10))'),
    "objective": ("objective", PARTS["objective"].replace("label)\n", "label (more nil))\n")),
    "evaluate": ("evaluate", '(defun evaluate (&key image label (more nil))\n'
                 '  (metric "loss" (nn:cross-entropy (net image) label)))'),
    "schedule": ("optimizer", f'(defschedule rate (a b) (- a (* a (ctx :progress))))\n{RATED}'),
    "documented": ("optimizer",
                   f'(defschedule rate (a b) "Doc." (- a (* a (ctx :progress))))\n{RATED}'),
    "diagnostic": ("diagnostic",
                   "(defdiagnostic x (&key param grad) (:for (select :rank 2)) (norm grad))"),
    "clauses": ("diagnostic", '(defdiagnostic x (&key param grad)\n  "Doc."\n'
                "  (:for (select :rank 2)) ; which\n  (:reduce :max)\n  (abs grad))"),
    "step": ("diagnostic", "(defdiagnostic x (&key loss grad-norm) (:for :step) loss)"),
    "scope": ("diagnostic",
              '(defdiagnostic x (&key output) (:for (:scope "net")) (ones (list 3)))'),
}  # fmt: skip


def told(part: str, form: str) -> tuple[str, list[Diagnostic]]:
    parts = "\n".join({**PARTS, part: form}.values())
    text = f"""(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader data (source (digits)) (stage :train :split (0 0.8)) (batch 8))
{parts}
(defrun :steps 10)"""
    return text, list(api.check(Source("f.lisp", text)).diagnostics)


@pytest.mark.parametrize(("part", "form"), FORMS.values(), ids=FORMS)
def test_the_edit_in_a_form_with_clauses_takes_the_warning_away(
    part: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEXPGPU_CACHE", str(tmp_path))
    text, (found,) = told(part, form)
    assert found.code == "W-UNUSED"
    assert found.edit is not None
    (change,) = found.edit.changes
    at = text.index(form)
    start, end = change.span.start - at, change.span.end - at
    assert told(part, form[:start] + change.new + form[end:])[1] == []
