"""Evaluation ends: what would go on or grow without end stops by count, and says where."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sexpgpu_core.diagnostics import Diagnostic, Problem, Problems
from sexpgpu_core.evaluator.evaluator import Evaluator, Limits
from sexpgpu_core.spans import Source

SMALL = Limits(steps=200_000, depth=1_000, cells=100_000, bits=1 << 14)
LINES = Path(__file__).with_name("limits.tsv").read_text(encoding="utf-8").splitlines()
ROWS = [tuple(line.split("\t")) for line in LINES if not line.startswith("#")]
SECONDS = 20
"""Of processor time: a form takes 0.3 at most on an idle machine, more beside a large heap."""


def first(text: str, limits: Limits = SMALL) -> Diagnostic:
    with pytest.raises(Problems) as raised:
        Evaluator(limits=limits).load(Source("f.lisp", text))
    return raised.value.diagnostics[0]


@pytest.mark.parametrize(("code", "text"), ROWS, ids=[row[1][:60] for row in ROWS])
def test_what_would_not_end_stops_with_its_code(code: str, text: str) -> None:
    began = time.process_time()
    assert first(text).code == code
    assert time.process_time() - began < SECONDS


def test_limits_are_counts_and_evaluation_ends_at_20_million_steps() -> None:
    assert Limits().steps == 20_000_000
    assert all(isinstance(limit, int) for limit in Limits())


def test_every_kind_of_limit_is_in_the_table() -> None:
    codes = {code for code, _ in ROWS}
    assert {"E-LIMIT-STEPS", "E-LIMIT-DEPTH", "E-LIMIT-CELLS", "E-LIMIT-INTEGER"} < codes
    assert len(ROWS) > 150


def test_the_limit_of_steps_names_the_busiest_functions_with_lines_and_shares() -> None:
    text = (
        "(defun a (n) (dotimes (i n) (* i i)))\n(defun b (n) (dotimes (i n) (a 20)))\n"
        "(defun c () (loop (b 10)))\n(c)"
    )
    found = first(text)
    assert found.code == "E-LIMIT-STEPS"
    assert 1 <= len(found.facts["busiest"]) <= 3
    assert "dotimes (line 1) " in found.message
    assert " %" in found.message


def test_the_limit_of_steps_names_a_loop_of_another_file_with_that_file() -> None:
    library = "(provide spin) (defun spin () (loop))"
    evaluator = Evaluator(limits=SMALL, read_file=lambda path: library)
    with pytest.raises(Problems) as raised:
        evaluator.load(Source("f.lisp", '(require "./lib.lisp" :import :all)\n(spin)'))
    assert "a loop (lib.lisp:1)" in raised.value.diagnostics[0].message


def test_the_limit_of_depth_shows_the_cycle() -> None:
    found = first("(defun f (n) (g n))\n(defun g (n) (1+ (f n)))\n(f 0)")
    assert "calls f" in found.message
    assert "calls g" in found.message


def test_a_turn_of_a_loop_costs_as_many_steps_as_it_has_forms() -> None:
    def left(text: str) -> int:
        evaluator = Evaluator()
        evaluator.evaluate(text)
        return evaluator.fuel + evaluator.fuel_left

    short = left("(dotimes (i 1000))")
    long = left("(dotimes (i 1000) (+ 1 (+ 2 (+ 3 i))))")
    assert short - long == 3_000


def test_of_branches_only_the_dearest_is_paid_for() -> None:
    def left(text: str) -> int:
        evaluator = Evaluator()
        evaluator.evaluate(f"(defun f (x) {text})")
        evaluator.evaluate("(dotimes (i 100) (f 1))")
        return evaluator.fuel + evaluator.fuel_left

    branch = "(+ 1 (+ 2 (+ 3 x)))"
    one = left(f"(if (= x 1) {branch} 2)")
    assert left(f"(if (= x 1) {branch} {branch})") == one
    case = left(f"(case x (1 {branch}))")
    assert left(f"(case x (1 {branch}) (2 {branch}) (3 {branch}) (t {branch}))") == case


def test_cleanups_get_a_little_more_once() -> None:
    text = "(let ((n 0)) (unwind-protect (loop) (dotimes (i 100) (incf n)) (print n)))"
    evaluator = Evaluator(limits=SMALL)
    with pytest.raises(Problem):
        evaluator.evaluate(text)
    assert "".join(evaluator.output).strip() == "100"


def test_what_is_large_but_ends_has_its_value() -> None:
    evaluator = Evaluator()
    assert evaluator.evaluate("(loop for i below 100000 sum i)") == 4999950000
    assert evaluator.evaluate("(length (append (make-list 500000) (list 1)))") == 500001
    assert evaluator.evaluate('(length (format nil "~d" (expt 7 100000)))') == 84510
    digits = "(parse-integer (make-string 20000 :initial-element #\\7))"
    assert evaluator.evaluate(f"(mod {digits} 1000)") == 777


def test_every_line_of_a_long_output_begins_where_it_says() -> None:
    evaluator = Evaluator()
    evaluator.evaluate('(dotimes (i 3) (format t "ab~%c") (fresh-line) (fresh-line))')
    assert "".join(evaluator.output) == "ab\nc\n" * 3
