"""Builtins that make tensors from numbers: constants, ranges, unit matrices."""

from __future__ import annotations

from typing import Any

from ...diagnostics import problem
from ...evaluator.builtins.listing import proper
from ...evaluator.values import NIL, Array, Cons, Value, keyword
from ...ir.graph import Value as Node
from ...ir.types import FLOATS, Type
from ..arguments import dtype as dtype_of
from ..arguments import flag, sizes
from ..exact import default_dtype, is_number, round_to
from ..faults import describe
from ..host import tracer
from ..promote import integer, not_a_tensor
from ..table import tensor_builtin
from ..tensor import Handle, StepScalar, Tensor, is_tensor
from ..tracer import Tracer

F32 = keyword("F32")
I32 = keyword("I32")


def splat(t: Tracer, value: Any, dtype: str, shape: tuple[int, ...]) -> Node:
    """One number everywhere."""
    if dtype == "bool":
        return t.builder.constant(bool(value), dtype, shape)
    return t.builder.constant(round_to(value, dtype), dtype, shape)


@tensor_builtin("tensor", "(datum &key dtype)")
def tensor(datum: Value, *, dtype: Value = NIL) -> Handle:
    """Constant data as a tensor: a number, nested list or Lisp array; f32, or i32 if all are
    integers.

    It may stand in `defparameter`. (tensor '((1 2) (3 4)) :dtype :f32)"""
    shape, values = _flatten(datum)
    whole = all(v.__class__ is int for v in values)
    found = dtype_of("tensor", dtype, "i32" if whole else "f32")
    if found == "bool":
        return Handle(Type(found, shape), tuple(v not in (0, NIL) for v in values))
    for v in values:
        if not is_number(v):
            raise problem("E-STAGE-VALUE", f"tensor holds numbers, not {describe(v)}")
    handle = Handle(Type(found, shape), tuple(values))
    handle.in_dtype(found)
    return handle


def _flatten(datum: Value) -> tuple[tuple[int, ...], list[Value]]:
    if isinstance(datum, Array):
        return datum.dims, list(datum.data)
    if datum.__class__ is not Cons:
        return (), [datum]
    parts = [_flatten(item) for item in proper("tensor", datum)]
    inner = parts[0][0]
    if any(shape != inner for shape, _ in parts):
        raise problem(
            "E-SHAPE-ARGUMENT", "tensor: rows of unlike length", hint="every row has one length"
        )
    return (len(parts), *inner), [v for _, values in parts for v in values]


@tensor_builtin("full", "(shape value &key dtype)")
def full(shape: Value, value: Value, *, dtype: Value = NIL) -> Tensor:
    """A number everywhere; f32, or i32 for an integer, without `:dtype`. (full '(2 3) 0.5)"""
    t = tracer("full")
    if value.__class__ is StepScalar:
        node = t.scalar(value, t.wide(dtype_of("full", dtype, "f32")))
        return t.tensor(t.builder("broadcast-to", node, shape=sizes("full", shape)))
    if not is_number(value):
        raise problem("E-TYPE", f"full takes a number, not {describe(value)}", wanted="number")
    found = t.wide(dtype_of("full", dtype, default_dtype(value)))
    return t.tensor(splat(t, value, found, sizes("full", shape)))


@tensor_builtin("zeros", "(shape &key (dtype :f32))")
def zeros(shape: Value, *, dtype: Value = F32) -> Tensor:
    """Zeros. (zeros (list b 128))"""
    t = tracer("zeros")
    return t.tensor(splat(t, 0, t.wide(dtype_of("zeros", dtype, "f32")), sizes("zeros", shape)))


@tensor_builtin("ones", "(shape &key (dtype :f32))")
def ones(shape: Value, *, dtype: Value = F32) -> Tensor:
    """Ones. (ones (list b 128))"""
    t = tracer("ones")
    return t.tensor(splat(t, 1, t.wide(dtype_of("ones", dtype, "f32")), sizes("ones", shape)))


def _like(name: str, x: Value, value: Value, dtype: Value) -> Tensor:
    t = tracer(name)
    if not is_tensor(x):
        raise not_a_tensor(name, x)
    return t.tensor(splat(t, value, t.wide(dtype_of(name, dtype, x.dtype)), x.shape))


