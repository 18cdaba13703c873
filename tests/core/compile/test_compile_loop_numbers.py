"""Numbers of what is called in loops: of all trips together, or the scope is named that is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_compile_observers import compiled, observed, refused, step_graph

from sexpgpu_core import api
from sexpgpu_core.ir.text import write
from sexpgpu_core.spans import Source

np = pytest.importorskip("numpy")

FILE = """
(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader d (source (digits)) (stage :train :split (0 0.8)) (batch 8))
(defun prepare (&key image label)
  (batch :x (reshape (cast image :f32) (list (dim image 0) 8 8)) :label label))
(defmodel cell (h v) (tanh (+ (nn:linear v 6 :name "in") (nn:linear h 6 :name "rec"))))
(defmodel row (x) (nn:linear x 4))
(defmodel doubled (x) (* 2.0 x))
(defmodel net (x)
  (multiple-value-bind (h ys)
      (scan (lambda (h v) (let ((n (cell h v))) (values n n)))
            (zeros (list (dim x 0) 6)) x :axis 1 {options})
    (diagnostic "cells" ys {reduce})
    (let* ((kept (lambda (c q) (let ((z (row q))) (values (+ c z) z))))
           (rows (map-over (lambda (r) (nth-value 1 (scan kept (zeros '(4)) r))) x))
           (w (while-loop (lambda (v) (< (sum v) 90.0)) #'doubled (exp h) :limit 5)))
      (diagnostic "rows" rows {reduce})
      (+ (nn:linear h 10) (mean (mean rows :axis 2) :axis 1 :keep t)
         (stop-gradient (mean w :axis 1 :keep t))))))
(defun objective (&key x label) (metric "loss" (nn:cross-entropy (net x) label)))
(defun optimizer () (groups (group :rest (optim:sgd :lr 0.1))))
{more}
(defrun :steps 20 :seed 1 {run})
"""


def text(*globs: str, reduce: str = "", options: str = "", more: str = "") -> str:
    chosen = " ".join(f'"{glob}"' for glob in globs)
    run = f":diagnostics (:every 10 :select ({chosen}))" if globs else ""
    return FILE.format(reduce=reduce, options=options, more=more, run=run)


@pytest.mark.parametrize("options", ["", ":reverse t", ":save :carry", ":segments 3"])
@pytest.mark.parametrize(("number", "reduce"), [("mean", ""), ("max", ":reduce :max")])
def test_a_number_in_a_loop_is_that_of_all_its_trips(
    number: str, reduce: str, options: str
) -> None:
    selected = (f"act/{number}/net/{{cell,row}}", "net/*")
    found, _ = observed(text(*selected, reduce=reduce, options=options))
    cells = "net/cells" if number == "mean" else None
    assert set(found) == {"act/" + number + "/net/cell", "act/" + number + "/net/row",
                          "net/cells", "net/rows"}  # fmt: skip
    if cells is not None:  # the greatest magnitude is another number than the greatest
        assert found["act/mean/net/cell"] == pytest.approx(found["net/cells"], rel=1e-6)
        assert found["act/mean/net/row"] == pytest.approx(found["net/rows"], rel=1e-6)
    else:
        assert found["act/max/net/cell"] >= found["net/cells"]
        assert 0 < found["act/max/net/cell"] <= 1


def test_every_call_in_a_loop_has_numbers_and_the_step_knows_nothing_of_it() -> None:
    job, _ = compiled(text("act/**"))
    plain, _ = compiled(text())
    names = {p.name for p in job.job.stages["d:train"].observed.probes}
    calls = ("net", "net/linear", "net/cell", "net/cell/in", "net/cell/rec", "net/row",
             "net/row/linear")  # fmt: skip
    kinds = ("mean", "std", "max", "zero")
    assert names == {f"act/{kind}/{call}" for kind in kinds for call in calls}
    assert write(step_graph(job)) == write(step_graph(plain))
    assert job.job.ir_hash == plain.job.ir_hash


def test_logits_in_a_loop_are_those_of_all_its_trips() -> None:
    source = text("logits/**").replace(
        "(nn:cross-entropy (net x) label)",
        "(mean (map-over (lambda (y l) (cross-entropy y l)) (net x) label))",
    )
    (found,) = observed(source)[0].items()
    assert found[0] == "logits/max"
    assert found[1] > 0


def test_a_body_of_the_file_sees_all_trips_in_front() -> None:
    more = """(defdiagnostic wide (&key output) (:for (:scope "net/cell"))
      (if (= (rank output) 3) (mean output) (error "rank ~a" (rank output))))"""
    found, _ = observed(text("wide/**", "net/cells", more=more))
    assert found["wide/net/cell"] == pytest.approx(found["net/cells"], rel=1e-6)


def checked(source: str) -> list[Any]:
    found = api.check(Source("file.lisp", source)).diagnostics
    return [d for d in found if d.code != "W-BATCH-DEPENDENCE"]  # sum of the while-loop's test


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEXPGPU_CACHE", str(tmp_path))


def test_a_scope_of_a_while_loop_is_named() -> None:
    (found,) = checked(text("act/**"))
    assert found.code == "W-DIAGNOSTIC-HIDDEN"
    assert (found.scope, found.facts["builtin"]) == ("net/doubled", "while-loop")
    assert "act/std/net/doubled" in found.message
    assert checked(text("act/**", "!act/*/net/doubled")) == []


def test_what_is_hidden_alone_is_no_number() -> None:
    (found,) = refused(text("act/mean/net/doubled"))
    assert (found.code, "net/doubled is in the function of while-loop" in found.message) == (
        "E-SERIES", True)  # fmt: skip
    more = '(defdiagnostic wide (&key output) (:for (:scope "**/doubled")) output)'
    (found,) = refused(text(more=more))
    assert (found.code, "in the function of while-loop" in found.message) == ("E-GROUP-EMPTY", True)


def test_attention_in_a_loop_is_named() -> None:
    source = text("{attention,logits}/**").replace(
        "(let ((z (row q)))", "(let ((z (row (at q))))"
    ).replace("(defmodel row", """(defmodel at (q)
      (let ((x (reshape q '(1 2 1 4)))) (reshape (attention x x x) '(8))))
    (defmodel row""")  # fmt: skip
    (found,) = checked(source)
    assert (found.code, found.scope) == ("W-DIAGNOSTIC-HIDDEN", "net/at")
