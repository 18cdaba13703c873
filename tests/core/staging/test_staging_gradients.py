"""Gradients as values, gradients of one's own, and what a checkpoint changes and does not."""

from __future__ import annotations

import numpy as np
import pytest
from staging_case import body, evaluated, graph_of, only, traced, value_of

from sexpgpu_core.autodiff import differentiate
from sexpgpu_core.ir import Value
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.text import parse, same, write
from sexpgpu_core.ir.types import Type
from sexpgpu_core.ir.verify import verify
from sexpgpu_core.kernels.fuse import schedule
from sexpgpu_core.passes.optimize import optimize
from sexpgpu_core.plan.make import layout_persistent, make_plan
from sexpgpu_core.plan.plan import Plan, Region

X = np.linspace(-1.3, 1.7, 8 * 3).reshape(8, 3)


DEVICE = pytest.importorskip("sexpgpu_cpu.operations", reason="what the CPU calls is its own")
LIBRARY_OPERATIONS = DEVICE.LIBRARY_OPERATIONS


def differences(form: str, x: np.ndarray, eps: float = 1e-5) -> np.ndarray:
    """The gradient of a scalar form of x by central differences in f64."""
    graph = graph_of(form, Type("f64", x.shape))
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = eps
        high = run(graph, {"image": x + step}, OPERATIONS)["0"]
        low = run(graph, {"image": x - step}, OPERATIONS)["0"]
        found[place] = (high - low) / (2 * eps)
    return found


@pytest.mark.parametrize(
    "scalar",
    [
        "(sum (square x))",
        "(sum (tanh (matmul x (transpose x))))",
        "(sum (square (grad (sum (exp (sin x))) x)))",
        "(sum (* x (grad (sum (square (grad (sum (exp x)) x))) x)))",
        "(sum (checkpoint (tanh (* x (exp x)))))",
        "(sum (square (grad (sum (checkpoint (tanh (* x (exp x))))) x)))",
    ],
)
def test_grad_is_the_limit_of_differences_also_of_a_gradient(scalar: str) -> None:
    (found,) = evaluated(f"(grad {scalar} x)", X, "f64")
    np.testing.assert_allclose(found, differences(scalar, X), rtol=2e-7, atol=2e-7)


def test_grad_gives_a_value_an_x_and_zeros_where_no_gradient_flows() -> None:
    form = "(let ((y (* 2 x))) (grad (sum (+ (square x) (stop-gradient y))) x y))"
    dx, dy = evaluated(form, X, "f64")
    np.testing.assert_allclose(dx, 2 * X)
    np.testing.assert_array_equal(dy, np.zeros_like(X))


def test_value_and_grad_gives_the_value_first() -> None:
    value, dx = evaluated("(value-and-grad (lambda (v) (sum (square v))) x)", X, "f64")
    np.testing.assert_allclose(value, (X * X).sum())
    np.testing.assert_allclose(dx, 2 * X)


def test_a_custom_gradient_gives_the_forward_value_and_the_backward_gradient() -> None:
    form = "(custom-gradient #'round (lambda (v y dy) (* dy (- v y))) x)"
    (value,) = evaluated(form, X, "f64")
    (dx,) = evaluated(f"(grad (sum (square {form})) x)", X, "f64")
    np.testing.assert_array_equal(value, np.round(X))
    np.testing.assert_allclose(dx, 2 * np.round(X) * (X - np.round(X)))


def test_a_custom_gradient_of_several_values_may_use_what_is_around_it() -> None:
    form = """(let ((c (sum x)))
      (grad (multiple-value-bind (s p)
                (custom-gradient (lambda (a b) (values (+ a b) (* a b)))
                                 (lambda (a b s p ds dp) (values (* c ds) (+ dp p)))
                                 x (exp x))
              (sum (+ s (* 3 p))))
            x))"""
    (dx,) = evaluated(form, X, "f64")
    e = np.exp(X)
    np.testing.assert_allclose(dx, X.sum() + (3 + X * e) * e)