@tensor_builtin("zeros-like", "(x &key dtype)")
def zeros_like(x: Value, *, dtype: Value = NIL) -> Tensor:
    """Zeros of the shape and dtype of x. (zeros-like x)"""
    return _like("zeros-like", x, 0, dtype)


@tensor_builtin("ones-like", "(x &key dtype)")
def ones_like(x: Value, *, dtype: Value = NIL) -> Tensor:
    """Ones of the shape and dtype of x. (ones-like x)"""
    return _like("ones-like", x, 1, dtype)


@tensor_builtin("full-like", "(x value &key dtype)")
def full_like(x: Value, value: Value, *, dtype: Value = NIL) -> Tensor:
    """A number everywhere, of the shape and dtype of x. (full-like x 0.5)"""
    return _like("full-like", x, value, dtype)


@tensor_builtin("iota", "(n &key (start 0) (step 1) (dtype :i32))")
def iota(n: Value, *, start: Value = 0, step: Value = 1, dtype: Value = I32) -> Tensor:
    """start, start + step, ...: n numbers; symbolic, never stored. N, (n). (iota 8 :dtype :f32)"""
    t = tracer("iota")
    found = t.wide(dtype_of("iota", dtype, "i32"))
    b, size = t.builder, integer("iota", "n", n)
    node = b("iota", dtype=found, shape=sizes("iota", size), axis=0)
    if step != 1:
        node = b("multiply", node, b.constant(round_to(step, found), found))
    if start != 0:
        node = b("add", node, b.constant(round_to(start, found), found))
    return t.tensor(node)


@tensor_builtin("linspace", "(start stop n &key (endpoint t) (dtype :f32))")
def linspace(
    start: Value, stop: Value, n: Value, *, endpoint: Value = True, dtype: Value = F32
) -> Tensor:
    """n equally spaced numbers from start to stop, stop among them or not. F, (n).

    (linspace 0 1 5)"""
    from ...evaluator.definitions import BUILTINS

    count = integer("linspace", "n", n)
    parts = max(count - 1, 1) if flag(endpoint) else max(count, 1)
    span = BUILTINS["-"].call(stop, start)
    step = BUILTINS["/"].call(span, parts)
    found = dtype_of("linspace", dtype, "f32")
    if found not in FLOATS:
        raise problem("E-DTYPE-ARGUMENT", f"linspace gives floats, not {found}")
    return iota(count, start=start, step=step, dtype=keyword(found.upper()))


@tensor_builtin("eye", "(n &key columns (dtype :f32))")
def eye(n: Value, *, columns: Value = NIL, dtype: Value = F32) -> Tensor:
    """The unit matrix, n rows and as many columns. (eye 3)"""
    t = tracer("eye")
    rows = integer("eye", "n", n)
    shape = (rows, rows if columns is NIL else integer("eye", "columns", columns))
    b = t.builder
    i = b("iota", dtype="i32", shape=(shape[0], 1), axis=0)
    j = b("iota", dtype="i32", shape=(1, shape[1]), axis=1)
    same = b("equal", i, j)
    found = t.wide(dtype_of("eye", dtype, "f32"))
    return t.tensor(same if found == "bool" else b("cast", same, dtype=found))


@tensor_builtin("cast", "(x dtype)")
def cast(x: Value, dtype: Value) -> Tensor:
    """x in another dtype; float to integer truncates, bool is 0 or 1. (cast x :f32)"""
    t = tracer("cast")
    found = t.wide(dtype_of("cast", dtype, "f32")) if dtype is not NIL else _no_dtype()
    if is_number(x):
        return t.tensor(splat(t, x, found, ()))
    if x.__class__ is StepScalar:
        return t.tensor(t.scalar(x, found))
    if not is_tensor(x):
        raise not_a_tensor("cast", x)
    node = t.node(x)
    return t.tensor(node if node.dtype == found else t.builder("cast", node, dtype=found))


def _no_dtype() -> str:
    raise problem("E-DTYPE-ARGUMENT", "cast: nil is no dtype", hint="(cast x :f32)")


@tensor_builtin("bitcast", "(x dtype)")
def bitcast(x: Value, dtype: Value) -> Tensor:
    """The bits of x read as a dtype of equal width; gradient 0. (bitcast x :u32)"""
    t = tracer("bitcast")
    if not is_tensor(x):
        raise not_a_tensor("bitcast", x)
    return t.tensor(t.builder("bitcast", t.node(x), dtype=dtype_of("bitcast", dtype, "u32")))
