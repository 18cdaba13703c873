"""A halt names what was first not finite: file, line, operation, the range of what it was given."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from run_file import HERE, events

from sexpgpu_core import api
from sexpgpu_core.diagnostics.example import Example

sys.path.append(str(Path(__file__).parents[1] / "e2e"))
from code_cases import whole

NET = "(defmodel net (x)\n  {})"
FORWARD = NET.format("(nn:linear (exp (* 100.0 x)) 10)")
LOOP = NET.format(
    "(nn:linear (values (scan (lambda (h v) (values (* 1e3 h) (+ h (mean v))))\n"
    "    (exp (ones (list (dim x 0) 4))) (reshape x (list (dim x 0) 64 1)) :axis 1)) 10)"
)
BACKWARD = NET.format("(nn:linear (sqrt (abs (nn:linear x 8 :init 0 :bias nil))) 10)")
UPDATE = (
    "(defoptimizer broken (&key (lr 0.1))\n"
    "  (optimizer-update (param grad) (/ (* lr param) (* 0.0 grad))))\n"
    "(defun optimizer () (groups (group :rest (broken))))"
)
CASES = [
    ("f32", FORWARD, "exp", "(exp (* 100.0 x))", "net"),
    ("bf16", FORWARD, "exp", "(exp (* 100.0 x))", "net"),
    ("f16", FORWARD, "exp", "(exp (* 100.0 x))", "net"),
    ("f32", LOOP, "multiply", "(* 1e3 h)", "net"),
    ("f16", LOOP, "multiply", "(* 1e3 h)", "net"),
    ("f32", UPDATE, "broken", "(group :rest (broken))", "net/linear/w"),
]


def halted(forms: str, precision: str, folder: Path) -> api.Summary:
    forms += f"\n(defrun :steps 3 :precision :{precision})"
    file = folder / "x.lisp"
    file.write_text(whole(Example("", "file", forms, forms, {}), forms + "\n"), encoding="utf-8")
    return api.run(file, runs_root=folder)


@pytest.mark.parametrize(("precision", "forms", "operation", "text", "scope"), CASES)
def test_a_halt_names_the_operation_its_place_and_what_it_was_given(
    precision: str, forms: str, operation: str, text: str, scope: str, tmp_path: Path
) -> None:
    done = halted(forms, precision, tmp_path)
    assert (done.state, done.exit) == ("failed", 3)
    error = done.error
    assert error is not None
    assert error.code == "E-RUN-NONFINITE"
    assert f"({operation} ...) in {scope} was first" in error.message
    assert error.span is not None
    assert error.span.text == text
    cause = events(done.folder, "guard")[-1]["cause"]
    assert (cause["operation"], cause["scope"]) == (operation, scope)
    assert cause["file"].endswith("x.lisp")
    assert cause["span"]["line"] == error.span.source.text[: error.span.start].count("\n") + 1
    given = cause["inputs"][0]
    low, high = float(given["minimum"]), float(given["maximum"])
    assert low <= high or math.isnan(low)
    assert given["non_finite"] == (0 if operation != "broken" else 640)


def test_a_gradient_that_is_not_finite_is_named_by_what_it_is_of(tmp_path: Path) -> None:
    done = halted(BACKWARD, "f32", tmp_path)
    error = done.error
    assert error is not None
    assert "gradient norm of step 1 is nan" in error.message or "was first" in error.message
    assert error.span is not None
    assert "sqrt" in error.span.text or "abs" in error.span.text


def test_a_norm_that_overflows_is_told_as_that_where_gradients_are_finite(tmp_path: Path) -> None:
    done = halted(NET.format("(nn:linear (* 1e30 x) 10 :init 0 :bias nil)"), "f32", tmp_path)
    error = done.error
    assert error is not None
    assert error.message == (
        "the gradient norm of step 1 is inf; every gradient is finite, but the sum of their "
        "squares is too large for f32"
    )
    cause = events(done.folder, "guard")[-1]["cause"]
    assert (cause["scope"], cause["inputs"][0]["non_finite"]) == ("", 0)
    assert float(cause["inputs"][0]["maximum"]) > 1e19


REINFORCE = """(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader nothing (source (none)) (stage :train) (batch 32))
(defun prepare ()
  (batch :seen (random-normal (list (batch-rows) 4) :batch 0)
         :reward (ones (list (batch-rows)))
         :action (random-int (list (batch-rows)) 0 3 :batch 0)))
