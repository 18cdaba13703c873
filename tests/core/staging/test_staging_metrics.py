"""Losses and metrics in terms of sums over the batch."""

from __future__ import annotations

import pytest
from staging_case import FIELDS, declared, traced, traced_pass, warnings, whole

from sexpgpu_core.compile.pipeline import FINISH
from sexpgpu_core.diagnostics import Problem, Problems
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.staging.trace import trace_pass
from sexpgpu_core.staging.traced import ratios_of

np = pytest.importorskip("numpy")


def metric(form: str, rows: int = 8) -> tuple[str, tuple[str, ...], dict[str, float]]:
    """Kind, finish and results of a metric of x, whose element (i, j) is i + j/64."""
    text = whole(
        objective=f'(defun objective (&key image) (metric "it" {form}) (mean (net image)))\n'
    )
    fields = {k: t._replace(shape=(rows, *t.shape[1:])) for k, t in FIELDS.items()}
    found = traced_pass(text, fields=fields, rows=rows)
    image = np.arange(rows)[:, None] + np.arange(64) / 64
    inputs = {"image": image.astype("f4"), "label": np.zeros(rows, "i4")}
    inputs.update({p.path: np.zeros(p.type.shape, "f4") for p in found.parameters.values()})
    results = run(found.graph, inputs, OPERATIONS)
    (row,) = found.metrics
    values = {k.rsplit(":", 1)[1]: float(v) for k, v in results.items()}
    return row.kind, row.finish, values


def test_a_tensor_is_reduced_over_all_axes() -> None:
    kind, finish, values = metric("image")
    assert (kind, finish) == ("mean", ())
    assert values["weight"] == 8 * 64
    assert values["sum"] / values["weight"] == pytest.approx(3.5 + 63 / 128)


def test_a_mean_is_weighted_by_rows() -> None:
    _, _, values = metric("(mean image)")
    assert values["weight"] == 8
    assert values["sum"] / 8 == pytest.approx(3.5 + 63 / 128)


def test_batches_add_up_to_the_whole() -> None:
    parts = [metric("(mean image)", rows)[2] for rows in (8, 3)]
    together = sum(p["sum"] for p in parts) / sum(p["weight"] for p in parts)
    assert together == pytest.approx((8 * (3.5 + 63 / 128) + 3 * (1 + 63 / 128)) / 11)


def test_a_weighted_mean_keeps_its_weight() -> None:
    kind, _, values = metric("(weighted-mean image (> image 3))")
    assert kind == "mean"
    assert values["weight"] == 4 * 64 + 63
    assert values["sum"] / values["weight"] > 3


def test_a_sum_over_the_batch_is_a_sum_over_all_examples() -> None:
    kind, _, values = metric("(sum image)")
    assert kind == "sum"
    assert values["value"] == pytest.approx(8 * 64 * (3.5 + 63 / 128))


@pytest.mark.parametrize("name", sorted({*FINISH} - {"negate"}))
def test_a_function_of_a_mean_is_taken_at_the_end(name: str) -> None:
    """But for the negative of a mean, which is a mean."""
    kind, finish, values = metric(f"({name} (mean image))")
    assert (kind, finish) == ("mean", (name,))
    assert values["sum"] / values["weight"] == pytest.approx(3.5 + 63 / 128)


def test_a_ratio_of_sums_is_the_ratio_over_all() -> None:
    kind, _, values = metric("(/ (sum (* image image)) (sum image))")
    assert kind == "mean"
    assert values["weight"] == pytest.approx(8 * 64 * (3.5 + 63 / 128))


def test_an_affine_combination_of_means_is_a_mean() -> None:
    _, finish, values = metric("(+ (* 2 (mean image)) (mean (square image)) 1)")
    assert finish == ()
    assert values["weight"] == 8


def test_max_and_min_are_values() -> None:
    assert metric("image :reduce :max")[2]["value"] == pytest.approx(7 + 63 / 64)
    assert metric("image :reduce :min")[0] == "min"


