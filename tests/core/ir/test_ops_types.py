"""Type rules: what fails, and what the message says."""

from __future__ import annotations

import pytest

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir import Type
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.ops.shapes import resolve_axes, resolve_axis


def _types(text: str) -> tuple[Type, ...]:
    """ "f32 2 3, i32" """
    words = [part.split() for part in text.split(",") if part.strip()]
    return tuple(Type(w[0], tuple(map(int, w[1:]))) for w in words)


_CONV = {"strides": (1,), "dilations": (1,), "padding": ((0, 0),), "groups": 1}
_SLICE = {"starts": (0,), "steps": (1,)}

FAILING = [
    ("matmul", "f32 64 128, f32 64 512", {}, "E-SHAPE-MATMUL",
     "matmul of f32 (64 128) and f32 (64 512): inner sizes 128 and 64 differ"),
    ("matmul", "f32 3, f32 3 4", {}, "E-SHAPE-MATMUL", "both need two axes"),
    ("matmul", "f32 2 3 4, f32 3 4 5", {}, "E-SHAPE-MATMUL", "leading axes do not broadcast"),
    ("matmul", "f32 2 3, f64 3 4", {}, "E-DTYPE-MIX", "f32 (2 3) and f64 (3 4)"),
    ("matmul", "bool 2 3, bool 3 4", {}, "E-DTYPE-ARGUMENT", "matmul takes numbers, not bool"),
    ("add", "f32 3 4, f32 3", {}, "E-SHAPE-BROADCAST",
     "add of f32 (3 4) and f32 (3): sizes 4 and 3 of the last axis differ"),
    ("add", "f32 3, i32 3", {}, "E-DTYPE-MIX", "add of f32 (3) and i32 (3)"),
    ("add", "bool 3, bool 3", {}, "E-DTYPE-ARGUMENT", "not bool"),
    ("add", "f32 3", {}, "E-SHAPE-ARGUMENT", "takes 2 operands, not 1"),
    ("divide", "i32 3, i32 3", {}, "E-DTYPE-INTEGER", "it takes floats"),
    ("exp", "i32 3", {}, "E-DTYPE-INTEGER", "exp of i32"),
    ("exp", "bool 3", {}, "E-DTYPE-ARGUMENT", "exp takes floats, not bool"),
    ("less", "f32 3, i32 3", {}, "E-DTYPE-MIX", "less"),
    ("less", "bool 3, bool 3", {}, "E-DTYPE-ARGUMENT", "numbers"),
    ("where", "f32 3, f32 3, f32 3", {}, "E-DTYPE-ARGUMENT", "takes bool"),
    ("bit-and", "f32 3, f32 3", {}, "E-DTYPE-ARGUMENT", "integers"),
    ("bitcast", "f32 3", {"dtype": "f64"}, "E-DTYPE-ARGUMENT", "as wide as f64"),
    ("cast", "f32 3", {"dtype": "f31"}, "E-DTYPE-ARGUMENT", "f31"),
    ("reshape", "f32 2 3", {"shape": (4, 2)}, "E-SHAPE-RESHAPE", "6 elements into 8"),
    ("broadcast-to", "f32 2 3", {"shape": (3,)}, "E-SHAPE-BROADCAST", "broadcast to (3)"),
    ("permute", "f32 2 3", {"axes": (0, 0)}, "E-SHAPE-AXIS", "(0 0)"),
    ("slice", "f32 3", {"stops": (4,), **_SLICE}, "E-SHAPE-SLICE", "axis 0 with size 3"),
    ("slice-set", "f32 3, f32 2", {"starts": (2,)}, "E-SHAPE-SLICE", "y does not fit into x"),
    ("pad", "f32 3", {"low": (-1,), "high": (0,), "value": 0.0}, "E-SHAPE-ARGUMENT", "pad"),
    ("concat", "f32 2 3, f32 3 3", {"axis": 1}, "E-SHAPE-ARGUMENT", "other than 1"),
    ("concat", "f32 2 3", {"axis": 2}, "E-SHAPE-AXIS", "2"),
    ("flip", "f32 2", {"axes": (1,)}, "E-SHAPE-AXIS", "axes (1) of a tensor with 1 axes"),
    ("reduce-sum", "f32 2", {"axes": (1,)}, "E-SHAPE-AXIS", "axes (1)"),
    ("reduce-sum", "bool 2", {"axes": (0,)}, "E-DTYPE-ARGUMENT", "bool"),
    ("reduce-max", "f32 0 2", {"axes": (0,)}, "E-SHAPE-ARGUMENT", "extremum of nothing"),
    ("reduce-any", "f32 2", {"axes": (0,)}, "E-DTYPE-ARGUMENT", "bool"),
    ("argmax", "f32 2", {"axis": 1}, "E-SHAPE-AXIS", "axis 1"),
    ("gather", "f32 5 3, f32 2", {"axis": 0}, "E-DTYPE-ARGUMENT", "integers"),
    ("gather", "f32 2 5, i32 3 4", {"axis": 1, "batch-axes": 1}, "E-SHAPE-ARGUMENT", "first 1"),
    ("scatter-add", "f32 5 3, i32 2, f32 3 3", {"axis": 0}, "E-SHAPE-ARGUMENT", "gather gives"),
    ("take-along", "f32 2 5, i32 3 1", {"axis": 1}, "E-SHAPE-ARGUMENT", "but for axis 1"),
    ("top-k", "f32 2 5", {"axis": 1, "k": 6}, "E-SHAPE-ARGUMENT", "6 of the 5"),
    ("segment-sum", "f32 3 2, i32 4", {"n": 2}, "E-SHAPE-ARGUMENT", "segments"),
    ("table", "", {"dtype": "f32", "shape": (2,), "values": (1.0,)}, "E-SHAPE-ARGUMENT", "1 val"),
    ("conv", "f32 2 5 3, f32 3 2 4", _CONV, "E-SHAPE-CONV", "x has 3 channels, w takes 2"),
    ("conv", "f32 2 2 3, f32 3 3 4", _CONV, "E-SHAPE-CONV", "does not fit into (2)"),
    ("softmax", "f32 2 3, bool 2 4", {"axis": 1}, "E-SHAPE-ARGUMENT", "mask"),
    ("layer-norm", "f32 2 3, f32 4", {"axes": (1,), "eps": 0.0}, "E-SHAPE-ARGUMENT", "weight"),
    ("cross-entropy", "f32 4 5, i32 5", {"axis": 1}, "E-SHAPE-ARGUMENT", "labels"),
    ("attention", "f32 1 2 3 4, f32 1 2 2 4, f32 1 2 2 4", {}, "E-SHAPE-ARGUMENT", "heads"),
    ("einsum", "f32 2 3, f32 4 5", {"subscripts": "ij,jk"}, "E-SHAPE-ARGUMENT", "label j"),
    ("einsum", "f32 2 3", {"subscripts": "ij,jk"}, "E-SHAPE-ARGUMENT", "it names 2 operands"),
    ("einsum", "f32 2 3", {"subscripts": "ij->ik"}, "E-SHAPE-ARGUMENT", "label k of the result"),
    ("gelu", "f32 2", {"approximate": "erf"}, "E-OPTION-VALUE", "none tanh sigmoid"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "operands", "attributes", "code", "said"), FAILING)
def test_a_misfit_is_a_problem_that_names_both_sides(
    name: str, operands: str, attributes: dict, code: str, said: str
) -> None:
    with pytest.raises(Problem) as caught:
        OPERATIONS[name].infer(_types(operands), attributes)
    assert caught.value.diagnostic.code == code
    assert said in caught.value.diagnostic.message


def test_axes_count_from_the_end_for_callers() -> None:
    assert resolve_axis("sum", -1, 3) == 2
    assert resolve_axes("sum", (-1, 0), 3) == (0, 2)
    assert resolve_axes("sum", None, 2) == (0, 1)
    for axes in ((3,), (-4,), (0, -3)):
        with pytest.raises(Problem, match="E-SHAPE-AXIS"):
            resolve_axes("sum", axes, 3)


def test_integers_of_unlike_dtype_compare() -> None:
    assert OPERATIONS["equal"].infer(_types("i32 2, i64 2"), {}) == _types("bool 2")
