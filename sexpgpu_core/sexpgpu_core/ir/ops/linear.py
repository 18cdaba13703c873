"""Linear algebra over the last two axes: factors, systems, determinants; f32 and f64.

Factors are computed in f64 and rounded once. Columns of eigenvectors and of u have their first
greatest element positive, so that devices agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph import Node, Value
from ..operation import Attributes, Cost, Fusion, Precision
from ..types import Type
from .activation import times
from .op import Cotangents, Expand, Gradient, Infer, Op, Types
from .shapes import argument, check_count, dtype_argument, same_dtype, wanted

if TYPE_CHECKING:
    from ..builder import Builder

Axes = tuple[tuple[int, int, int, str], ...]


def _matrix(op: Op, operands: Types, square: bool = True) -> Type:
    x = operands[0]
    if x.dtype not in ("f32", "f64"):
        raise dtype_argument(op, x.dtype, "f32 or f64")
    if x.rank < 2 or (square and x.shape[-1] != x.shape[-2]):
        raise argument(op, operands, "x is (... n n)" if square else "x is (... m n)")
    return x


def _square(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 1)
    return (_matrix(op, operands),)


def _number(op: Op, operands: Types, attributes: Attributes) -> Types:
    (x,) = _square(op, operands, attributes)
    return (Type(x.dtype, x.shape[:-2]),)


def _system(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 2)
    same_dtype(op, operands)
    a, b = _matrix(op, operands), operands[1]
    if b.rank != a.rank or b.shape[:-1] != a.shape[:-1]:
        raise argument(op, operands, "a is (... n n) and b is (... n m)")
    return (b,)


def _lu(op: Op, operands: Types, attributes: Attributes) -> Types:
    (x,) = _square(op, operands, attributes)
    return (x, Type("i32", x.shape[:-1]), Type(x.dtype, x.shape[:-2]))


def _qr(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 1)
    x = _matrix(op, operands, square=False)
    *lead, m, n = x.shape
    k = min(m, n)
    return (Type(x.dtype, (*lead, m, k)), Type(x.dtype, (*lead, k, n)))


def _svd(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 1)
    x = _matrix(op, operands, square=False)
    *lead, m, n = x.shape
    k = min(m, n)
    left, right = (m, n) if attributes.get("full") else (k, k)
    shapes = ((*lead, m, left), (*lead, k), (*lead, right, n))
    return tuple(Type(x.dtype, s) for s in shapes)


def _eigh(op: Op, operands: Types, attributes: Attributes) -> Types:
    (x,) = _square(op, operands, attributes)
    return (Type(x.dtype, x.shape[:-1]), x)


def _newton_schulz(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 1)
    x = operands[0]
    if x.dtype not in ("f64", "f32", "bf16", "f16"):
        raise dtype_argument(op, x.dtype, "floats")
    if x.rank < 2:
        raise argument(op, operands, "x is (... m n)")
    return (x,)


# Parts of gradients
def _turned(b: Builder, x: Value) -> Value:
    rank = len(x.shape)
    return b("permute", x, axes=(*range(rank - 2), rank - 1, rank - 2))


def _triangle(b: Builder, x: Value, upper: bool, strict: bool) -> Value:
    n = x.shape[-1]
    i = b("iota", dtype="i32", shape=(n, 1), axis=0)
    j = b("iota", dtype="i32", shape=(1, n), axis=1)
    low, high = (i, j) if upper else (j, i)
    inside = b("less" if strict else "less-equal", low, high)
    return b("where", inside, x, b.like(0.0, x))


def _cholesky_back(b: Builder, node: Node, g: Value) -> Cotangents:
    """Murray, 2016: of the lower triangle of l' g with half its diagonal."""
    factor = Value(node, 0)
    inner = b("matmul", factor, _triangle(b, g, False, False), **{"transpose-x": True})
    below = b("add", _triangle(b, inner, False, False), _triangle(b, inner, False, True))
    half = times(b, below, 0.5)
    left = b("solve-triangular", factor, half, transpose=True)
    whole = b("solve-triangular", factor, _turned(b, left), transpose=True)
    return (times(b, b("add", whole, _turned(b, whole)), 0.5),)


