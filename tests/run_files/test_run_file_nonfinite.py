"""What is not finite in a pass or a diagnostic is named; a halt says whose scale left first."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from run_file import events

from sexpgpu_core import api
from sexpgpu_core.diagnostics.example import Example

sys.path.append(str(Path(__file__).parents[1] / "e2e"))
from code_cases import whole
from e2e_program import validate

EVALUATE = (
    '(defun evaluate (&key image label)\n  (metric "loss" (nn:cross-entropy (net image) label))\n'
    '  (metric "ink" (mean (log (cast image :f32)))))\n'
)
# the middle one grows: its update adds what it is
GROWING = """(defmodel head (x) (nn:linear x 8))
(defmodel body (x) (nn:linear x 8))
(defmodel net (x)
  (nn:linear (body (head (/ (cast x :f32) 16.0))) 10))
(defoptimizer growing (&key (lr 0.1))
  (optimizer-update (param grad) (+ (* 1e4 param) (* 0.0 lr grad))))
(defun optimizer ()
  (groups (group (select :path "net/body/**") (growing))
          (group :rest (optim:sgd :lr 1e-30))))
"""


def ran(forms: str, run: str, folder: Path) -> tuple[api.Summary, str]:
    forms += f"\n(defrun {run})"
    text = whole(Example("", "file", forms, forms, {}), forms + "\n")
    file = folder / "x.lisp"
    file.write_text(text, encoding="utf-8")
    done = api.run(file, runs_root=folder)
    for line in (done.folder / "events.jsonl").read_text("utf-8").splitlines():
        validate(json.loads(line), "event")
    return done, text


def warned(folder: Path, code: str) -> list[dict[str, Any]]:
    found = [e["diagnostic"] for e in events(folder, "warning")]
    return [d for d in found if d["code"] == code]


def test_a_pass_that_is_not_finite_is_named_once(tmp_path: Path) -> None:
    forms = EVALUATE + "(defeval val :loader (data :val) :every 1)"
    done, text = ran(forms, ":steps 3", tmp_path)
    assert done.exit == 0
    (found,) = warned(done.folder, "W-EVAL-NONFINITE")
    assert found["message"] == (
        "val/ink is -inf for a batch of the pass; (log ...) in the root was first"
    )
    span = found["span"]
    assert text[span["offset"] : span["end_offset"]] == "(log (cast image :f32))"
    assert len(events(done.folder, "eval")) == 3


def test_what_is_computed_once_of_a_pass_is_named(tmp_path: Path) -> None:
    forms = EVALUATE.replace("(mean (log (cast image :f32)))",
                             "(mean (log (over-pass (- (cast label :f32) 4.0))))")  # fmt: skip
    done, _ = ran(forms + "(defeval val :loader (data :val) :at (:end))", ":steps 2", tmp_path)
    (found,) = warned(done.folder, "W-EVAL-NONFINITE")
    assert "val/ink is nan" in found["message"]
    assert "(log ...) in the root was first" in found["message"]


def test_a_diagnostic_that_is_not_finite_is_named_once(tmp_path: Path) -> None:
    forms = "(defdiagnostic flat (&key grad) (:for (select :rank 2)) (log (* 0.0 (abs grad))))"
    chosen = ':diagnostics (:every 1 :select ("flat/**" "grad/norm"))'
    done, text = ran(forms, f":steps 3 {chosen}", tmp_path)
    assert done.exit == 0
    (found,) = warned(done.folder, "W-DIAGNOSTIC-NONFINITE")
    assert found["message"].startswith("of step 1, flat/net/linear/w are not finite; (log ...)")
    assert found["facts"]["numbers"] == ["flat/net/linear/w"]
    span = found["span"]
    assert text[span["offset"] : span["end_offset"]] == "(log (* 0.0 (abs grad)))"
    assert [e["values"]["flat/net/linear/w"] for e in events(done.folder, "diagnostic")] == [
        "-inf"] * 3  # fmt: skip


@pytest.mark.parametrize("checkpoint", ["", ":checkpoint (:every 2 :keep 2)"])
def test_a_halt_names_the_scope_whose_scale_left_its_history_first(
    checkpoint: str, tmp_path: Path
) -> None:
    done, _ = ran(GROWING, f":steps 60 {checkpoint}", tmp_path)
    error = done.error
    assert error is not None
    assert error.code == "E-RUN-NONFINITE"
    assert "the scale of net/body/linear left its history first" in error.message
    left = events(done.folder, "guard")[-1]["cause"]["left"]
    assert left["scope"] == "net/body/linear"
    assert left["steps"][0] == 0
    assert set(left["steps"]) <= ({0, 2, 4} if checkpoint else {0})
    assert left["scale"] == "inf" or left["scale"] > 10 * left["most"]


def test_data_that_are_not_finite_are_named(tmp_path: Path) -> None:
    import numpy as np

    x = np.ones((64, 4), np.float32)
    x[:, 2] = np.nan
    np.savez(tmp_path / "d.npz", x=x, y=np.zeros((64,), np.int32))
    forms = """(defloader data (source (npz "d.npz")) (stage :train :split (0 0.5)) (stage :val
      :split (0.5 1)) (batch 8))
