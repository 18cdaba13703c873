"""Matrix products that end with a bias, GELU or GELU's slope, as libraries have them: each result
is rounded once, from sums in f32. Compilers write these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph import Node, Value
from ..operation import Attributes, Cost, Fusion, Precision
from ..types import Type
from .activation import tanh_gelu, tanh_slope
from .attention import wide
from .contraction import product, product_cost, product_gradient, product_type
from .op import Cotangents, Op, Types
from .shapes import argument, check_count, same_dtype, unbroadcast, wanted

if TYPE_CHECKING:
    from ..builder import Builder

FLAGS = ("transpose-x", "transpose-y")


def _infer_bias(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 3)
    found = product_type(op, operands[:2], attributes)
    same_dtype(op, operands)
    if operands[2].shape != found.shape[-1:]:
        raise argument(op, operands, "the bias has an element a column")
    return (found,)


def _infer_gelu(op: Op, operands: Types, attributes: Attributes) -> Types:
    return _infer_bias(op, operands, attributes) * 2


def _infer_slope(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 3)
    found = product_type(op, operands[:2], attributes)
    if operands[2] != found:
        raise argument(op, operands, "what GELU was given has the product's type")
    return (found,)


def _sums(b: Builder, node: Node) -> Value:
    """The product before it is rounded."""
    x, y = (wide(b, v) for v in node.operands[:2])
    return product(b, x, y, *(bool(node.get(name)) for name in FLAGS))


def _with_bias(b: Builder, node: Node) -> Value:
    return b("add", _sums(b, node), wide(b, node.operands[2]))


def _rounded(b: Builder, value: Value, dtype: str) -> Value:
    return value if value.dtype == dtype else b("cast", value, dtype=dtype)


def _expand_bias(b: Builder, node: Node) -> tuple[Value, ...]:
    return (_rounded(b, _with_bias(b, node), node.types[0].dtype),)


def _expand_gelu(b: Builder, node: Node) -> tuple[Value, ...]:
    given, dtype = _with_bias(b, node), node.types[0].dtype
    return _rounded(b, tanh_gelu(b, given), dtype), _rounded(b, given, dtype)


def _expand_slope(b: Builder, node: Node) -> tuple[Value, ...]:
    slope = tanh_slope(b, wide(b, node.operands[2]))
    return (_rounded(b, b("multiply", _sums(b, node), slope), node.types[0].dtype),)


def _bias_back(b: Builder, node: Node, g: Value) -> Cotangents:
    bias = node.operands[2]
    summed = unbroadcast(b, g, bias.shape) if wanted(b, bias) else None
    return (*product_gradient(b, node, g), summed)


def _gelu_back(b: Builder, node: Node, out: Cotangents) -> Cotangents:
    """A cotangent that is a product itself ends with the slope; it has no other user, or is made
    twice."""
    g, more = out
    given = Value(node, 1)
    if g is not None:
        g = _sloped(b, g, given)
        more = g if more is None else b("add", g, more)
    assert more is not None
    return _bias_back(b, node, more)


def _sloped(b: Builder, g: Value, given: Value) -> Value:
    if g.node.operation != "matmul":
        return b("multiply", g, tanh_slope(b, given))
    flags = {name: g.node.get(name) or None for name in FLAGS}
    return b("matmul-gelu-slope", *g.node.operands, given, **flags)


def _cost(operands: Types, results: tuple[Type, ...], attributes: Attributes) -> Cost:
    flops = product_cost(operands[:2], results[:1], attributes).flops
    return Cost(flops, sum(t.bytes for t in operands), sum(t.bytes for t in results))


ROWS = [
    Op(
        "matmul-bias",
        "",
        Fusion.LIBRARY,
        Precision.LOW,
        _infer_bias,
        "A matmul of x and y plus a bias a column. A compiler's. Gradient: yes.",
        _bias_back,
        expand=_expand_bias,
        cost=_cost,
    ),
    Op(
        "matmul-gelu",
        "",
        Fusion.LIBRARY,
        Precision.LOW,
        _infer_gelu,
        "GELU (the tanh form) of a matmul of x and y plus a bias, and what GELU was given. "
        "A compiler's. Gradient: yes.",
        _gelu_back,
        expand=_expand_gelu,
        cost=_cost,
    ),
    Op(
        "matmul-gelu-slope",
        "",
        Fusion.LIBRARY,
        Precision.LOW,
        _infer_slope,
        "A matmul of x and y times GELU's slope (the tanh form) at the third operand. A "
        "compiler's. Gradient: yes.",
        expand=_expand_slope,
        cost=_cost,
    ),
]