def _triangular_back(b: Builder, node: Node, g: Value) -> Cotangents:
    a, x = node.operands[0], Value(node, 0)
    at = {k: bool(node.get(k)) for k in ("upper", "unit", "transpose")}
    gb = b("solve-triangular", a, g, **{**at, "transpose": not at["transpose"]})
    if not wanted(b, a):
        return (None, gb)
    pair = (x, gb) if at["transpose"] else (gb, x)
    outer = b("negate", b("matmul", *pair, **{"transpose-y": True}))
    return (_triangle(b, outer, at["upper"], at["unit"]), gb)


def _solve_back(b: Builder, node: Node, g: Value) -> Cotangents:
    a, x = node.operands[0], Value(node, 0)
    gb = b("solve", _turned(b, a), g)
    if not wanted(b, a):
        return (None, gb)
    return (b("negate", b("matmul", gb, x, **{"transpose-y": True})), gb)


def _inverse_back(b: Builder, node: Node, g: Value) -> Cotangents:
    y = Value(node, 0)
    left = b("matmul", y, g, **{"transpose-x": True})
    return (b("negate", b("matmul", left, y, **{"transpose-y": True})),)


def _spread(b: Builder, number: Value) -> Value:
    return b("reshape", number, shape=(*number.shape, 1, 1))


def _det_back(b: Builder, node: Node, g: Value) -> Cotangents:
    factor = _spread(b, b("multiply", g, Value(node, 0)))
    return (b("multiply", factor, _turned(b, b("inverse", node.operands[0]))),)


def _logdet_back(b: Builder, node: Node, g: Value) -> Cotangents:
    return (b("multiply", _spread(b, g), _turned(b, b("inverse", node.operands[0]))),)


# Expansions
def _several(b: Builder, operation: str, x: Value) -> tuple[Value, ...]:
    return b.several(operation, x)


def _expand_solve(b: Builder, node: Node) -> tuple[Value, ...]:
    a, y = node.operands
    packed, order, _ = _several(b, "lu", a)
    batch = {"batch-axes": len(a.shape) - 2}
    rows = b("gather", y, order, axis=len(a.shape) - 2, out="drop", **batch)
    lower = b("solve-triangular", packed, rows, unit=True)
    return (b("solve-triangular", packed, lower, upper=True),)


def _expand_inverse(b: Builder, node: Node) -> tuple[Value, ...]:
    x = node.operands[0]
    n = x.shape[-1]
    i = b("iota", dtype="i32", shape=(n, 1), axis=0)
    j = b("iota", dtype="i32", shape=(1, n), axis=1)
    unit = b("cast", b("equal", i, j), dtype=x.dtype)
    unit = b("broadcast-to", unit, shape=x.shape)
    return (b("solve", x, unit),)


def _diagonal(b: Builder, x: Value) -> Value:
    """The diagonal on the last axis."""
    n = x.shape[-1]
    i = b("iota", dtype="i32", shape=(n, 1), axis=0)
    j = b("iota", dtype="i32", shape=(1, n), axis=1)
    kept = b("where", b("equal", i, j), x, b.like(0.0, x))
    return b("reduce-sum", kept, axes=(len(x.shape) - 1,), keep=False)


def _expand_det(b: Builder, node: Node) -> tuple[Value, ...]:
    packed, _, sign = _several(b, "lu", node.operands[0])
    line = _diagonal(b, packed)
    product = b("reduce-product", line, axes=(len(line.shape) - 1,), keep=False)
    return (b("multiply", product, sign),)


