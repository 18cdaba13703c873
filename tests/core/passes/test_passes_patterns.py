"""Composites written out by hand: found in many spellings, the same value and gradient; what is
not the same function stays, and says why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from staging_case import graph_of

from sexpgpu_core.autodiff import differentiate
from sexpgpu_core.ir import Graph, Value
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.types import Type
from sexpgpu_core.passes.patterns import find_patterns

MOST = "(reduce-max x :axis -1 :keep t)"
MEAN = "(mean x :axis -1 :keep t)"
HEADS = "(q (permute (reshape x '(2 4 4 16)) '(0 2 1 3)))"
PLACES = "(q (reshape x '(2 4 4 16)))"
LABEL = "(argmin x)"
ROW = "(iota 64 :dtype :f32)"

FOUND: dict[str, tuple[str, ...]] = {
    "softmax": (
        f"(let ((e (exp (- x {MOST})))) (/ e (sum e :axis -1 :keep t)))",
        f"(let ((e (exp (- x (stop-gradient {MOST})))))"
        " (* e (reciprocal (sum e :axis 1 :keep t))))",
        "(let ((e (exp (- x (unsqueeze (reduce-max x :axis -1) -1)))))"
        " (/ e (unsqueeze (sum e :axis -1) -1)))",
        "(let ((e (exp (- x (reduce-max x :axis 0))))) (/ e (sum e :axis 0)))",
        "(exp (- x (logsumexp x :axis -1 :keep t)))",
        "(exp (log-softmax x))",
    ),
    "log-softmax": (
        f"(let ((z (- x {MOST}))) (- z (log (sum (exp z) :axis -1 :keep t))))",
        f"(- x (+ {MOST} (log (sum (exp (- x {MOST})) :axis -1 :keep t))))",
        "(- x (unsqueeze (logsumexp x :axis -1) -1))",
    ),
    "logsumexp": (f"(+ (log (sum (exp (- x {MOST})) :axis -1 :keep t)) {MOST})",),
    "layer-norm": (
        f"(/ (- x {MEAN}) (sqrt (+ (variance x :axis -1 :keep t) 1e-5)))",
        f"(* (- x {MEAN}) (rsqrt (+ 1e-5 (mean (expt (- x {MEAN}) 2) :axis -1 :keep t))))",
        f"(let ((m {MEAN})) (* (- x m)"
        " (expt (+ (- (mean (* x x) :axis -1 :keep t) (* m m)) 1e-5) -0.5)))",
        f"(/ (- x {MEAN}) (std x :axis -1 :keep t :eps 1e-5))",
        "(let* ((c (- x (/ (sum x :axis 1 :keep t) 64)))"
        " (v (* 1/64 (sum (square c) :axis 1 :keep t))))"
        f" (+ (* {ROW} (/ c (sqrt (+ v 1e-5)))) {ROW}))",
        "(let ((c (- x (mean x :axis 0)))) (/ c (sqrt (+ 1e-5 (mean (square c) :axis 0)))))",
    ),
    "rms-norm": (
        "(* x (rsqrt (+ 1e-6 (mean (square x) :axis -1 :keep t))))",
        f"(* {ROW} (/ x (sqrt (+ 1e-6 (mean (* x x) :axis -1 :keep t)))))",
        "(/ x (unsqueeze (sqrt (+ 1e-6 (mean (square x) :axis -1))) -1))",
        "(* (reciprocal (sqrt (+ (mean (expt x 2) :axis '(0 1) :keep t) 1e-6))) x)",
    ),
    "gelu": (
        "(* 0.5 x (+ 1 (erf (/ x (sqrt 2.0)))))",
        "(* x 1/2 (+ 1 (erf (* x 0.70710678))))",
        "(* x (+ 0.5 (* 0.5 (erf (/ x (sqrt 2))))))",
        "(/ (* (+ (erf (/ x (sqrt 2.0))) 1) x) 2)",
        "(* 0.5 x (+ 1 (tanh (* (sqrt (/ 2 pi)) (+ x (* 0.044715 (expt x 3)))))))",
        "(* 0.5 (* x (+ 1 (tanh (* 0.7978845608 x (+ 1 (* 0.044715 x x)))))))",
        "(* x (sigmoid (* 1.702 x)))",
    ),
    "cross-entropy": (
        f"(- (squeeze (take-along (log-softmax x) (unsqueeze {LABEL} -1)) :axis -1))",
        f"(- (mean (gather (log-softmax x) {LABEL} :axis 1 :batch-axes 1)))",
        f"(- (logsumexp x :axis -1) (gather x {LABEL} :axis 1 :batch-axes 1))",
        f"(- (logsumexp x :axis -1 :keep t) (take-along x (unsqueeze {LABEL} -1)))",
        f"(- (sum (* (one-hot {LABEL} 64 :dtype :f32) (log-softmax x)) :axis -1))",
        f"(let ((z (- x {MOST}))) (take-along (- z (log (sum (exp z) :axis -1 :keep t)))"
        f" (unsqueeze {LABEL} -1)))",
    ),
    "attention": (
        "(matmul (softmax (/ (matmul x (transpose x)) 8.0)) x)",
        f"(let ({HEADS}) (permute (matmul (softmax (/ (matmul q (transpose q)) 4.0)"
        " :mask (causal-mask 4)) q) '(0 2 1 3)))",
        f"(let ({HEADS}) (matmul (softmax (where (causal-mask 4)"
        " (* 1/4 (matmul q q :transpose-y t)) -3.4028235e38)) q))",
        f'(let ({PLACES}) (einsum "bhqk,bkhd->bqhd"'
        ' (softmax (* 1/4 (einsum "bqhd,bkhd->bhqk" q q))) q))',
        f'(let ({PLACES}) (einsum "kbhq,bkhd->bhqd"'
        ' (softmax (einsum "bkhd,bqhd->kbhq" q q) :axis 0) q))',
        "(let ((q (reshape x '(8 4 16)))) (matmul (softmax (+ (* 0.25 (matmul q (transpose q)))"
        " (iota 4 :dtype :f32))) q))",
        "(let* ((q (reshape x '(8 4 16))) (s (matmul (* 0.25 q) (transpose q)))"
        " (e (exp (- s (reduce-max s :axis -1 :keep t)))))"
        " (matmul (/ e (sum e :axis -1 :keep t)) q))",
    ),
}

NEAR = {
    "(let ((e (exp x))) (/ e (sum e :axis -1 :keep t)))": "overflows",
    "(log (softmax x))": "underflows",
    f"(- (log (take-along (softmax x) (unsqueeze {LABEL} -1))))": "underflows",
    f"(/ (- x {MEAN}) (+ 1e-5 (std x :axis -1 :keep t)))": "not to the variance",
    f"(/ (- x {MEAN}) (std x :axis -1 :keep t :correction 1))": "n - 1",
    "(* 0.5 x (+ 1 (tanh (* 0.79788 (+ x (* 0.044715 (expt x 3)))))))": "its numbers",
    f"(let ({HEADS}) (matmul (softmax (where (causal-mask 4) (matmul q (transpose q)) -1e9)) q))": (
        "a finite score may be below"
    ),
    f"(let ({HEADS}) (matmul (softmax (where (> (iota 4) 2) (matmul q (transpose q))"
    " -3.4028235e38)) q))": "admits no key",
    f"(let* ((c (- x {MEAN})) (v (f32 (mean (square c) :axis -1 :keep t))))"
    " (/ c (sqrt (+ v 1))))": "unlike precision policies",
}
ELSEWHERE = (
    "(* x (sigmoid x))",
    "(/ x (sum x :axis -1 :keep t))",
    "(/ (exp x) (sum x :axis -1 :keep t))",
    "(* 0.4 x (+ 1 (erf (/ x (sqrt 2.0)))))",
    "(let ((q (reshape x '(8 8 8)))) (/ (exp q) (sum (exp q) :axis 1)))",
    "(sum (* (log-softmax x) (sum x)) :axis -1)",
)
SPELLINGS = [(name, form) for name, forms in FOUND.items() for form in forms]


def image() -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal((8, 64)) * 2


def both(form: str) -> tuple[Graph, Graph]:
    """As written, and with what was found."""
    return graph_of(form), find_patterns(graph_of(form), OPERATIONS)[0]


def value_and_gradient(graph: Graph) -> list[np.ndarray[Any, Any]]:
    """In f64: the value, and the gradient of its sum with weights."""
    value = graph.results["0"]
    if value.dtype == "f32":
        x = Value(next(n for n in graph.inputs() if n.get("name") == "image"))
        seed = graph_seed(graph, value)
        found = differentiate(graph, OPERATIONS, value, {"x": x}, seed)["x"]
        assert found is not None
        graph.results["gradient"] = found
    made = run(graph, {"image": image().astype("f4")}, OPERATIONS, f64=True)
    return [np.asarray(v, "f8") for v in made.values()]


def graph_seed(graph: Graph, value: Value) -> Value:
    from sexpgpu_core.ir import Builder

    b = Builder(OPERATIONS, graph)
    flat = b("iota", dtype="f32", shape=(value.type.size,), axis=0)
    return b("reshape", b("sin", flat), shape=value.shape)


@pytest.mark.parametrize(("name", "form"), SPELLINGS)
def test_what_is_written_out_is_found(name: str, form: str) -> None:
    graph, findings = find_patterns(graph_of(form), OPERATIONS)
    assert findings[-1].name == name
    assert findings[-1].reason is None
    assert findings[-1].origin is not None
    assert any(n.operation == name for n in graph.nodes)


@pytest.mark.parametrize(("name", "form"), SPELLINGS)
def test_what_is_found_has_the_value_and_the_gradient_of_what_is_written(
    name: str, form: str
) -> None:
    written, found = both(form)
    for a, b in zip(value_and_gradient(written), value_and_gradient(found)):
        np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-6 * np.abs(a).max())


@pytest.mark.parametrize(("form", "reason"), NEAR.items())
def test_what_is_another_function_stays_and_says_why(form: str, reason: str) -> None:
    written, found = both(form)
    told = find_patterns(graph_of(form), OPERATIONS)[1]
    assert any(f.reason is not None and reason in f.reason for f in told)
    values = [run(g, {"image": image().astype("f4")}, OPERATIONS)["0"] for g in (written, found)]
    np.testing.assert_array_equal(*values)


@pytest.mark.parametrize("form", ELSEWHERE)
def test_what_is_no_pattern_is_not_spoken_of(form: str) -> None:
    assert not find_patterns(graph_of(form), OPERATIONS)[1]


def test_softmax_is_found_in_the_body_of_a_scan() -> None:
    softmax = f"(let ((e (exp (- x {MOST})))) (/ e (sum e :axis -1 :keep t)))"
    form = f"(scan (lambda (c y) (let ((x (+ c y))) (values {softmax} nil))) (* 0 x) (stack x x x))"
    graph, findings = find_patterns(graph_of(form, Type("f32", (8, 64))), OPERATIONS)
    assert [f.name for f in findings] == ["softmax"]
    (body,) = graph.bodies.values()
    assert "softmax" in [n.operation for n in body.nodes]


def test_shares_that_are_trained_have_their_gradient() -> None:
    form = "(sum (* (softmax (nn:linear x 64)) (log-softmax x)) :axis -1)"
    findings = find_patterns(graph_of(form), OPERATIONS)[1]
    assert [f.reason is None for f in findings] == [False]


def test_a_graph_without_any_is_the_same_object() -> None:
    graph = graph_of("(+ 1 (* x x))")
    assert find_patterns(graph, OPERATIONS)[0] is graph
