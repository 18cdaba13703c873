"""Stages of other shapes follow each other by step or by what was measured, and resume exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_file import HERE, arrays, events, train

from sexpgpu_core import api, rerun
from sexpgpu_core.runtime import runs
from sexpgpu_core.spans import Source


def told(folder: Path) -> list[Any]:
    """Stages, steps and passes of a run, without its times."""
    steps = [(e["step"], e["metrics"], e["counters"], e["epoch"]) for e in events(folder, "step")]
    return [steps, [(e["step"], e["metrics"]) for e in events(folder, "eval")]]


def test_check_says_which_stage_trains_from_which_step_and_the_run_does_so(tmp_path: Path) -> None:
    report = api.check(HERE / "curriculum.lisp")
    assert report.summary is not None
    assert report.diagnostics == []
    assert report.summary["steps"] == 21
    assert report.summary["stages"] == [
        {"stage": "text:short", "first": 0, "steps": 5},
        {"stage": "text:long", "first": 5, "steps": 9},
        {"stage": "text:short", "first": 14, "steps": 7},
    ]
    folder = train("curriculum", tmp_path, name="whole")
    assert [(e["step"], e["stage"]) for e in events(folder, "stage")] == [
        (0, "short"),
        (5, "long"),
        (14, "short"),
    ]
    shapes = [e["batch"]["tokens"]["shape"] for e in events(folder, "stage")]
    assert shapes == [[16, 9], [4, 33], [16, 9]]
    assert [e["step"] for e in events(folder, "compile")] == [0] * len(events(folder, "compile"))
    last = events(folder, "step")[-1]
    assert last["step"] == 21
    assert last["counters"] == {"tokens": 21 * 128}


@pytest.mark.parametrize(("name", "points"), [("curriculum", (3, 6, 15)), ("plateau", (4, 12, 16))])
def test_a_curriculum_resumes_bit_for_bit_in_any_stage(
    name: str, points: tuple[int, ...], tmp_path: Path
) -> None:
    whole = train(name, tmp_path, name="it")
    wanted, series = arrays(whole), told(whole)
    for step in points:
        again = train(name, tmp_path, resume=f"it@{step}")
        found = arrays(again)
        assert found.keys() == wanted.keys()
        assert all(np.array_equal(found[n], wanted[n]) for n in wanted), step
        assert told(again) == series


def test_a_curriculum_that_reads_a_metric_ends_the_run_by_it(tmp_path: Path) -> None:
    report = api.check(HERE / "plateau.lisp")
    assert report.summary is not None
    assert report.summary["stages"] == []
    folder = train("plateau", tmp_path)
    (end,) = events(folder, "close")
    assert end["reason"] == "curriculum"
    assert {e["stage"] for e in events(folder, "stage")} == {"easy", "hard"}
    losses = {e["step"]: e["metrics"]["val/loss"] for e in events(folder, "eval")}
    best = min(losses, key=lambda step: losses[step])
    assert end["step"] == best + 7


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (":shrot", "E-CURRICULUM"),
        (":val", "E-CURRICULUM"),
        ("(progn (incf *n*) :short)", "E-CURRICULUM-STATE"),
        ("(progn (push 1 (cdr *kept*)) :short)", "E-CURRICULUM-STATE"),
        ("(progn (incf (aref *row* 1)) :short)", "E-CURRICULUM-STATE"),
        ("(progn (setf (gethash 1 *table*) 2) :short)", "E-CURRICULUM-STATE"),
        ('(if (ctx :metric "val/los") :short :long)', "E-SERIES"),
        ("(if (ctx :batch) :short :long)", "E-CTX-KEY"),
    ],
)
def test_what_a_curriculum_may_not_do_is_told_by_check(body: str, code: str) -> None:
    text = (HERE / "curriculum.lisp").read_text(encoding="utf-8")
    begin = text.index("(defun curriculum")
    end = text.index("(defrun")
    kept = "(defvar *kept* (list 0))(defvar *row* (vector 1 2))(defvar *table* (make-hash-table))"
    wrong = f"(defvar *n* 0)\n{kept}\n(defun curriculum () {body})\n"
    report = api.check(Source((HERE / "x.lisp").as_posix(), text[:begin] + wrong + text[end:]))
    assert code in [d.code for d in report.diagnostics if d.is_error]
    assert all(d.span is not None for d in report.diagnostics)


RIGHT = [":short", "'(text :short)", "(list 'text :long)", "(values :short 3)",
         "(if (< (ctx :step) 5) :short)", "(let ((n 0)) (incf n) :short)"]  # fmt: skip
WRONG = {
    '"short"': ("E-CURRICULUM", "(defun curriculum", "stages: :short :long :val"),
    "t": ("E-CURRICULUM", "(defun curriculum", "stages: :short"),
    "3": ("E-CURRICULUM", "(defun curriculum", "returns 3"),
    "'(text)": ("E-CURRICULUM", "(defun curriculum", "returns (text)"),
    "'(text :short 3)": ("E-CURRICULUM", "", "returns (text :short 3)"),
    "'(text :shrot)": ("E-CURRICULUM", ":shrot", "did you mean :short?"),
    "'(txet :short)": ("E-CURRICULUM", "txet", "did you mean text?"),
    "(text :short)": ("E-NAME-FUNCTION", "(text :short)", "named text"),
    '(error "no")': ("E-CONDITION", "(defun curriculum", "no"),
    "(loop)": ("E-LIMIT-STEPS", "(defun curriculum", "stopped after"),
    "(zeros (list 2))": ("E-STAGE-OUTSIDE", "(zeros", "nothing is traced"),
    "(nn:linear 3 4)": ("E-STAGE-OUTSIDE", "(nn:linear", "nothing is traced"),
    "(progn (random 3) :short)": ("E-CURRICULUM-STATE", "(defun curriculum", "random numbers"),
}


def errors(definition: str) -> list[Any]:
    text = (HERE / "curriculum.lisp").read_text(encoding="utf-8")
    begin, end = text.index("(defun curriculum"), text.index("(defrun")
    source = Source((HERE / "x.lisp").as_posix(), f"{text[:begin]}{definition}\n{text[end:]}")
    return [d for d in api.check(source).diagnostics if d.is_error]


@pytest.mark.parametrize("body", RIGHT)
def test_what_a_curriculum_may_return(body: str) -> None:
    assert errors(f"(defun curriculum () {body})") == []


@pytest.mark.parametrize("body", WRONG)
def test_what_a_curriculum_may_not_return_is_told_at_its_words(body: str) -> None:
    code, marked, words = WRONG[body]
    (told,) = errors(f"(defun curriculum () {body})")
    assert told.code == code
    assert told.span is not None
    assert told.span.text.startswith(marked)
    assert words in f"{told.message} {told.hint}"


def test_a_curriculum_is_one_function_of_nothing() -> None:
    (told,) = errors("(defun curriculum (x) :short)")
    assert (told.code, "called with nothing" in told.message) == ("E-CONTRACT", True)
    assert "E-TWICE" in [d.code for d in errors("(defun curriculum () :short)\n" * 2)]


@pytest.mark.parametrize("name", ["curriculum", "plateau"])
def test_checkpoints_of_a_curriculum_are_sound(name: str, tmp_path: Path) -> None:
    folder = train(name, tmp_path)
    found = rerun.verify(runs.find(tmp_path, folder.name), steps=3)
    assert found.found == ()
    assert found.span is not None