def _expand_logdet(b: Builder, node: Node) -> tuple[Value, ...]:
    packed, _, sign = _several(b, "lu", node.operands[0])
    line = _diagonal(b, packed)
    last = len(line.shape) - 1
    signs = b("reduce-product", b("sign", line), axes=(last,), keep=False)
    total = b("reduce-sum", b("log", b("abs", line)), axes=(last,), keep=False)
    negative = b("less", b("multiply", signs, sign), b.like(0.0, total))
    return (b("where", negative, b.like(float("nan"), total), total),)


def _expand_newton_schulz(b: Builder, node: Node) -> tuple[Value, ...]:
    x, (first, second, third) = node.operands[0], node.get("coefficients")
    wide = x.shape[-1] >= x.shape[-2]
    y = x if wide else _turned(b, x)
    last = (len(x.shape) - 2, len(x.shape) - 1)
    size = b("sqrt", b("reduce-sum", b("square", y), axes=last, keep=True))
    y = b("divide", y, b("add", size, b.like(1e-7, size)))
    for _ in range(node.get("steps")):
        gram = b("matmul", y, y, **{"transpose-y": True})
        mixed = b("add", times(b, gram, second), times(b, b("matmul", gram, gram), third))
        y = b("add", times(b, y, first), b("matmul", mixed, y))
    return (y if wide else _turned(b, y),)


# Costs and dependence
def _cubic(operands: Types, results: Types, attributes: Attributes) -> Cost:
    """About the product of the sizes, times the smaller of the last two, a matrix."""
    x = operands[0]
    flops = x.size * min(x.shape[-2:]) * (len(results) if len(results) > 1 else 1)
    return Cost(flops, sum(t.bytes for t in operands), sum(t.bytes for t in results))


def _batch(operands: Types, results: Types, attributes: Attributes) -> Axes:
    rank = operands[0].rank - 2
    return tuple((a, k, a, "same") for k in range(len(operands)) for a in range(rank))


def _row(
    name: str, infer: Infer, doc: str, gradient: Gradient | str, expand: Expand | None = None
) -> Op:
    fusion = Fusion.OPAQUE if expand is None else Fusion.REDUCE
    tail = "none" if gradient == "none" else "yes"
    return Op(
        name,
        "linear",
        fusion,
        Precision.FULL,
        infer,
        f"{doc} Gradient: {tail}.",
        gradient,
        expand=expand,
        cost=_cubic,
        depends=_batch,
    )


ROWS = [
    _row("cholesky", _square, "Lower l, l l' = (x + x') / 2; NaN if not positive.", _cholesky_back),
    _row(
        "solve-triangular",
        _system,
        "x with a x = b, a the lower triangle. Attributes upper, transpose, unit (diagonal of 1).",
        _triangular_back,
    ),
    _row("solve", _system, "x with a x = b, by LU.", _solve_back, _expand_solve),
    _row("inverse", _square, "The inverse, by LU.", _inverse_back, _expand_inverse),
    _row("det", _number, "The determinant, by LU.", _det_back, _expand_det),
    _row(
        "logdet", _number, "Its logarithm; NaN where it is negative.", _logdet_back, _expand_logdet
    ),
    _row(
        "lu",
        _lu,
        "Three results: l below the diagonal and u, the order of rows (i32), its sign.",
        "none",
    ),
    _row("qr", _qr, "Two results, q and r, the diagonal of r >= 0.", "none"),
    _row("svd", _svd, "Three results, u, s descending, v'. Attribute full.", "none"),
    _row(
        "eigh", _eigh, "Two results of (x + x') / 2: ascending values, vectors in columns.", "none"
    ),
    Op(
        "newton-schulz",
        "",
        Fusion.LIBRARY,
        Precision.LOW,
        _newton_schulz,
        "The orthogonal factor, about: steps of y = a y + (b y y' + c (y y')^2) y from x over its "
        "norm. Attributes steps, coefficients (Jordan and others, 2024). Gradient: none.",
        "none",
        expand=_expand_newton_schulz,
        cost=lambda o, r, a: Cost(6 * a["steps"] * _cubic(o, r, a).flops, o[0].bytes, r[0].bytes),
        depends=_batch,
    ),
]
