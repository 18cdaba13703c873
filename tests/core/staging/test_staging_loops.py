"""Loops in the graph: what they mean by the references, their gradients, and their mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from staging_case import FIELDS, body, evaluated, faults, graph_of, traced, whole

from sexpgpu_core.autodiff import differentiate
from sexpgpu_core.ir import Value
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.text import parse, same, write
from sexpgpu_core.ir.types import Type
from sexpgpu_core.ir.verify import verify
from sexpgpu_core.passes.optimize import optimize
from sexpgpu_core.staging.dependence import MIXED
from sexpgpu_core.step.blocks import unroll

X = np.linspace(-1.3, 1.7, 7 * 3 * 4).reshape(7, 3, 4)
CELL = """(lambda (s v)
  (let* ((h (first s)) (c (second s))
         (z (+ (matmul v (sin (reshape (iota 16 :dtype :f64) '(4 4))))
               (matmul h (cos (reshape (iota 16 :dtype :f64) '(4 4))))))
         (n (+ (* (sigmoid z) c) (tanh z))))
    (values (list (* (sigmoid (- z)) (tanh n)) n) (* h n))))"""
START = "(list (tref x 0) (* 0.5 (tref x 1)))"


def lstm(more: str = "") -> str:
    """A scalar of x: a recurrent cell over its first axis."""
    return f"""(multiple-value-bind (s ys) (scan {CELL} {START} x {more})
      (+ (sum (square ys)) (sum (exp (first s)))))"""


def unrolled(order: range) -> str:
    """The same, trip by trip in the graph."""
    parts = " ".join(f"(step (tref x {i}))" for i in order)
    return f"""(let ((s {START}) (ys 0))
      (flet ((step (v) (multiple-value-bind (new y) (funcall {CELL} s v)
               (setf s new ys (+ ys (sum (square y)))))))
        {parts})
      (+ ys (sum (exp (first s)))))"""


WAYS = ["", ":save :carry", ":segments 3", ":segments 3 :save :carry", ":segments 7"]


@pytest.mark.parametrize("more", WAYS)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_and_its_gradient_are_those_of_the_trips_written_out(
    more: str, reverse: bool
) -> None:
    order = range(6, -1, -1) if reverse else range(7)
    (wanted,) = evaluated(f"(grad {unrolled(order)} x)", X, "f64")
    (found,) = evaluated(f"(grad {lstm(more + (' :reverse t' if reverse else ''))} x)", X, "f64")
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)


def test_what_a_scan_saves_changes_no_bit_of_the_gradient() -> None:
    first, *others = (evaluated(f"(grad {lstm(more)} x)", X, "f64")[0] for more in WAYS)
    for other in others:
        np.testing.assert_array_equal(other, first)


@pytest.mark.parametrize(
    "scalar",
    [
        lstm(),
        lstm(":save :carry"),
        f"(sum (square (grad {lstm()} x)))",
        f"(sum (square (grad {lstm(':segments 2')} x)))",
        "(sum (map-over (lambda (v) (square (grad (sum (tanh (* v v))) v))) x :axis 1))",
        "(sum (square (associative-scan (lambda (a b) (+ (* a b) (sin b) a)) x :axis 0)))",
        "(cond-select (> (sum x) 0) (lambda () (sum (* x (exp x)))) (lambda () (sum x)))",
        "(cond-select (< (sum x) 0) (lambda () (sum (* x (exp x)))) (lambda () (sum (sin x))))",
    ],
)
def test_gradients_of_loops_are_the_limit_of_differences(scalar: str) -> None:
    x = X[:4, :2]
    (found,) = evaluated(f"(grad {scalar} x)", x, "f64")
    graph = graph_of(scalar, Type("f64", x.shape))
    random = np.random.default_rng(3)
    for place in random.choice(x.size, 6, replace=False):
        step = np.zeros(x.size)
        step[place] = 1e-5
        step = step.reshape(x.shape)
        high = run(graph, {"image": x + step}, OPERATIONS)["0"]
        low = run(graph, {"image": x - step}, OPERATIONS)["0"]
        np.testing.assert_allclose(found.flat[place], (high - low) / 2e-5, rtol=2e-6, atol=2e-6)


def test_ys_are_stacked_on_the_axis_and_carries_come_last() -> None:
    form = "(scan (lambda (h v) (values (+ h v) (list h (* 2 v)))) 0.0 x :axis 1)"
    carry, ys = "(nth-value 0 {})", "(values-list (nth-value 1 {}))"
    x = np.arange(6.0, dtype="f4").reshape(1, 6)[:, :, None][0]  # (6 1)
    x = np.concatenate([x, x + 1], axis=1).T  # (2 6)
    form = form.replace("0.0", "(zeros '(2))")
    (last,) = evaluated(carry.format(form), x)
    before, doubled = evaluated(ys.format(form), x)
    np.testing.assert_array_equal(last, x.sum(1))
    np.testing.assert_array_equal(before, np.cumsum(x, 1) - x)
    np.testing.assert_array_equal(doubled, 2 * x)


def test_a_scan_may_have_no_xs_or_no_ys() -> None:
    count = "(scan (lambda (h v) (values (+ h 1) h)) 0 nil :length 5)"
    last, ys = evaluated(count, X[0].astype("f4"))
    assert last == 5
    np.testing.assert_array_equal(ys, range(5))
    (total,) = evaluated("(nth-value 0 (scan #'+ (zeros '(4)) x))", X[0].astype("f4"))
    np.testing.assert_allclose(total, X[0].sum(0), rtol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("reverse", [False, True])
def test_an_associative_scan_has_all_running_results(n: int, reverse: bool) -> None:
    """Of 2 by 2 matrices, which do not commute."""
    x = np.random.default_rng(n).standard_normal((n, 2, 2))
    more = ":reverse t" if reverse else ""
    (found,) = evaluated(f"(associative-scan (lambda (a b) (matmul a b)) x {more})", x, "f64")
    for i in range(n):
        product = np.eye(2)
        for m in x[i:] if reverse else x[: i + 1]:
            product = product @ m
        np.testing.assert_allclose(found[i], product, rtol=1e-10, atol=1e-12)


def test_a_while_loop_ends_by_its_test_or_its_limit() -> None:
    double = "(while-loop (lambda (v) (< (sum v) 100)) (lambda (v) (* 2 v)) {} {})"
    start = np.ones((2, 3), "f4")
    (found,) = evaluated(double.format("x", ""), start)
    np.testing.assert_array_equal(found, np.full((2, 3), 32))
    (found,) = evaluated(double.format("x", ":limit 2"), start)
    np.testing.assert_array_equal(found, np.full((2, 3), 4))
    (found,) = evaluated(double.format("(* 100 x)", ""), start)
    np.testing.assert_array_equal(found, np.full((2, 3), 100))


def test_no_gradient_flows_through_a_while_loop() -> None:
    form = """(grad (sum (while-loop (lambda (v) (< (sum v) 9)) (lambda (v) (* 2 v)) x)) x)"""
    (found,) = faults(body(form))
    assert found.code == "E-GRADIENT"
    assert found.span is not None
    assert found.span.text.startswith("(while-loop ")
    assert "scan" in (found.hint or "")


@pytest.mark.parametrize(
    ("form", "operation"),
    [
        ("(while-loop (lambda (v) (< (sum v) 9)) (lambda (v) (* 2 v)) (stop-gradient x))", "while"),
        ("(scan (lambda (c v) (values (+ c v) nil)) (zeros '(64)) x)", "scan"),
        ("(map-over (lambda (v) (exp v)) x)", "scan"),
        ("(cond-select (> (sum x) 0) (lambda () (* 2 x)) (lambda () (* 3 x)))", "cond"),
        ("(glu x x :activation (lambda (v) (relu v)))", "multiply"),
    ],
)
def test_what_a_builtin_makes_of_its_function_stands_at_the_builtin(
    form: str, operation: str
) -> None:
    graph = traced(body(form)).graph
    node = [n for n in graph.nodes if n.operation == operation][-1]
    assert form in {o.span.text for o in graph.origins[node.id] if o.span is not None}


def test_a_while_loop_of_what_no_gradient_goes_to_is_a_factor() -> None:
    loop = "(while-loop (lambda (v) (< (sum v) 9)) (lambda (v) (* 2 v)) (stop-gradient x))"
    form = f"(grad (sum (* x {loop})) x)"
    (found,) = evaluated(form, np.ones((2, 3), "f4"))
    np.testing.assert_array_equal(found, np.full((2, 3), 2))


def test_a_choice_gives_the_values_of_its_side() -> None:
    form = "(cond-select (> (sum x) 0) (lambda () (values x (* 2 x))) (lambda () (values x x)))"
    for x in (np.ones((2, 2), "f4"), -np.ones((2, 2), "f4")):
        _, second = evaluated(form, x)
        np.testing.assert_array_equal(second, 2 * x if x.sum() > 0 else x)


# Rows and trips ---------------------------------------------------------------------------------
def test_trips_draw_unlike_numbers_and_a_recomputed_trip_the_same() -> None:
    form = "(nth-value 1 (scan (lambda (h v) (values h (random-uniform '(5)))) 0.0 x {}))"
    x = np.zeros((6, 2), "f4")
    graph = graph_of(form.format(""), Type("f32", x.shape))
    (whole_scan,) = run(graph, {"image": x, "(ctx :step)": 3}, OPERATIONS).values()
    assert len(np.unique(whole_scan)) == 30
    for more in (":segments 2", ":segments 4"):
        graph = graph_of(form.format(more), Type("f32", x.shape))
        (found,) = run(graph, {"image": x, "(ctx :step)": 3}, OPERATIONS).values()
        np.testing.assert_array_equal(found, whole_scan)


def drawn(microbatches: int) -> np.ndarray:
    """What 8 rows draw in a map over them and without one, in so many blocks."""
    objective = """(defun objective (&key image)
      (let ((a (map-over (lambda (row) (random-normal nil :like row :name "n")) image))
            (b (random-normal nil :like image :name "n")))
        (metric "same" (sum (abs (- a b))) :reduce :max)
        (mean (* (net image) a))))"""
    nothing = "(defun optimizer () (groups))"
    text = whole(model="(defmodel net (x) x)\n", objective=objective, optimizer=nothing)
    rows = 8 // microbatches
    fields = {"image": Type("f32", (rows, 64)), "label": FIELDS["label"]}
    graph = traced(text, fields=fields, rows=rows, microbatches=microbatches).graph
    from sexpgpu_core.ir import Builder, Graph

    b = Builder(OPERATIONS, Graph())
    results = unroll(graph, b, microbatches, rows)
    b.graph.results = {f"{n}/{k}": v for k, r in enumerate(results) for n, v in r.items()}
    verify(b.graph, OPERATIONS)
    image = np.eye(8, 64, dtype="f4") + 1
    found = run(b.graph, {"image": image, "(ctx :step)": 5}, OPERATIONS)
    assert all(v == 0 for n, v in found.items() if n.startswith("metric:"))
    return np.mean([v for n, v in found.items() if n.startswith("loss")])


def test_a_map_over_the_batch_draws_by_row_in_any_number_of_blocks() -> None:
    np.testing.assert_allclose(drawn(2), drawn(1), rtol=1e-6)
    np.testing.assert_allclose(drawn(4), drawn(1), rtol=1e-6)


@pytest.mark.parametrize(
    ("form", "axis"),
    [
        ("(map-over (lambda (v) (square v)) x)", 0),
        ("(nth-value 1 (scan (lambda (h v) (values (+ h v) h)) (zeros '(8)) x :axis 1))", 0),
        ("(nth-value 0 (scan (lambda (h v) (values (+ h v) h)) (zeros '(8)) x :axis 1))", 0),
        ("(nth-value 1 (scan (lambda (h v) (values (+ h v) h)) (zeros '(64)) x))", MIXED),
        ("(cond-select (> (sum x) 0) (lambda () x) (lambda () (- x)))", MIXED),
        ("(grad (sum (exp x)) x)", 0),
        ("(custom-gradient #'round (lambda (v y d) d) x)", 0),
    ],
)
def test_the_batch_axis_is_followed_through_bodies(form: str, axis: int) -> None:
    from sexpgpu_core.staging.dependence import BatchAxes

    graph = graph_of(form, FIELDS["image"])
    axes = BatchAxes(OPERATIONS, (), graph.bodies)
    found = axes.of(graph.results["0"])
    if form.startswith("(nth-value 1 (scan") and axis == 0:
        found = {1: 0, 0: 1}.get(found, found)  # the permute behind the scan is in the graph
        axis = found
    assert found == axis


# Text and passes --------------------------------------------------------------------------------
def test_the_graph_prints_and_reads_back_with_its_bodies() -> None:
    graph = graph_of(f"(grad {lstm(':segments 3')} x)", Type("f64", X.shape))
    verify(graph, OPERATIONS)
    assert same(parse(write(graph)), graph)


def test_the_forward_scan_is_run_once_in_a_step() -> None:
    graph = graph_of(lstm(), Type("f64", X.shape))
    x = Value(next(n for n in graph.inputs() if n.get("name") == "image"))
    g = differentiate(graph, OPERATIONS, graph.results["0"], {"x": x})["x"]
    assert g is not None
    graph.results["g"] = g
    verify(graph, OPERATIONS)
    wanted = run(graph, {"image": X}, OPERATIONS)
    small, _ = optimize(graph, OPERATIONS, lambda name: name in ("scan", "matmul"))
    verify(small, OPERATIONS)
    assert [n.operation for n in small.nodes].count("scan") == 2
    found = run(small, {"image": X}, OPERATIONS)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-11, atol=1e-12)


# Mistakes ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("form", "code", "part"),
    [
        ("(scan (lambda (h v) (sum h)) (zeros '(64)) x)", "E-STAGE-CARRY", "comes back as f32 ()"),
        ("(scan (lambda (h v) (list h h)) 0.0 x)", "E-STAGE-CARRY", "(list tensor tensor)"),
        ("(scan (lambda (h v) (list (first h) x)) (list 0.0 0.0) x)", "E-STAGE-CARRY", "part 1"),
        ("(scan (lambda (h) h) 0.0 x)", "E-CALL-ARGUMENTS", "2 arguments, and it takes (h)"),
        ("(scan (lambda (h v) h) 0.0 (list x (transpose x)))", "E-SHAPE-ARGUMENT", "8 and 64"),
        ("(scan (lambda (h v) h) 0.0 nil)", "E-SHAPE-ARGUMENT", "no xs"),
        ("(scan (lambda (h v) (values h h h)) 0.0 x)", "E-CONTRACT", "3 values"),
        ("(scan (lambda (h v) h) 0.0 x :save :some)", "E-TYPE", "save of scan"),
        ("(scan (lambda (h v) h) 0.0 x :segments 0)", "E-OPTION-VALUE", ":segments"),
        ('(scan (lambda (h v) (metric "m" v) h) 0.0 x)', "E-STAGE-ESCAPE", "metric stands"),
        ('(map-over (lambda (v) "a") x)', "E-STAGE-VALUE", "map-over"),
        ("(while-loop (lambda (v) (< v 1)) (lambda (v) v) x)", "E-SHAPE-ARGUMENT", "bool scalar"),
        ("(cond-select (> x 0) (lambda () x) (lambda () x))", "E-SHAPE-ARGUMENT", "bool scalar"),
        ("(cond-select (> (sum x) 0) (lambda () x) (lambda () 1))", "E-SHAPE-ARGUMENT", "i32 ()"),
        ("(associative-scan (lambda (a b) (sum a)) x)", "E-STAGE-CARRY", "associative-scan"),
    ],
)
def test_mistakes_in_loops_are_told_where_they_stand(form: str, code: str, part: str) -> None:
    found = faults(body(form))[0]
    assert found.code == code
    assert part in found.message
    assert found.span is not None


def test_a_carry_that_changes_names_the_function_and_the_call() -> None:
    (found,) = faults(body("(scan (lambda (h v) (sum h)) (zeros '(64)) x)"))
    assert found.span is not None
    assert found.span.text.startswith("(lambda (h v)")
    assert found.related[0].span.text.startswith("(scan ")


def test_a_state_is_not_set_in_a_trip() -> None:
    model = """(defmodel net (x)
      (defstate seen () :init 0)
      (scan (lambda (h v) (setf seen (+ seen 1)) (values h v)) 0.0 x))
    """
    (found,) = faults(body("x").replace("(defmodel net (x) x)\n", model))
    assert found.code == "E-STATE-SET"
    assert "scan" in found.message


def test_a_parameter_made_in_a_trip_is_one_of_the_model() -> None:
    model = """(defmodel net (x)
      (nth-value 1 (scan (lambda (h v) (values (tanh (dense h)) (dense v))) (zeros '(64)) x)))
    (defmodel dense (v) (defparam w (64 64)) (matmul v w))
    """
    text = body("x").replace("(defmodel net (x) x)\n", model)
    assert list(traced(text).parameters) == ["net/dense/w", "net/dense-2/w"]