def test_what_does_not_add_is_a_warning_in_a_pass() -> None:
    text = whole(
        objective=(
            '(defun objective (&key image) (metric "m" (mean (square (mean image'
            " :axis 0)))) (mean (net image)))\n"
        )
    )
    experiment, evaluator = declared(text)
    trace_pass(experiment, evaluator, OPERATIONS, "val", "data", "val", FIELDS, 8)
    assert warnings(evaluator) == ["W-METRIC-BATCHWISE"]


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ("(slice (sort image :axis 0) :start 0 :end 1 :axis 0)", True),
        ("(sum (sort image :axis 0) :axis 1)", True),
        ("(square (mean image :axis 0))", True),
        ("(mean image :axis 0)", False),
        ("(mean image :axis 1)", False),
        ("(sort image :axis 1)", False),
        ("(iota 4)", False),
        ("(slice image :axis 0 :start 0 :end 1)", True),
        ("(mean (slice image :axis 0 :start 0 :end 1))", True),
        ("(/ (sum (slice image :axis 0 :end 1)) (sum image))", True),
        ("(slice (transpose image) :axis 1 :start 0 :end 1)", True),
        ("(slice (reshape image (list -1)) :axis 0 :end 1)", True),
        ("(pad image '((0 1) (0 0)))", True),
        ("(gather image 0)", True),
        ("(tref image 0)", True),
        ("(top-k image 2 :axis 0)", True),
        ("(slice-set image (ones (list 1 64)) :start 0)", True),
        ("(slice image :axis 1 :start 0 :end 1)", False),
        ("(slice image :axis 0 :start 0 :end 8)", False),
        ("(slice image :axis 0 :end 4) :reduce :sum", True),
        ("(sort image :axis 0) :reduce :max", True),
        ("(mean image) :reduce :max", True),
        ("(sum image) :reduce :max", True),
        ("(sum image) :reduce :sum", False),
        ("image :reduce :min", False),
        ("(sort image :axis 0) :weights (ones (list 8 64))", True),
        ("(mean image :axis 1) :weights (ones (list 8))", False),
    ],
)
def test_a_tensor_in_which_examples_meet_is_a_warning_in_a_pass(form: str, told: bool) -> None:
    objective = f'(defun objective (&key image) (metric "m" {form}) (mean (net image)))\n'
    experiment, evaluator = declared(whole(objective=objective))
    trace_pass(experiment, evaluator, OPERATIONS, "val", "data", "val", FIELDS, 8)
    assert warnings(evaluator) == (["W-METRIC-BATCHWISE"] if told else [])


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ("(mean image) :reduce :max", "the greatest of all batches"),
        ("(sort image :axis 0) :reduce :min", "the least of all batches"),
        ("(slice image :axis 0 :end 4) :reduce :sum", "added up over batches"),
        ("(square (mean image :axis 0))", "averaged over batches"),
    ],
)
def test_the_warning_says_what_a_pass_makes_of_the_batches(form: str, told: str) -> None:
    objective = f'(defun objective (&key image) (metric "m" {form}) (mean (net image)))\n'
    experiment, evaluator = declared(whole(objective=objective))
    trace_pass(experiment, evaluator, OPERATIONS, "val", "data", "val", FIELDS, 8)
    assert [told in d.message for d in evaluator.diagnostics] == [True]


def test_in_a_batch_of_one_example_none_meet() -> None:
    objective = (
        '(defun objective (&key image) (metric "m" (mean image :axis 0)) (mean (net image)))\n'
    )
    experiment, evaluator = declared(whole(objective=objective))
    fields = {k: t._replace(shape=(1, *t.shape[1:])) for k, t in FIELDS.items()}
    trace_pass(experiment, evaluator, OPERATIONS, "val", "data", "val", fields, 1)
    assert warnings(evaluator) == []


def test_a_tensor_in_which_examples_meet_is_weighted_by_rows() -> None:
    form = "(slice (sort image :axis 0) :start 0 :end 1 :axis 0)"
    for rows in (8, 3):
        _, _, values = metric(form, rows)
        assert values["weight"] == rows
        assert values["sum"] / rows == pytest.approx(63 / 128)


def test_the_mean_over_examples_of_a_tensor_adds_up_to_the_whole() -> None:
    parts = [metric("(mean image :axis 0)", rows)[2] for rows in (8, 3)]
    together = sum(p["sum"] for p in parts) / sum(p["weight"] for p in parts)
    assert together == pytest.approx((8 * (3.5 + 63 / 128) + 3 * (1 + 63 / 128)) / 11)


def test_metrics_by_an_index_are_one_an_index() -> None:
    text = whole(
        objective=(
            '(defun objective (&key image label) (metric "a" (mean image :axis 1)'
            " :by label :names 3) (mean (net image)))\n"
        )
    )
    assert [m.name for m in traced(text).metrics] == ["a/0", "a/1", "a/2"]


def test_a_pass_without_metrics_reports_the_objective() -> None:
    text = whole(objective="(defun objective (&key image) (mean (net image)))\n")
    assert [m.name for m in traced_pass(text).metrics] == ["objective"]


def test_evaluate_takes_the_objectives_place_in_a_pass() -> None:
    text = whole(
        evaluate=(
            '(defun evaluate (&key image label) (metric "hit" (nn:accuracy (net image) label)))\n'
        )
    )
    assert [m.name for m in traced_pass(text).metrics] == ["hit"]
    assert [m.name for m in traced(text).metrics] == ["loss"]


@pytest.mark.parametrize(
    ("form", "operation"),
    [
        ("(exp (mean y))", "exp"),
        ("(+ (mean (square y)) (* 2 (exp (mean y))))", "exp"),
        ("(* 3 (sqrt (mean (square y))))", "sqrt"),
        ("(* (mean y) (mean (square y)))", "multiply"),
    ],
)
def test_a_loss_that_is_no_mean_needs_one_block(form: str, operation: str) -> None:
    objective = f"(defun objective (&key image) (let ((y (net image))) {form}))\n"
    text = whole(objective=objective)
    assert traced(text).losses == ("loss",)
    with pytest.raises(Problem) as caught:
        traced(text, microbatches=2)
    found = caught.value.diagnostic
    assert (found.code, found.facts["operation"]) == ("E-OBJECTIVE-NONLINEAR", operation)
    assert found.message.endswith(f": {operation}")


