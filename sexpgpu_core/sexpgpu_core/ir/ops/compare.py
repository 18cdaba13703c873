"""Comparisons, logic and choice. Comparisons take two integer dtypes and compare by value (R50)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph import Node, Value
from ..operation import Attributes, Precision
from ..types import INTEGERS, Type
from .elementwise import bools_1, bools_2, element, rule
from .elementwise_arithmetic import zero_unless
from .op import Cotangents, Op, Types
from .shapes import (
    broadcast_shape,
    check_count,
    same_dtype,
    unbroadcast,
    want_bool,
    want_float,
    want_number,
    wanted,
)

if TYPE_CHECKING:
    from ..builder import Builder

_EXACT = Precision.EXACT


def _infer_equal(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 2)
    x, y = operands
    if x.dtype != y.dtype and not (x.dtype in INTEGERS and y.dtype in INTEGERS):
        same_dtype(op, operands)
    return (Type("bool", broadcast_shape(op, operands)),)


def _infer_order(op: Op, operands: Types, attributes: Attributes) -> Types:
    found = _infer_equal(op, operands, attributes)
    want_number(op, operands[0].dtype)
    return found


def _infer_where(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 3)
    want_bool(op, operands[0].dtype)
    dtype = same_dtype(op, operands[1:])
    return (Type(dtype, broadcast_shape(op, operands)),)


def _where(b: Builder, node: Node, g: Value) -> Cotangents:
    test, x, y = node.operands
    zero = b.like(0.0, g)
    return (
        None,
        unbroadcast(b, zero_unless(b, test, g), x.shape) if wanted(b, x) else None,
        unbroadcast(b, b("where", test, zero, g), y.shape) if wanted(b, y) else None,
    )


_ANY = "A to B, broadcast; integers of unlike dtype by value"
_ORDER = "N to B, broadcast; integers of unlike dtype by value"
_predicate = rule(want_float, 1, "bool")

ROWS = [
    element("equal", _infer_equal, "x = y.", "zero", commutative=True, signature=_ANY),
    element("not-equal", _infer_equal, "x /= y.", "zero", commutative=True, signature=_ANY),
    element("less", _infer_order, "x < y.", "zero", signature=_ORDER),
    element("less-equal", _infer_order, "x <= y.", "zero", signature=_ORDER),
    element("greater", _infer_order, "x > y.", "zero", signature=_ORDER),
    element("greater-equal", _infer_order, "x >= y.", "zero", signature=_ORDER),
    element("logical-and", bools_2, "Both.", "zero", _EXACT, commutative=True),
    element("logical-or", bools_2, "Either.", "zero", _EXACT, commutative=True),
    element("logical-xor", bools_2, "One of the two.", "zero", _EXACT, commutative=True),
    element("logical-not", bools_1, "Not.", "zero", _EXACT),
    element("is-nan", _predicate, "Not a number.", "zero", signature="F to B"),
    element("is-inf", _predicate, "Infinite, of either sign.", "zero", signature="F to B"),
    element("is-finite", _predicate, "Neither NaN nor infinite.", "zero", signature="F to B"),
    element(
        "where",
        _infer_where,
        "x where the test holds, else y; the side not taken has gradient 0.",
        _where,
        signature="Operands test (B), x and y (A, one dtype), broadcast",
    ),
]
