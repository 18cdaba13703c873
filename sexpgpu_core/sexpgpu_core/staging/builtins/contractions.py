"""matmul, dot, outer and einsum."""

from __future__ import annotations

from ...diagnostics import problem
from ...evaluator.values import NIL, String, Value
from ...ir.graph import Value as Node
from ..arguments import axis as axis_of
from ..arguments import flag
from ..faults import describe
from ..promote import not_a_tensor, operands
from ..table import tensor_builtin
from ..tensor import Tensor, is_tensor
from ..tracer import Tracer
from .shape import reshaped


def product(
    t: Tracer, x: Node, y: Node, transpose_x: bool = False, transpose_y: bool = False
) -> Node:
    """matmul of operands with two axes or more."""
    flags = {"transpose-x": transpose_x, "transpose-y": transpose_y}
    return t.builder("matmul", x, y, **flags)


@tensor_builtin("matmul", "(x y &key transpose-x transpose-y)")
def matmul(x: Value, y: Value, *, transpose_x: Value = NIL, transpose_y: Value = NIL) -> Tensor:
    """The product of the last two axes; leading axes broadcast; rank 1 as NumPy's. N.

    (b m k) x (k n) => (b m n). (matmul x w)"""
    for operand in (x, y):
        if not is_tensor(operand):
            raise not_a_tensor("matmul", operand)
    t, (a, c) = operands("matmul", (x, y))
    if not a.shape or not c.shape:
        raise problem(
            "E-SHAPE-MATMUL",
            f"matmul of {describe(x)} and {describe(y)}: both need an axis",
            hint="a scalar multiplies: (* x y)",
            shapes=[a.shape, c.shape],
        )
    row, column = len(a.shape) == 1, len(c.shape) == 1
    left = reshaped(t, a, (1, a.shape[0])) if row else a
    right = reshaped(t, c, (c.shape[0], 1)) if column else c
    _fit(x, y, left, right, flag(transpose_x), flag(transpose_y))
    found = product(t, left, right, flag(transpose_x) and not row, flag(transpose_y) and not column)
    shape = found.shape
    if row:
        shape = (*shape[:-2], shape[-1])
    if column:
        shape = shape[:-1]
    return t.tensor(reshaped(t, found, shape))


def _fit(x: Value, y: Value, left: Node, right: Node, flip_x: bool, flip_y: bool) -> None:
    inner = left.shape[-2 if flip_x and len(x.shape) > 1 else -1]
    other = right.shape[-1 if flip_y and len(y.shape) > 1 else -2]
    if inner == other:
        return
    raise problem(
        "E-SHAPE-MATMUL",
        f"matmul of {x.type} and {y.type}: inner sizes {inner} and {other} differ",
        hint="the last axis of x meets the last but one of y",
        shapes=[list(x.shape), list(y.shape)],
        sizes=(inner, other),
    )


@tensor_builtin("dot", "(x y &key (axis -1))")
def dot(x: Value, y: Value, *, axis: Value = -1) -> Tensor:
    """The sum of products along an axis. N, broadcast. (dot x y)"""
    t, (a, c) = operands("dot", (x, y))
    if axis == -1 and a.shape[-1:] != c.shape[-1:]:
        raise problem(
            "E-SHAPE-MATMUL",
            f"dot of {a.type} and {c.type}: their last axes differ",
            hint="vectors of one length, along the last axis; :axis says another one",
            shapes=[list(a.shape), list(c.shape)],
            sizes=(*a.shape[-1:], *c.shape[-1:]),
        )
    if axis == -1:
        return t.tensor(t.builder("dot", a, c))
    both = t.builder("multiply", a, c)
    place = axis_of("dot", axis, len(both.shape))
    return t.tensor(t.builder("reduce-sum", both, axes=(place,), keep=False))


@tensor_builtin("outer", "(x y)")
def outer(x: Value, y: Value) -> Tensor:
    """(... m) and (... n) to (... m n). N. (outer x y)"""
    t, (a, c) = operands("outer", (x, y))
    return t.tensor(t.builder("outer", a, c))


@tensor_builtin("kron", "(x y)")
def kron(x: Value, y: Value) -> Tensor:
    """Kronecker's product: every element of x times all of y; sizes multiply. N. (kron x y)"""
    t, (a, c) = operands("kron", (x, y))
    rank = max(len(a.shape), len(c.shape))
    left, right = ((1,) * (rank - len(v.shape)) + v.shape for v in (a, c))
    wide = reshaped(t, a, tuple(n for size in left for n in (size, 1)))
    other = reshaped(t, c, tuple(n for size in right for n in (1, size)))
    product = t.builder("multiply", wide, other)
    return t.tensor(reshaped(t, product, tuple(m * n for m, n in zip(left, right))))


@tensor_builtin("einsum", "(subscripts x &rest y)")
def einsum(subscripts: Value, x: Value, *y: Value) -> Tensor:
    """Products summed by subscripts; `...` allowed. N. (einsum "bqhd,bkhd->bhqk" q k)"""
    if not isinstance(subscripts, String):
        raise problem(
            "E-TYPE", "the subscripts of einsum are a string and stand first", wanted="string"
        )
    t, nodes = operands("einsum", (x, *y))
    return t.tensor(t.builder("einsum", *nodes, subscripts=subscripts.text()))
