"""Tensor builtins: types, promotion, and which nodes a call makes."""

from __future__ import annotations

import pytest
from staging_case import body, declared, faults, only, traced, value_of, warnings

from sexpgpu_core.evaluator.definitions import BUILTINS, TENSOR_NAMES
from sexpgpu_core.ir.scalars import evaluate
from sexpgpu_core.staging.tensor import GENERIC


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        ("(+ x 1)", "f32 (8 64)"),
        ("(* 2 1/3 x)", "f32 (8 64)"),
        ("(matmul x (zeros '(64 5)))", "f32 (8 5)"),
        ("(matmul x (zeros '(64)))", "f32 (8)"),
        ("(matmul (zeros '(8)) x)", "f32 (64)"),
        ("(matmul (zeros '(64)) (zeros '(64)))", "f32 ()"),
        ("(matmul x x :transpose-y t)", "f32 (8 8)"),
        ('(einsum "bi,ij->bj" x (zeros \'(64 3)))', "f32 (8 3)"),
        ("(outer x x)", "f32 (8 64 64)"),
        ("(reshape x '(4 -1))", "f32 (4 128)"),
        ("(flatten x)", "f32 (512)"),
        ("(transpose x)", "f32 (64 8)"),
        ("(permute x '(1 0))", "f32 (64 8)"),
        ("(unsqueeze x '(0 -1))", "f32 (1 8 64 1)"),
        ("(squeeze (unsqueeze x 1))", "f32 (8 64)"),
        ("(expand (unsqueeze x 0) '(3 -1 -1))", "f32 (3 8 64)"),
        ("(concat x x :axis -1)", "f32 (8 128)"),
        ("(concat (list x x))", "f32 (16 64)"),
        ("(stack x x :axis 1)", "f32 (8 2 64)"),
        ("(nth-value 1 (split x '(16 48) :axis 1))", "f32 (8 48)"),
        ("(slice x :axis 1 :start 1 :end -1)", "f32 (8 62)"),
        ("(slice x :axis '(0 1) :start '(1 2) :size '(3 4))", "f32 (3 4)"),
        ("(slice x :axis 1 :start (argmax (tref x 0)) :size 5)", "f32 (8 5)"),
        ("(tref x t 3)", "f32 (8)"),
        ("(tref x (argmax (tref x t 0)) t)", "f32 (64)"),
        ("(pad x '((1 2)))", "f32 (8 67)"),
        ("(pad x '((1 2) (3 3)) :mode :reflect)", "f32 (11 70)"),
        ("(roll x 3 :axis 1)", "f32 (8 64)"),
        ("(repeat x 2 :axis 0)", "f32 (16 64)"),
        ("(tile x '(2 3))", "f32 (16 192)"),
        ("(diagonal x)", "f32 (8)"),
        ("(diagonal-matrix (tref x 0))", "f32 (64 64)"),
        ("(tril x)", "f32 (8 64)"),
        ("(causal-mask 4 :columns 6)", "bool (4 6)"),
        ("(argmax x)", "i32 (8)"),
        ("(variance x :axis 0 :keep t)", "f32 (1 64)"),
        ("(norm x :axis 1)", "f32 (8)"),
        ("(logsumexp x :axis -1)", "f32 (8)"),
        ("(cumsum x :axis 1)", "f32 (8 64)"),
        ("(nth-value 1 (top-k x 5))", "i32 (8 5)"),
        ("(gather x '(0 1 1))", "f32 (3 64)"),
        ("(take-along x (zeros '(8 2) :dtype :i32))", "f32 (8 2)"),
        ("(one-hot (argmax x) 10 :dtype :f32)", "f32 (8 10)"),
        ("(iota 5 :start 1 :step 2)", "i32 (5)"),
        ("(linspace 0 1 5)", "f32 (5)"),
        ("(eye 3 :columns 4)", "f32 (3 4)"),
        ("(tensor '((1 2) (3 4)))", "i32 (2 2)"),
        ("(tensor '(1.5 2))", "f32 (2)"),
        ("(where (> x 0) 1 0)", "i32 (8 64)"),
        ("(where (> x 0) 1 0.5)", "f32 (8 64)"),
        ("(cast x :bf16)", "bf16 (8 64)"),
        ("(softmax x)", "f32 (8 64)"),
        ("(cross-entropy x (argmax x))", "f32 (8)"),
        ("(conv (reshape x '(8 8 8 1)) (zeros '(3 3 1 4)) :padding :same)", "f32 (8 8 8 4)"),
        ("(conv (reshape x '(8 8 8 1)) (zeros '(3 3 1 4)) :stride 2)", "f32 (8 3 3 4)"),
        ("(max-pool (reshape x '(8 8 8 1)) 2)", "f32 (8 4 4 1)"),
        ("(avg-pool (reshape x '(8 8 8 1)) 3 :stride 1 :padding :same)", "f32 (8 8 8 1)"),
        ("(expt x 3)", "f32 (8 64)"),
        ("(ash (iota 4) 2)", "i32 (4)"),
        ("(clip x nil 1)", "f32 (8 64)"),
        ("(bincount (argmax x) 64)", "i32 (64)"),
        ("(segment-mean x (argmax x) 64)", "f32 (64 64)"),
    ],
)
def test_a_call_has_its_documented_type(form: str, wanted: str) -> None:
    assert str(value_of(form)) == wanted


