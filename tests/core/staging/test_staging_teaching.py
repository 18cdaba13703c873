"""What a mistake about shapes and dtypes is told: each row of the table, and what holds of all."""

from __future__ import annotations

import pytest
from lisp_words_case import LISP_WORDS
from mistakes_case import MISTAKES, Mistake
from shape_mistakes_case import SHAPE_MISTAKES
from staging_case import (
    FIELDS,
    OPERATIONS,
    body,
    declared,
    faults,
    trace_stage,
    traced,
    traced_pass,
    whole,
)

from sexpgpu_core.diagnostics import Diagnostic, Edit, Problem, Problems, lookup
from sexpgpu_core.diagnostics.render_text import render

ALL = [*MISTAKES, *SHAPE_MISTAKES, *LISP_WORDS]

PAIRS = "W-BATCH-DEPENDENCE"
"""Said of some of these beside what the table is about: x's first axis is the batch."""

CODES = ["E-SHAPE", "E-DTYPE", "E-STAGE", "E-CALL-", "W-BROAD"]


def told(text: str) -> list[Diagnostic]:
    """Errors and warnings of a file, but for names that a small one does not use."""
    warned: list[Diagnostic] = []
    try:
        experiment, evaluator = declared(text)
        warned = evaluator.diagnostics
        trace_stage(experiment, evaluator, OPERATIONS, "data", "train", FIELDS, 8)
    except Problems as problems:
        return list(problems.diagnostics)
    except Problem as one:
        return [one.diagnostic]
    return [d for d in warned if d.code != "W-UNUSED"]


def applied(text: str, edit: Edit) -> str:
    for change in sorted(edit.changes, key=lambda c: -c.span.start):
        text = text[: change.span.start] + change.new + text[change.span.end :]
    return text


@pytest.mark.parametrize("mistake", ALL, ids=lambda m: m.form)
def test_a_mistake_is_told_where_it_is_with_what_mends_it(mistake: Mistake) -> None:
    text = body(mistake.form)
    (found,) = [d for d in told(text) if d.code != PAIRS or mistake.code == PAIRS]
    assert found.code == mistake.code
    assert found.span is not None
    assert found.span.text == (mistake.place or mistake.form)
    shown = render(found)
    assert [s for s in mistake.says if s not in shown] == [], shown
    assert found.hint
    assert "#<tensor" not in shown
    if mistake.mended is None:
        assert found.edit is None, shown
        return
    assert found.edit is not None, shown
    assert applied(text, found.edit) == body(mistake.mended)


@pytest.mark.parametrize("mistake", [m for m in ALL if m.mended], ids=lambda m: m.form)
def test_what_is_mended_checks(mistake: Mistake) -> None:
    assert mistake.mended is not None
    codes = [d.code[:7] for d in told(body(mistake.mended))]
    assert [c for c in codes if c in CODES] == []


def test_the_table_has_many_rows_of_each_family() -> None:
    assert len(ALL) >= 70
    assert len([m for m in ALL if m.mended]) >= 38
    shapes = {m.code for m in ALL}
    ours = {c for c in shapes if c.startswith(("E-SHAPE", "E-DTYPE"))}
    assert len(ours) == 13
    assert all(lookup(m.code).edit for m in ALL if m.mended)


def test_a_call_that_is_tried_again_leaves_nothing_in_the_graph() -> None:
    text = whole(
        model="(defmodel net (x)\n"
        "  (handler-case (- x (mean x :axis 1)) (error () (nn:linear x 10))))\n"
    )
    plain = whole(model="(defmodel net (x)\n  (mean x :axis 1)\n  (nn:linear x 10))\n")
    found = {n.operation for n in traced(text).graph.nodes}
    assert found == {n.operation for n in traced(plain).graph.nodes}


def test_a_tensor_of_a_module_is_placed_at_the_call_of_the_module() -> None:
    text = whole(
        model="(defun centred (h)\n  (let ((m (mean h :axis 1)))\n    (- h m)))\n"
        "(defmodel net (x)\n  (nn:linear (centred (nn:layer-norm (nn:mlp x))) 10))\n"
    )
    (found,) = faults(text)
    notes = {r.message: r.span.text for r in found.related if r.span is not None}
    assert notes["h is f32 (8 64), made here"] == "(nn:layer-norm (nn:mlp x))"
    assert notes["m is f32 (8), made here"] == "(mean h :axis 1)"


def test_a_parameter_is_placed_where_it_is_made() -> None:
    text = whole(model="(defmodel net (x)\n  (defparam w (10 64))\n  (matmul x w))\n")
    (found,) = faults(text)
    notes = {r.message: r.span.text for r in found.related if r.span is not None}
    assert notes == {"w is f32 (10 64), the parameter net/w": "(defparam w (10 64))"}


def test_operands_that_say_their_axes_of_size_1_may_both_grow() -> None:
    for form in (
        "(- (unsqueeze (mean x :axis 1) 1) (unsqueeze (mean x :axis 1) 0))",
        "(- (mean x :axis 1 :keep t) (mean x :axis 0 :keep t))",
        "(+ x (mean x))",
        "(+ x (zeros '(1)))",
    ):
        assert [d.code for d in told(body(form)) if d.code != PAIRS] == []


def test_check_shape_gives_its_tensor_when_it_fits() -> None:
    assert (
        faults(body("(bind-shape (b d) x (check-shape (b d) (check-shape (_ 64) (+ x d))))")) == []
    )
    assert faults(body("(bind-shape (n _ n) (reshape x '(8 8 8)) (+ (mean x) n))")) == []


def test_names_of_sizes_are_those_of_the_scope() -> None:
    text = whole(
        model="(defmodel inner (x)\n  (bind-shape (rows columns) x\n    (+ x (* rows columns))))\n"
        "(defmodel net (x)\n  (nn:linear (matmul (inner x) (zeros '(10 64))) 10))\n"
    )
    (found,) = faults(text)
    assert not any("columns" in r.message for r in found.related)


def test_a_size_that_the_short_last_batch_of_a_pass_has_not_is_said_to_be_its() -> None:
    text = whole(objective="(defun objective (&key image label) (declare (ignore label))\n"
                 "  (mean (net (reshape image '(32 64)))))\n")  # fmt: skip
    with pytest.raises(Problem) as raised:
        traced_pass(text, rows=8, whole=32)
    shown = render(raised.value.diagnostic)
    assert "the last batch of this pass has 8 rows, the others 32" in shown
    assert "(reshape image '(-1 64))" in shown
