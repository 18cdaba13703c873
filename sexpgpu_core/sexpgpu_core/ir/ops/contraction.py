"""Contractions: matmul as the one primitive; dot, outer and einsum are made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...diagnostics import problem
from ..graph import Node, Value
from ..operation import Attributes, Cost, Fusion, Precision
from ..types import Type, broadcast
from .op import Cotangents, Op, Types
from .shapes import (
    Shape,
    argument,
    check_count,
    same_dtype,
    size,
    unbroadcast,
    want_number,
    wanted,
)

if TYPE_CHECKING:
    from ..builder import Builder


def matrix_sizes(shape: Shape, transpose: Any) -> Shape:
    """Rows and columns after the transposition."""
    return (shape[-1], shape[-2]) if transpose else shape[-2:]


def product_type(op: Op, operands: Types, attributes: Attributes) -> Type:
    if len(operands) != 2:
        check_count(op, operands, 2)
    x, y = operands
    dtype = same_dtype(op, operands)
    want_number(op, dtype)
    if x.rank < 2 or y.rank < 2:
        raise _misfit(op, x, y, "both need two axes or more")
    m, k = matrix_sizes(x.shape, attributes.get("transpose-x"))
    k2, n = matrix_sizes(y.shape, attributes.get("transpose-y"))
    if k != k2:
        raise _misfit(op, x, y, f"inner sizes {k} and {k2} differ")
    batch = broadcast(x.shape[:-2], y.shape[:-2])
    if batch is None:
        raise _misfit(op, x, y, "the leading axes do not broadcast")
    return Type(dtype, (*batch, m, n))


def _infer(op: Op, operands: Types, attributes: Attributes) -> Types:
    return (product_type(op, operands, attributes),)


def _misfit(op: Op, x: Type, y: Type, why: str) -> Exception:
    return problem(
        "E-SHAPE-MATMUL",
        f"{op.name} of {x} and {y}: {why}",
        hint="the last axis of x meets the last but one of y",
        operation=op.name,
        shapes=[x.shape, y.shape],
    )


def product(b: Builder, x: Value, y: Value, transpose_x: bool, transpose_y: bool) -> Value:
    """matmul with its flags as Python names; a flag that is not set is left out."""
    flags = {"transpose-x": transpose_x or None, "transpose-y": transpose_y or None}
    return b("matmul", x, y, **flags)


def product_gradient(b: Builder, node: Node, g: Value) -> Cotangents:
    """Of the first two operands of a product."""
    x, y = node.operands[:2]
    tx, ty = bool(node.get("transpose-x")), bool(node.get("transpose-y"))
    return (
        unbroadcast(b, _left(b, g, x, y, tx, ty), x.shape) if wanted(b, x) else None,
        unbroadcast(b, _right(b, g, x, y, tx, ty), y.shape) if wanted(b, y) else None,
    )


def _left(b: Builder, g: Value, x: Value, y: Value, tx: bool, ty: bool) -> Value:
    return product(b, y, g, ty, True) if tx else product(b, g, y, False, not ty)


def _right(b: Builder, g: Value, x: Value, y: Value, tx: bool, ty: bool) -> Value:
    if not tx and len(y.shape) == 2 < len(x.shape):
        # One product over all rows instead of a batch of products and their sum.
        x, g = _rows(b, x), _rows(b, g)
    return product(b, g, x, True, tx) if ty else product(b, x, g, not tx, False)


def _rows(b: Builder, x: Value) -> Value:
    return b("reshape", x, shape=(size(x.shape[:-1]), x.shape[-1]))


def product_cost(operands: Types, results: Types, attributes: Attributes) -> Cost:
    x, y = operands
    inner = x.shape[-2 if attributes.get("transpose-x") else -1]
    return Cost(2 * results[0].size * inner, x.bytes + y.bytes, results[0].bytes)


def _depends(
    operands: Types, results: Types, attributes: Attributes
) -> tuple[tuple[int, int, int, str], ...]:
    rank = results[0].rank
    x, y = operands
    rows = []
    for k, t in enumerate(operands):
        rows += [(rank - t.rank + a, k, a, "same") for a in range(t.rank - 2)]
    rows.append((rank - 2, 0, x.rank - (1 if attributes.get("transpose-x") else 2), "same"))
    rows.append((rank - 1, 1, y.rank - (2 if attributes.get("transpose-y") else 1), "same"))
    return tuple(rows)


def _infer_dot(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 2)
    x, y = operands
    want_number(op, same_dtype(op, operands))
    if not x.rank or not y.rank or x.shape[-1] != y.shape[-1]:
        raise _misfit(op, x, y, "the last axes differ")
    batch = broadcast(x.shape[:-1], y.shape[:-1])
    if batch is None:
        raise _misfit(op, x, y, "the leading axes do not broadcast")
    return (Type(x.dtype, batch),)


def _expand_dot(b: Builder, node: Node) -> tuple[Value, ...]:
    product_of = b("multiply", *node.operands)
    return (b("reduce-sum", product_of, axes=(len(product_of.shape) - 1,), keep=False),)


def _infer_outer(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 2)
    x, y = operands
    want_number(op, same_dtype(op, operands))
    batch = broadcast(x.shape[:-1], y.shape[:-1]) if x.rank and y.rank else None
    if batch is None:
        raise argument(op, operands, "vectors with leading axes that broadcast")
    return (Type(x.dtype, (*batch, x.shape[-1], y.shape[-1])),)


def _expand_outer(b: Builder, node: Node) -> tuple[Value, ...]:
    x, y = node.operands
    column = b("reshape", x, shape=(*x.shape, 1))
    row = b("reshape", y, shape=(*y.shape[:-1], 1, y.shape[-1]))
    return (b("multiply", column, row),)


ROWS = [
    Op(
        "matmul",
        "contraction",
        Fusion.LIBRARY,
        Precision.LOW,
        _infer,
        "Product of the last two axes; leading axes broadcast; integers accumulate in their "
        "dtype, 16-bit floats in f32. Attributes transpose-x, transpose-y (left out: false). "
        "Gradient: yes.",
        product_gradient,
        cost=product_cost,
        depends=_depends,
    ),
    Op(
        "dot",
        "contraction",
        Fusion.REDUCE,
        Precision.LOW,
        _infer_dot,
        "Sum of products over the last axis; leading axes broadcast. Gradient: yes.",
        expand=_expand_dot,
    ),
    Op(
        "outer",
        "contraction",
        Fusion.ELEMENT,
        Precision.LOW,
        _infer_outer,
        "(... m) and (... n) to (... m n). Gradient: yes.",
        expand=_expand_outer,
    ),
]