(defmodel policy (s) (nn:layers s '(16 3)))
(defun advantage (r)
  (let ((centred (- r (mean r)))) (/ centred (sqrt (mean (square centred))))))
(defun objective (&key seen reward action)
  (metric "loss"
    (mean (* (stop-gradient (advantage reward)) (cross-entropy (policy seen) action)))))
(defun optimizer () (groups (group :rest (optim:adamw :lr 1e-3))))
(defrun :steps 5 :seed 1)
"""

KINDS = {
    "two players: one's loss": (
        "two_players",
        {"(softplus (- (critic false)))": "(log (critic false))"},
        "(log (critic false))",
        "(log ...) in the root was first",
    ),
    "two players: a gradient": (
        "two_players",
        {
            "(nn:layers x '(16 1))": "(* (nn:layers x '(16 1))"
            " (sqrt (sum (square (- x x)) :axis 1 :keep t)))"
        },
        "(sqrt (sum (square (- x x)) :axis 1 :keep t))",
        "(divide ...) of the gradient of (sqrt ...) in critic was first",
    ),
    "a scan": (
        "carried_state",
        {"(tanh (+ x (matmul h w)))": "(exp (* 50.0 (+ x (matmul h w))))"},
        "(exp (* 50.0 (+ x (matmul h w))))",
        "(exp ...) in reader was first",
    ),
    "a policy whose rewards are all alike": (
        "",
        {REINFORCE: REINFORCE},
        "(/ centred (sqrt (mean (square centred))))",
        "in the root was first",
    ),
    "a graph with a node of no neighbours": (
        "graph",
        {"(matmul edges x)": "(/ (matmul edges x) (sum edges :axis 1 :keep t))"},
        "(/ (matmul edges x) (sum edges :axis 1 :keep t))",
        "(divide ...) in net was first",
    ),
    "microbatches, of which some go wrong, and EMA": (
        "masked_gpt",
        {"(gather wte tokens) wpe": "(gather wte tokens) (log (cast (- 120 tokens) :f32)) wpe"},
        "(log (cast (- 120 tokens) :f32))",
        "(log ...) in gpt was first",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_in_files_of_unlike_kinds_the_place_is_what_the_user_wrote(
    kind: str, tmp_path: Path
) -> None:
    file, changed, text, told = KINDS[kind]
    source = (HERE / f"{file}.lisp").read_text(encoding="utf-8") if file else REINFORCE
    for old, new in changed.items():
        assert old in source
        source = source.replace(old, new, 1)
    if file == "masked_gpt":
        source = source.replace("(defknob blocks 1", "(defknob blocks 4")
        source = source.replace(
            "(log (cast (- 120 tokens) :f32))",
            "(reshape (log (cast (- 120 tokens) :f32)) (list (dim tokens 0) (dim tokens 1) 1))",
        )
    path = tmp_path / "x.lisp"
    path.write_text(source, encoding="utf-8")
    draw = np.random.default_rng(0)
    edges = (draw.random((40, 40)) < 0.2).astype(np.float32)
    edges[3] = 0
    given = {"edges": edges, "x": draw.normal(size=(40, 8)).astype(np.float32)}
    given.update({n: draw.integers(0, 2, 40).astype(np.int32) for n in ("label", "split")})
    np.savez(tmp_path / "graph.npz", **given)
    done = api.run(path, runs_root=tmp_path)
    error = done.error
    assert error is not None
    assert (done.exit, error.code) == (3, "E-RUN-NONFINITE")
    assert told in error.message
    assert error.span is not None
    assert " ".join(error.span.text.split()) == text
