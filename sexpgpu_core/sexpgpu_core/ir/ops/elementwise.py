"""What elementwise families share: type rules, dependence, and how a row becomes an operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..graph import Node, Value
from ..operation import Attributes, Fusion, Precision
from ..types import Type
from .op import Cotangents, Gradient, Infer, Op, Types
from .shapes import (
    broadcast_shape,
    check_count,
    same_dtype,
    unbroadcast,
    want_bool,
    want_float,
    want_integer,
    want_number,
    wanted,
)

if TYPE_CHECKING:
    from ..builder import Builder

Check = Callable[[Op, str], None]
UnaryGradient = Callable[["Builder", Value, Value, Value], Value]
"""(builder, cotangent, x, result) -> cotangent of x."""


def same_axes(
    operands: Types, results: Types, attributes: Attributes
) -> tuple[tuple[int, int, int, str], ...]:
    """Each result axis goes with the operand axis it was broadcast from."""
    rank = results[0].rank
    rows = []
    for k, t in enumerate(operands):
        lead = rank - t.rank
        rows += [(lead + a, k, a, "same") for a in range(t.rank)]
    return tuple(rows)


def rule(check: Check, count: int, result: str | None = None) -> Infer:
    """Operands of one dtype that passes `check`, broadcast; `result` is another dtype."""

    def infer(op: Op, operands: Types, attributes: Attributes) -> Types:
        if len(operands) != count:
            check_count(op, operands, count)
        dtype = operands[0].dtype if count == 1 else same_dtype(op, operands)
        check(op, dtype)
        shape = operands[0].shape if count == 1 else broadcast_shape(op, operands)
        return (Type(result or dtype, shape),)

    return infer


numbers_1, numbers_2, numbers_3 = (rule(want_number, n) for n in (1, 2, 3))
floats_1, floats_2 = (rule(want_float, n) for n in (1, 2))
bools_1, bools_2 = (rule(want_bool, n) for n in (1, 2))
integers_1, integers_2 = (rule(want_integer, n) for n in (1, 2))

_SIGNATURES = {
    numbers_1: "N, shape of x",
    numbers_2: "N, operands broadcast",
    numbers_3: "N, operands broadcast",
    floats_1: "F, shape of x",
    floats_2: "F, operands broadcast",
    bools_1: "B, shape of x",
    bools_2: "B, operands broadcast",
    integers_1: "I, shape of x",
    integers_2: "I, operands broadcast",
}


def unary(rule_of_x: UnaryGradient) -> Gradient:
    """The gradient of an operation of one operand."""

    def gradient(b: Builder, node: Node, g: Value) -> Cotangents:
        return (rule_of_x(b, g, node.operands[0], Value(node, 0)),)

    return gradient


def nary(*rules: Callable[[Builder, Value, Node], Value]) -> Gradient:
    """One rule an operand; what broadcasting stretched is summed."""

    def gradient(b: Builder, node: Node, g: Value) -> Cotangents:
        return tuple(
            unbroadcast(b, r(b, g, node), x.shape) if wanted(b, x) else None
            for r, x in zip(rules, node.operands)
        )

    return gradient


def element(
    name: str,
    infer: Infer,
    summary: str,
    gradient: Gradient | str,
    precision: Precision = Precision.FOLLOW,
    commutative: bool = False,
    raw: bool = False,
    signature: str = "",
) -> Op:
    """An elementwise operation, whose scalar operation has the same name."""
    says = gradient if isinstance(gradient, str) else "yes"
    doc = f"{summary} {signature or _SIGNATURES[infer]}. Gradient: {says}."
    return Op(
        name,
        "elementwise",
        Fusion.ELEMENT,
        precision,
        infer,
        doc,
        gradient,
        depends=same_axes,
        scalar=name,
        commutative=commutative,
        raw=raw,
    )
