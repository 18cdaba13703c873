"""A halt names what was first not finite: file, line, operation, the range of what it was given."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest
from run_file import events

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