(defun objective (&key x y) (metric "loss" (nn:cross-entropy (net x) y)))"""
    done, _ = ran(forms, ":steps 3", tmp_path)
    assert done.error is not None
    assert done.error.code == "E-RUN-NONFINITE"
    assert "(batch ...) in x was first" in done.error.message


def test_a_number_of_the_step_that_its_dtype_cannot_hold_is_named(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    forms = """(defun objective (&key image label)
  (metric "loss" (* (nn:cross-entropy (net image) label)
                    (exp (* 100 (max (- (ctx :step) 2) 0))))))"""
    done, _ = ran(forms, ":steps 9", tmp_path)
    assert done.error is not None
    assert (done.error.code, done.error.facts["step"]) == ("E-RUN-NONFINITE", 4)
    number = "(exp (* 100 (max (- (ctx :step) 2) 0)))"
    assert f"(scalar ...) in {number} was first" in done.error.message
    assert done.error.span is not None
    assert events(done.folder, "guard")[-1]["cause"]["operation"] == "scalar"
    assert not recwarn.list


BASE = """(defun prepare (&key image label)
  (batch :image (cast image :f32) :label {label} :ids (cast label :i32)))
(defmodel net (x ids) (+ (nn:linear x 10) (nn:embedding {ids} 10 10)))
(defun objective (&key image label ids)
  (metric "loss" (nn:cross-entropy (net image ids) label)))
"""


@pytest.mark.parametrize(("label", "ids", "place"), [
    ("(+ label 5)", "ids", "(nn:cross-entropy (net image ids) label)"),
    ("label", "(* 3 ids)", "(nn:embedding (* 3 ids) 10 10)"),
])  # fmt: skip
def test_an_index_of_the_data_is_placed_in_the_file_not_in_the_module(
    label: str, ids: str, place: str, tmp_path: Path
) -> None:
    done, _ = ran(BASE.format(label=label, ids=ids), ":steps 3", tmp_path)
    assert done.error is not None
    assert done.error.code == "E-RUN-INDEX"
    assert done.error.span is not None
    assert done.error.span.text == place


def test_arrays_of_files_that_no_checkpoint_holds_are_read_again(tmp_path: Path) -> None:
    import numpy as np

    np.savez(tmp_path / "t.npz", table=np.ones((8,), np.float32))
    forms = GROWING.replace(
        "(head (/ (cast x :f32) 16.0))",
        '(* (file-tensor (npz "t.npz" :field "table")) (head (/ (cast x :f32) 16.0)))',
    )
    done, _ = ran(forms, ":steps 60 :checkpoint (:every 1)", tmp_path)
    assert done.error is not None
    assert "the scale of net/body/linear left its history first" in done.error.message