def test_attention_takes_heads_that_divide() -> None:
    q, k = "(zeros '(8 16 4 8))", "(zeros '(8 16 2 8))"
    assert str(value_of(f"(attention {q} {k} {k} :causal t)")) == "f32 (8 16 4 8)"
    assert (
        only(body(f"(attention {q} (zeros '(8 16 3 8)) (zeros '(8 16 3 8)))")).code
        == "E-SHAPE-ARGUMENT"
    )


def test_numbers_among_themselves_are_lisp_numbers() -> None:
    graph = traced(body("(* 2 1/3 x)")).graph
    values = [n.get("value") for n in graph.nodes if n.operation == "constant"]
    assert 0.6666666865348816 in values  # 2/3 rounded once to f32
    assert sum(n.operation == "multiply" for n in graph.nodes) == 1


def test_a_ratio_is_rounded_once_from_its_exact_value() -> None:
    above_a_tie = f"{2**54 + 2**30 + 1}/{2**54}"
    graph = traced(body(f"(* {above_a_tie} x)")).graph
    values = [n.get("value") for n in graph.nodes if n.operation == "constant"]
    assert 1.0000001192092896 in values


def test_integers_of_unlike_dtype_compare_by_value() -> None:
    assert str(value_of("(= (argmax x) (cast (argmax x) :i64))")) == "bool (8)"


def test_broadcasting_that_makes_both_sides_grow_is_a_warning() -> None:
    _, evaluator = declared(body("(- (tref x t 0) (unsqueeze (tref x t 1) 1))"))
    assert warnings(evaluator) == []
    from staging_case import FIELDS

    from sexpgpu_core.ir.ops import OPERATIONS
    from sexpgpu_core.staging.trace import trace_stage

    experiment, evaluator = declared(body("(- (tref x t 0) (unsqueeze (tref x t 1) 1))"))
    trace_stage(experiment, evaluator, OPERATIONS, "data", "train", FIELDS, 8)
    assert warnings(evaluator) == ["W-BROADCAST-OUTER", "W-BATCH-DEPENDENCE"]


def test_a_step_scalar_enters_where_it_meets_a_tensor() -> None:
    found = traced(body("(* x (/ (+ (ctx :step) 1) 100.0))"))
    assert list(found.scalars) == ["(/ (+ (ctx :step) 1) 100.0)"]
    node = next(n for n in found.graph.inputs() if n.get("kind") == "scalar")
    assert (node.get("dtype"), node.get("shape")) == ("f32", ())


