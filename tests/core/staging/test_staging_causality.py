"""Claims of causality are proved or refused where positions leak; labels that a model reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from staging_case import OPERATIONS, declared, faults, trace_stage, traced, whole

from sexpgpu_core.diagnostics import Diagnostic
from sexpgpu_core.ir.types import Type

ROOT = Path(__file__).parents[3]


def claimed(form: str) -> str:
    """A file that claims a form of h, f32 (8 8 8), to be causal."""
    return whole(
        model="(defmodel net (x)\n"
        "  (let ((h (reshape (nn:linear x 64) '(8 8 8))))\n"
        f"    (nn:linear (flatten (causal {form} h) :start 1) 10)))\n"
    )


SCAN = "(nth-value 1 (scan (lambda (c v) (values (+ c v) (* c v))) (zeros '(8 8)) {}))"
PROVED = [
    "(tanh h)",
    "(nn:rms-norm (nn:mlp h))",
    "(+ h (nn:attention (nn:layer-norm h) :heads 2 :causal t))",
    "(matmul (softmax (matmul h (transpose h)) :mask (causal-mask 8)) h)",
    "(concat (zeros '(8 1 8)) (slice h :axis 1 :end -1) :axis 1)",
    "(cumsum h :axis 1)",
    "(associative-scan #'+ h :axis 1)",
    "(slice (associative-scan #'max (concat h h h :axis 1) :axis 1) :axis 1 :end 8)",
    "(flip (cumsum (flip h :axis 1) :axis 1 :reverse t) :axis 1)",
    "(gather h (iota 8) :axis 1)",
    "(gather h (tensor '(0 0 1 2 3 4 5 6)) :axis 1)",
    "(gather (gather h (- 7 (iota 8)) :axis 1) (- 7 (iota 8)) :axis 1)",
    "(take-along h (broadcast-to (reshape (floor (iota 8) 2) '(1 8 1)) '(8 8 8)) :axis 1)",
    f"(flip {SCAN.format('(flip h :axis 1) :axis 1 :reverse t')} :axis 1)",
    "(nth-value 1 (scan (lambda (c v) (values (+ c v) c)) (zeros '(8 8)) h :axis 1))",
    "(map-over (lambda (row) (cumsum row)) h)",
    '(checkpoint (nn:attention (nn:layer-norm h) :heads 2 :causal t :name "a"))',
]
LATE = "(<= (unsqueeze (iota 8) 0) (+ 1 (unsqueeze (iota 8) 1)))"
REFUSED = [
    (
        "(associative-scan #'+ h :axis 1 :reverse t)",
        "associative-scan may read positions in reverse order, later ones too",
        "(associative-scan #'+ h :axis 1 :reverse t)",
    ),
    (
        f"(flip {SCAN.format('(flip h :axis 1) :axis 1')} :axis 1)",
        "flip may read positions in reverse order, later ones too",
        "(flip h :axis 1)",
    ),
    (
        "(gather h (mod (+ (iota 8) 1) 8) :axis 1)",
        "gather may read up to 1 position later than its own",
        "(gather h (mod (+ (iota 8) 1) 8) :axis 1)",
    ),
    (
        "(pad (slice h :axis 1 :step 2) '((0 0) (0 4) (0 0)))",
        "slice may read positions 2 times as far, later ones too",
        "(slice h :axis 1 :step 2)",
    ),
    (
        f"(matmul (softmax (where {LATE} (matmul h (transpose h)) -1e9)) h)",
        "softmax may read up to 1 position later than its own",
        f"(softmax (where {LATE} (matmul h (transpose h)) -1e9))",
    ),
    (
        "(nn:attention (nn:layer-norm h) :heads 2)",
        "attention in nn:attention may read every position, later ones too",
        "(nn:attention (nn:layer-norm h) :heads 2)",
    ),
    (
        "(concat (slice h :axis 1 :start 1) (zeros '(8 1 8)) :axis 1)",
        "slice may read up to 1 position later than its own",
        "(slice h :axis 1 :start 1)",
    ),
    (
        "(- h (mean h :axis 1 :keep t))",
        "mean may read every position, later ones too",
        "(mean h :axis 1 :keep t)",
    ),
    (
        "(cumsum h :axis 1 :reverse t)",
        "cumsum may read all later positions",
        "(cumsum h :axis 1 :reverse t)",
    ),
    (
        "(+ h (unsqueeze (scan (lambda (c v) (+ c v)) (zeros '(8 8)) h :axis 1) 1))",
        "scan may read every position, later ones too",
        "(scan (lambda (c v) (+ c v)) (zeros '(8 8)) h :axis 1)",
    ),
]


@pytest.mark.parametrize("form", PROVED)
def test_what_sees_no_later_position_is_proved(form: str) -> None:
    assert faults(claimed(form)) == []


@pytest.mark.parametrize(("form", "says", "place"), REFUSED)
def test_a_leak_is_told_at_the_operation_with_its_way(form: str, says: str, place: str) -> None:
    (found,) = faults(claimed(form))
    assert (found.code, found.message) == ("E-CAUSAL", says)
    assert found.span is not None
    assert found.span.text == place
    claim, way = found.related
    assert claim.span is not None
    assert claim.span.text == f"(causal {form} h)"
    assert way.message.startswith("the way: reshape > ")
    assert " > " + found.facts["operation"] in way.message


def test_what_is_proved_is_kept_in_words() -> None:
    assert traced(claimed("(tanh h)")).proved == (
        "f32 (8 8 8) sees f32 (8 8 8) up to its own position, line 10",
    )
    experiment, evaluator = declared(CHARS)
    found = trace_stage(experiment, evaluator, OPERATIONS, "chars", "train", TOKENS, 4)
    assert found.proved == ("logits at t see tokens up to t, their label is tokens at t + 1",)
    lost = declared(CHARS.replace(":causal t", ""))
    assert trace_stage(*lost, OPERATIONS, "chars", "train", TOKENS, 4).proved == ()


def test_attention_without_a_mask_is_offered_one() -> None:
    text = claimed("(nn:attention (nn:layer-norm h) :heads 2)")
    (found,) = faults(text)
    assert found.edit is not None
    (change,) = found.edit.changes
    assert faults(text[: change.span.start] + change.new + text[change.span.end :]) == []


def test_a_claim_is_about_one_axis_of_both() -> None:
    (found,) = faults(claimed("(slice h :axis 1 :end -1)"))
    assert found.code == "E-SHAPE-ARGUMENT"
    (found,) = faults(claimed("(sum h :axis '(1 2))"))
    assert found.code == "E-SHAPE-AXIS"


CHARS = (ROOT / "examples" / "chars.lisp").read_text(encoding="utf-8")
SHIFT = "(batch :inputs (slice tokens :axis 1 :end -1) :targets (slice tokens :axis 1 :start 1))"
TOKENS = {"tokens": Type("i32", (4, 65))}


def told(text: str) -> list[Diagnostic]:
    """Warnings about what the model of a text reads."""
    experiment, evaluator = declared(text)
    trace_stage(experiment, evaluator, OPERATIONS, "chars", "train", TOKENS, 4)
    codes = ("W-TARGET-LEAK", "W-TARGET-GAP", "W-BATCH-DEPENDENCE")
    return [d for d in evaluator.diagnostics if d.code in codes]


def test_a_model_that_reads_what_comes_before_its_labels_is_not_warned_of() -> None:
    assert SHIFT in CHARS
    assert told(CHARS) == []


BLOCK = CHARS[CHARS.index("(defmodel gpt-block") : CHARS.index("(defmodel gpt (tokens)")]
CHUNKS = """
(defmodel gpt-block (x)
  (bind-shape (b n d) x
    (let* ((c 16) (m (floor n c))
           (h (reshape (nn:layer-norm x :bias nil) (list b m c d)))
           (kv (cumsum (matmul (transpose h) h) :axis 1))
           (before (slice (pad kv '((0 0) (1 0) (0 0) (0 0))) :axis 1 :end m))
           (within (where (causal-mask c) (matmul h (transpose h)) 0)))
      (+ x (reshape (+ (matmul within h) (matmul h before)) (list b n d))))))
"""
"""Linear attention by chunks: a running sum of states that is one chunk late."""
MAMBA = """
(defmodel gpt-block (x)
  (+ x (nn:mamba2 (nn:layer-norm x :bias nil) :state-size 8 :head-size 16 :chunk 16)))
"""


@pytest.mark.parametrize("block", [CHUNKS, MAMBA])
def test_a_causal_model_by_chunks_is_not_warned_of(block: str) -> None:
    assert told(CHARS.replace(BLOCK, block)) == []


@pytest.mark.parametrize(("was", "now"), [("h before", "h kv"), ("(causal-mask c)", "t")])
def test_one_that_reads_its_own_chunk_whole_leaks_the_labels(was: str, now: str) -> None:
    assert was in CHUNKS
    (found,) = told(CHARS.replace(BLOCK, CHUNKS.replace(was, now)))
    assert found.code == "W-TARGET-LEAK"


def test_a_mask_that_is_lost_leaks_the_labels() -> None:
    (found,) = told(CHARS.replace(":causal t", ""))
    assert found.code == "W-TARGET-LEAK"
    assert "the logits at t may read tokens at t + 1, which is their label" in found.message
    assert any(
        "attention in nn:attention may read every position" in r.message for r in found.related
    )
    assert found.edit is not None
    assert found.edit.changes[0].new == " :causal t"


def test_inputs_that_are_shifted_with_their_labels_leak_them() -> None:
    for bound, at in ((":start 1", "t + 1"), (":end -1", "t,")):
        same = f"(slice tokens :axis 1 {bound})"
        (found,) = told(CHARS.replace(SHIFT, f"(batch :inputs {same} :targets {same})"))
        assert found.code == "W-TARGET-LEAK"
        assert f"tokens at {at}" in found.message
        assert found.span is not None


def test_a_shift_in_the_wrong_direction_leaks_the_labels() -> None:
    ahead, behind = "(slice tokens :axis 1 :start 1)", "(slice tokens :axis 1 :end -1)"
    (found,) = told(CHARS.replace(SHIFT, f"(batch :inputs {ahead} :targets {behind})"))
    assert found.code == "W-TARGET-LEAK"
    assert "tokens at t, which is their label" in found.message


LOGITS = "(nn:cross-entropy (gpt inputs) targets)"


def test_tokens_that_are_turned_round_and_back_leak_what_comes_next() -> None:
    assert LOGITS in CHARS
    back = "(flip (gpt (flip inputs :axis 1)) :axis 1)"
    (found,) = told(CHARS.replace(LOGITS, f"(nn:cross-entropy {back} targets)"))
    assert found.code == "W-TARGET-LEAK"
    once = "(flip (flip (gpt inputs) :axis 1) :axis 1)"
    assert told(CHARS.replace(LOGITS, f"(nn:cross-entropy {once} targets)")) == []


def test_a_mask_that_is_off_by_one_leaks_the_labels() -> None:
    key, query = "(unsqueeze (iota 64) 0)", "(unsqueeze (iota 64) 1)"
    text = CHARS.replace(":causal t", f":mask (<= {key} (+ {{}} {query}))")
    (found,) = told(text.format(1))
    assert found.code == "W-TARGET-LEAK"
    assert told(text.format(0)) == []


def test_labels_that_are_shifted_twice_are_told() -> None:
    text = CHARS.replace(
        "(nn:cross-entropy (gpt inputs) targets)",
        "(nn:cross-entropy (slice (gpt inputs) :axis 1 :end -1) (slice targets :axis 1 :start 1))",
    )
    (found,) = told(text)
    assert found.code == "W-TARGET-GAP"
    assert "2 positions after the last one that the model reads" in found.message


def test_masked_inputs_of_a_model_that_sees_both_ways_are_left_alone() -> None:
    text = CHARS.replace(":causal t", "").replace(
        SHIFT,
        "(let ((x (slice tokens :axis 1 :end -1)))"
        " (batch :inputs (where (random-bernoulli nil 0.15 :like x) 0 x) :targets x))",
    )
    assert told(text) == []


MIXED = {
    "(softmax (nn:linear x 10) :axis 0)": "softmax runs along the batch",
    "(sort (nn:linear x 10) :axis 0)": "sort runs along the batch",
    "(- x (mean x :axis 0 :keep t))": "mean over the batch meets the examples again",
    "(/ x (norm x))": "norm over the batch meets the examples again",
    "(matmul x (transpose x))": "matmul pairs each example with each other",
    "(- (unsqueeze (sum x :axis 1) 0) (unsqueeze (sum x :axis 1) 1))": "- pairs each example",
}
APART = [
    "(nn:linear x 10)",
    "(layer-norm x)",
    "(reshape (nn:linear (reshape x '(64 8)) 8) '(8 64))",
    "(reshape (softmax (reshape x '(8 8 8)) :axis 1) '(8 64))",
    "(matmul x (transpose (nn:linear (zeros '(3 64)) 64)))",
    "(+ (mean x) (mean (square x)))",
    "(- x (mean x :axis 1 :keep t))",
]


def mixed(form: str) -> list[Diagnostic]:
    text = whole(
        model=f"(defmodel net (x)\n  {form})\n",
        objective="(defun objective (&key image) (mean (square (net image))))\n",
    )
    experiment, evaluator = declared(text)
    fields = {"image": Type("f32", (8, 64)), "label": Type("i32", (8,))}
    trace_stage(experiment, evaluator, OPERATIONS, "data", "train", fields, 8)
    return [d for d in evaluator.diagnostics if d.code == "W-BATCH-DEPENDENCE"]


@pytest.mark.parametrize("form", MIXED)
def test_an_operation_that_mixes_examples_is_named(form: str) -> None:
    (found,) = mixed(form)
    assert found.message.startswith(MIXED[form])
    assert found.span is not None
    assert found.span.text in form


@pytest.mark.parametrize("form", APART)
def test_examples_that_stay_apart_are_left_alone(form: str) -> None:
    assert mixed(form) == []


def test_what_is_meant_over_a_block_has_said_so() -> None:
    assert {d.message for d in mixed("(- x (per-block (mean x :axis 0)))")} == {
        "a value is meant over the 8 rows of a block"
    }
    batch_norm = mixed("(nn:batch-norm (nn:linear x 10))")
    assert {d.message for d in batch_norm} == {"a value is meant over the 8 rows of a block"}