def test_a_graph_with_a_body_prints_and_reads_back() -> None:
    graph = graph_of("(custom-gradient #'round (lambda (v y dy) (* dy (- v y))) x)")
    verify(graph, OPERATIONS)
    assert graph.bodies
    assert same(parse(write(graph)), graph)


@pytest.mark.parametrize(
    ("form", "code", "part"),
    [
        ("(grad (sum x) (exp x))", "E-GRAD-UNREACHED", "not computed from"),
        ("(grad x x)", "E-SHAPE-ARGUMENT", "wants a scalar"),
        ("(grad (sum x) (argmax x))", "E-DTYPE-ARGUMENT", "it takes floats"),
        ("(custom-gradient #'round (lambda (v) v) x)", "E-CALL-ARGUMENTS", "3 arguments"),
        ("(custom-gradient #'round (lambda (v y d) (sum d)) x)", "E-CONTRACT", "as x is"),
        ("(custom-gradient #'exp (lambda (v y d) (values d d)) x)", "E-CONTRACT", "2 values"),
    ],
)
def test_mistakes_are_told_where_they_stand(form: str, code: str, part: str) -> None:
    found = only(body(form))
    assert found.code == code
    assert part in found.message
    assert found.span is not None


def test_a_tensor_of_the_backward_function_may_not_leave_it() -> None:
    form = """(let ((kept nil))
      (custom-gradient #'exp (lambda (v y dy) (setf kept dy) dy) x)
      (+ kept x))"""
    found = only(body(form))
    assert found.code == "E-STAGE-ESCAPE"
    assert "custom-gradient" in found.message


def test_a_parameter_in_a_checkpoint_is_one_input() -> None:
    model = """(defmodel net (x)
      (defparam w (64 64) :init (normal 0.1))
      (+ (matmul x w) (checkpoint (tanh (matmul x w)))))
    """
    text = body("x").replace("(defmodel net (x) x)\n", model)
    inputs = [n.get("name") for n in traced(text).graph.inputs()]
    assert inputs.count("net/w") == 1


# What a checkpoint is for ----------------------------------------------------------------------
DEEP = "(dotimes (i 6 x) (setf x ({} (matmul (tanh (* 2 (tanh x))) (full '(64 64) 0.01)))))"


def planned(form: str) -> tuple[Plan, np.ndarray]:
    """The plan of the gradient of the sum of a form of x, and its value."""
    graph = graph_of(form, Type("f32", (64, 64)))
    x = Value(next(n for n in graph.inputs() if n.get("name") == "image"))
    total = _appended(graph)
    g = differentiate(graph, OPERATIONS, total, {"x": x})["x"]
    assert g is not None
    graph.results = {"0": g}
    verify(graph, OPERATIONS)
    image = np.linspace(-1, 1, 64 * 64, dtype=np.float32).reshape(64, 64)
    found = run(graph, {"image": image}, OPERATIONS)["0"]
    small, _ = optimize(graph, OPERATIONS, LIBRARY_OPERATIONS.__contains__)
    cut = schedule(small, OPERATIONS, LIBRARY_OPERATIONS.__contains__)
    return make_plan("test", cut, layout_persistent({})), found


def _appended(graph):
    from sexpgpu_core.ir import Builder

    return Builder(OPERATIONS, graph)("reduce-sum", graph.results["0"], axes=(0, 1), keep=False)


def test_a_checkpoint_lowers_the_peak_and_changes_no_bit() -> None:
    kept, wanted = planned(DEEP.format("progn"))
    again, found = planned(DEEP.format("checkpoint"))
    np.testing.assert_array_equal(found, wanted)
    assert again.bytes[Region.TRANSIENT] < 0.75 * kept.bytes[Region.TRANSIENT]


def test_forms_in_a_checkpoint_give_their_values() -> None:
    assert str(value_of("(checkpoint (exp x) (tanh x))")) == "f32 (8 64)"
    first, second = evaluated("(checkpoint (values x (exp x)))", X)
    np.testing.assert_allclose(second, np.exp(X.astype("f4")), rtol=1e-6)
    np.testing.assert_array_equal(first, X.astype("f4"))