@pytest.mark.parametrize("step", [2**24 + 1, 2**53 - 1])
def test_a_step_scalar_is_a_double_that_counts_exactly(step: int) -> None:
    for form, wanted in (("(ctx :step)", step), ("(/ (ctx :step) 100.0)", step / 100)):
        (tree,) = traced(body(f"(* x {form})")).scalars.values()
        assert evaluate(tree, {"step": step}) == wanted


def test_a_step_scalar_of_two_dtypes_has_two_names() -> None:
    found = traced(body("(* (dropout x 0.5) (ctx :step))"))
    assert list(found.scalars) == ["(ctx :step)", "(+ (ctx :step))"]
    dtypes = {
        n.get("name"): n.get("dtype") for n in found.graph.inputs() if n.get("kind") == "scalar"
    }
    assert dtypes == {"(ctx :step)": "i32", "(+ (ctx :step))": "f32"}


def test_if_on_a_step_scalar_is_refused() -> None:
    assert only(body("(if (> (ctx :step) 10) x (- x))")).code == "E-STAGE-TENSOR"


def test_where_chooses_by_a_step_scalar() -> None:
    assert faults(body("(where (> (ctx :step) 10) x (- x))")) == []


def test_bind_shape_names_sizes_and_checks_numbers() -> None:
    assert str(value_of("(bind-shape (b 64) x (zeros (list b)))")) == "f32 (8)"
    found = only(body("(bind-shape (b 32) x (zeros (list b)))"))
    assert found.code == "E-SHAPE-BIND"
    assert "(b 32)" in found.message


def test_a_handle_may_stand_in_defparameter() -> None:
    text = body("(* x *table*)").replace(
        "(defmodel", "(defparameter *table* (tensor '(2.0)))\n(defmodel", 1
    )
    assert faults(text, "declare") == []
    assert any(n.operation == "table" for n in traced(text).graph.nodes)


def test_a_tensor_kept_from_another_trace_escapes() -> None:
    text = body("(progn (when (null *kept*) (setf *kept* x)) (+ x *kept*))")
    text = text.replace("(defmodel", "(defvar *kept* nil)\n(defmodel", 1)
    from staging_case import FIELDS

    from sexpgpu_core.diagnostics import Problem
    from sexpgpu_core.ir.ops import OPERATIONS
    from sexpgpu_core.staging.trace import trace_stage

    experiment, evaluator = declared(text)
    trace_stage(experiment, evaluator, OPERATIONS, "data", "train", FIELDS, 8)
    with pytest.raises(Problem) as caught:
        trace_stage(experiment, evaluator, OPERATIONS, "data", "train", FIELDS, 8)
    assert caught.value.diagnostic.code == "E-STAGE-ESCAPE"


def test_sort_is_by_a_predicate_of_a_list_and_along_an_axis_of_a_tensor() -> None:
    traces = "(sort (matrix-trace (reshape x '(-1 8 8))) :axis 0 :descending t)"
    assert str(value_of(traces)) == "f32 (8)"
    assert faults(body("(if (equal (sort (list 3 1 2) #'<) '(1 2 3)) x (error \"no\"))")) == []
    assert only(body("(sort x #'<)")).code == "E-CALL-ARGUMENTS"


def test_a_file_may_take_the_name_of_a_tensor_builtin() -> None:
    text = body("(norm x)").replace("(defmodel", "(defun norm (x) (* 2 x))\n(defmodel", 1)
    _, evaluator = declared(text)
    assert warnings(evaluator) == ["W-SHADOW"]


def test_every_tensor_builtin_is_documented() -> None:
    for name, function in GENERIC.items():
        assert function.doc, name
        assert function.staged, name
    for name in TENSOR_NAMES:
        assert BUILTINS[name].doc, name