def test_an_affine_loss_may_be_cut_into_blocks() -> None:
    text = whole(
        objective=(
            "(defun objective (&key image label) (+ (nn:cross-entropy (net image)"
            " label) (* 0.1 (nn:mse image 0.0))))\n"
        )
    )
    assert traced(text, microbatches=2).losses == ("loss",)


def test_several_losses_are_named() -> None:
    text = whole(
        objective="(defun objective (&key image) (losses :a (mean (net image)) :b (mean image)))\n"
    )
    assert traced(text).losses == ("loss:a", "loss:b")


@pytest.mark.parametrize(
    ("form", "code"),
    [
        ("(weighted-mean (square y) (sum y :axis 1 :keep t))", "E-WEIGHT-DEPENDS"),
        ("(/ (sum (square y)) (sum (abs y)))", "E-OBJECTIVE-NONLINEAR"),
        ("(+ (sum y) (mean y))", "E-OBJECTIVE-NONLINEAR"),
        ("(* (mean y) (mean y))", "E-OBJECTIVE-NONLINEAR"),
        ("(mean (slice y :axis 0 :end 1))", "E-OBJECTIVE-NONLINEAR"),
        ("(sum (slice y :axis 0 :end 1))", "E-OBJECTIVE-NONLINEAR"),
        ("(mean (pad y '((0 1) (0 0))))", "E-OBJECTIVE-NONLINEAR"),
    ],
)
def test_a_loss_that_blocks_would_change_is_told(form: str, code: str) -> None:
    text = whole(
        objective=f"(defun objective (&key image) (let ((y (net image))) {form}))\n",
    )
    with pytest.raises(Problem) as caught:
        traced(text, microbatches=2)
    assert caught.value.diagnostic.code == code
    assert caught.value.diagnostic.span is not None


def test_a_ratio_of_sums_by_data_and_two_weighted_means_are_ratios_of_the_loss() -> None:
    form = """(+ (/ (sum (* (net image) 2)) (sum image))
                 (* 3 (weighted-mean (net image) (slice image :axis 1 :end 10)))
                 (mean (net image)))"""
    found = traced(whole(objective=f"(defun objective (&key image) {form})\n"), microbatches=2)
    assert len(ratios_of(found.graph)) == 2
    assert found.summed == frozenset()


@pytest.mark.parametrize(
    "form",
    [
        "(/ (sum (net image)) (* 10 (dim image 0)))",
        "(+ (mean (net image)) (* 1e-3 (sum (square (loss-of-none)))))",
        "(+ (nn:cross-entropy (net image) label) (per-block (exp (mean (net image)))))",
        "(+ (weighted-mean (mean (net image) :axis 1) (cast (> label 3) :f32)) (mean (net image)))",
    ],
)
def test_terms_that_a_loss_may_have_in_blocks(form: str) -> None:
    """A sum by a static count, what no example reaches, per-block, means of unlike weights."""
    none = "(defun loss-of-none () (iota 3 :dtype :f32))\n"
    head = f"(defun objective (&key image label) (progn label {form}))\n"
    assert traced(whole(objective=none + head), microbatches=2).losses == ("loss",)


def test_a_loss_that_is_a_sum_is_named() -> None:
    found = traced(whole(objective="(defun objective (&key image) (sum (net image)))\n"))
    assert found.summed == {"loss"}


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ('(metric "objective" (mean image))', "another name"),
        ("(metric 'loss (mean image))", '(metric "loss" x)'),
        ('(metric "m" (mean image :axis 1) :weights (ones (list 3)))', "f32 (3)"),
        ('(metric "m" (mean image) :by label :names 3)', "before its mean is taken"),
        ('(metric "m" (mean image :axis 1) :by label)', "names that differ"),
        ('(metric "m" (mean image :axis 1) :by label :names (list "a" "a"))', "names that differ"),
        ('(metric "m" (mean image :axis 1) :by label :names 3 :reduce :max)', "those of a mean"),
    ],
)
def test_a_metric_that_would_say_something_else_is_refused(form: str, says: str) -> None:
    text = whole(objective=f"(defun objective (&key image label) {form} (mean (net image)))\n")
    with pytest.raises((Problem, Problems)) as raised:
        traced(text)
    error = raised.value
    found = error.diagnostic if isinstance(error, Problem) else error.diagnostics[0]
    assert found.code == "E-METRIC"
    assert found.span is not None
    assert says in f"{found.message} {found.hint}"


def test_a_number_and_a_step_scalar_are_reported_as_they_are() -> None:
    assert metric("3")[2]["sum"] / metric("3")[2]["weight"] == 3
    text = whole(
        objective='(defun objective (&key image) (metric "m" (ctx :progress)) (mean (net image)))\n'
    )
    assert [m.name for m in traced(text).metrics] == ["m"]
