"""Elementwise arithmetic: numbers to numbers of the same dtype, broadcast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph import Node, Value
from ..operation import Attributes, Precision
from ..types import DTYPES, FLOATS, WIDTH, Type
from .elementwise import (
    element,
    floats_1,
    floats_2,
    integers_2,
    nary,
    numbers_1,
    numbers_2,
    numbers_3,
    unary,
)
from .op import Cotangents, Op, Types
from .shapes import check_count, dtype_argument, unbroadcast, wanted

if TYPE_CHECKING:
    from ..builder import Builder

F = Precision.FULL


def zero_unless(b: Builder, test: Value, g: Value) -> Value:
    """g where the test holds, else 0."""
    return b("where", test, g, b.like(0.0, g))


def _power(b: Builder, node: Node, g: Value) -> Cotangents:
    x, y = node.operands
    return (
        unbroadcast(b, _power_base(b, g, x, y), x.shape) if wanted(b, x) else None,
        unbroadcast(b, _power_exponent(b, g, node), y.shape) if wanted(b, y) else None,
    )


def _power_base(b: Builder, g: Value, x: Value, y: Value) -> Value:
    slope = b("multiply", y, b("power", x, b("subtract", y, b.like(1.0, y))))
    if y.node.operation == "constant" and y.node.get("value"):
        return b("multiply", g, slope)
    # 0 x^-1 at x = 0 would be NaN where the slope of a constant is 0.
    flat = b("equal", y, b.like(0.0, y))
    return b("multiply", g, b("where", flat, b.like(0.0, g), slope))


def _power_exponent(b: Builder, g: Value, node: Node) -> Value:
    x = node.operands[0]
    positive = b("greater", x, b.like(0.0, x))
    logarithm = b("log", b("where", positive, x, b.like(1.0, x)))
    return b("multiply", g, b("multiply", Value(node, 0), logarithm))


def _infer_cast(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 1)
    return (Type(_dtype(op, attributes), operands[0].shape),)


def _infer_bitcast(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 1)
    dtype = _dtype(op, attributes)
    if WIDTH[dtype] != operands[0].itemsize or "bool" in (dtype, operands[0].dtype):
        raise dtype_argument(op, operands[0].dtype, f"dtypes as wide as {dtype}")
    return (Type(dtype, operands[0].shape),)


def _dtype(op: Op, attributes: Attributes) -> str:
    dtype = attributes["dtype"]
    if dtype not in DTYPES:
        raise dtype_argument(op, str(dtype), "one of " + " ".join(DTYPES))
    return str(dtype)


def _cast_gradient(b: Builder, node: Node, g: Value) -> Cotangents:
    x = node.operands[0]
    if x.dtype not in FLOATS or g.dtype not in FLOATS:
        return (None,)
    return (b("cast", g, dtype=x.dtype),)


def _clip_side(comparison: str, bound: int):  # type: ignore[no-untyped-def]
    def side(b: Builder, g: Value, n: Node) -> Value:
        return zero_unless(b, b(comparison, n.operands[0], n.operands[bound]), g)

    return side


def _inside(b: Builder, g: Value, n: Node) -> Value:
    x, low, high = n.operands
    both = b("logical-and", b("greater-equal", x, low), b("less-equal", x, high))
    return zero_unless(b, both, g)


def _atan2_slope(b: Builder, g: Value, n: Node, side: int) -> Value:
    y, x = n.operands
    square = b("add", b("square", y), b("square", x))
    other = x if side == 0 else b("negate", y)
    return b("divide", b("multiply", g, other), square)


ROWS = [
    element(
        "add",
        numbers_2,
        "x + y.",
        nary(lambda b, g, n: g, lambda b, g, n: g),
        commutative=True,
    ),
    element(
        "subtract",
        numbers_2,
        "x - y.",
        nary(lambda b, g, n: g, lambda b, g, n: b("negate", g)),
    ),
    element(
        "multiply",
        numbers_2,
        "x y.",
        nary(
            lambda b, g, n: b("multiply", g, n.operands[1]),
            lambda b, g, n: b("multiply", g, n.operands[0]),
        ),
        commutative=True,
    ),
    element(
        "divide",
        floats_2,
        "x / y; floats only.",
        nary(
            lambda b, g, n: b("divide", g, n.operands[1]),
            lambda b, g, n: b("negate", b("divide", b("multiply", g, Value(n, 0)), n.operands[1])),
        ),
    ),
    element("negate", numbers_1, "-x.", unary(lambda b, g, x, y: b("negate", g))),
    element(
        "maximum",
        numbers_2,
        "The greater; NaN wins. At a tie the first operand has the gradient.",
        nary(
            lambda b, g, n: zero_unless(b, b("greater-equal", *n.operands), g),
            lambda b, g, n: zero_unless(b, b("less", *n.operands), g),
        ),
    ),
    element(
        "minimum",
        numbers_2,
        "The lesser; NaN wins. At a tie the first operand has the gradient.",
        nary(
            lambda b, g, n: zero_unless(b, b("less-equal", *n.operands), g),
            lambda b, g, n: zero_unless(b, b("greater", *n.operands), g),
        ),
    ),
    element(
        "abs",
        numbers_1,
        "The absolute value; slope 0 at 0.",
        unary(lambda b, g, x, y: b("multiply", g, b("sign", x))),
    ),
    element("sign", numbers_1, "-1, 0 or 1.", "zero"),
    element(
        "square",
        numbers_1,
        "x x.",
        unary(lambda b, g, x, y: b("multiply", g, b("multiply", x, b.like(2.0, x)))),
    ),
    element(
        "reciprocal",
        floats_1,
        "1 / x.",
        unary(lambda b, g, x, y: b("negate", b("multiply", g, b("square", y)))),
    ),
    element(
        "sqrt",
        floats_1,
        "The square root; NaN below 0.",
        unary(lambda b, g, x, y: b("divide", b("multiply", g, b.like(0.5, g)), y)),
    ),
    element(
        "rsqrt",
        floats_1,
        "1 / sqrt(x).",
        unary(
            lambda b, g, x, y: b(
                "multiply",
                b("multiply", g, b.like(-0.5, g)),
                b("multiply", y, b("square", y)),
            )
        ),
    ),
    element("power", floats_2, "x to the y.", _power, F),
    element("floor", numbers_1, "Toward minus infinity.", "zero"),
    element("ceiling", numbers_1, "Toward infinity.", "zero"),
    element("round", numbers_1, "To the nearest, ties to even.", "zero"),
    element("truncate", numbers_1, "Toward zero.", "zero"),
    element(
        "mod",
        numbers_2,
        "x - y floor(x / y): sign of y. Gradient to x only; an integer y of 0 gives 0.",
        nary(lambda b, g, n: g),
    ),
    element(
        "rem",
        numbers_2,
        "x - y truncate(x / y): sign of x. Gradient to x only.",
        nary(lambda b, g, n: g),
    ),
    element(
        "quotient",
        integers_2,
        "x / y of integers, toward zero; by 0 it is 0.",
        "zero",
    ),
    element(
        "clip",
        numbers_3,
        "x limited to [low, high]: minimum(maximum(x, low), high); slope 0 outside.",
        nary(_inside, _clip_side("less", 1), _clip_side("greater", 2)),
        signature="N, operands x low high, broadcast",
    ),
    element(
        "fma",
        numbers_3,
        "x y + z, rounded once. Written by a pass, not by files.",
        nary(
            lambda b, g, n: b("multiply", g, n.operands[1]),
            lambda b, g, n: b("multiply", g, n.operands[0]),
            lambda b, g, n: g,
        ),
    ),
    element(
        "atan2",
        floats_2,
        "The angle of (y, x); operands y x.",
        nary(
            lambda b, g, n: _atan2_slope(b, g, n, 0),
            lambda b, g, n: _atan2_slope(b, g, n, 1),
        ),
    ),
    element(
        "cast",
        _infer_cast,
        "To another dtype; float to integer truncates, to the end of its range at most, and NaN is "
        "0; bool is 0 or 1, not-zero is true.",
        _cast_gradient,
        Precision.EXACT,
        raw=True,
        signature="Attribute dtype, shape of x",
    ),
    element(
        "bitcast",
        _infer_bitcast,
        "The same bits as another dtype of that width.",
        "zero",
        Precision.EXACT,
        raw=True,
        signature="Attribute dtype, shape of x",
    ),
]
