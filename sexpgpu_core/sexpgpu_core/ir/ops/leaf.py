"""Leaves: what a graph computes from. Their attributes say dtype and shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...diagnostics import problem
from ..graph import Node, Value
from ..operation import Attributes, Fusion, Precision
from ..types import DTYPES, Type
from .op import Cotangents, Infer, Op, Types, move_cost
from .shapes import argument, check_axis, check_count, size, unbroadcast, want_number, wanted

if TYPE_CHECKING:
    from ..builder import Builder

KINDS = (
    *("parameter", "state", "optimizer", "ema", "rows", "batch", "persistent", "scalar", "residue"),
    *("body", "over"),
)


def _typed(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 0)
    dtype = attributes["dtype"]
    if dtype not in DTYPES:
        raise problem("E-DTYPE-ARGUMENT", f"{op.name}: no dtype {dtype}")
    return (Type(dtype, attributes["shape"]),)


def _iota(op: Op, operands: Types, attributes: Attributes) -> Types:
    found = _typed(op, operands, attributes)
    want_number(op, found[0].dtype)
    check_axis(op, attributes["axis"], found[0].rank)
    return found


def _table(op: Op, operands: Types, attributes: Attributes) -> Types:
    found = _typed(op, operands, attributes)
    given = len(attributes["values"])
    if given != size(found[0].shape):
        raise argument(op, found, f"{given} values do not fill it")
    return found


def _first(op: Op, operands: Types, attributes: Attributes) -> Types:
    if not operands:
        check_count(op, operands, 1)
    return operands[:1]


def _same_pair(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 2)
    if operands[0] != operands[1]:
        raise argument(op, operands, "the operands have one type")
    return operands[:1]


def _leaf(name: str, infer: Infer, doc: str) -> Op:
    return Op(
        name, "leaf", Fusion.LEAF, Precision.EXACT, infer, doc, "zero", cost=move_cost, raw=True
    )


def _through(name: str, infer: Infer, doc: str, gradient) -> Op:  # type: ignore[no-untyped-def]
    return Op(
        name,
        "leaf",
        Fusion.MOVE,
        Precision.FOLLOW,
        infer,
        doc,
        gradient,
        cost=move_cost,
        depends=same_axes,
        raw=True,
    )


def same_axes(
    operands: Types, results: Types, attributes: Attributes
) -> tuple[tuple[int, int, int, str], ...]:
    return tuple(
        (a, k, a, "same") for k, t in enumerate(operands) if t == results[0] for a in range(t.rank)
    )


def _to_second(b: Builder, node: Node, g: Value) -> Cotangents:
    x = node.operands[1]
    return (None, unbroadcast(b, g, x.shape) if wanted(b, x) else None)


def _barrier(b: Builder, node: Node, g: Value) -> Cotangents:
    return (g, *(None,) * (len(node.operands) - 1))


ROWS = [
    _leaf(
        "input",
        _typed,
        "A value that is given. Attributes name, kind (parameter state optimizer ema constant "
        "batch persistent scalar residue body), dtype, shape.",
    ),
    _leaf(
        "constant",
        _typed,
        "One number everywhere. Attributes value (rounded to dtype: `Builder.constant`), dtype, "
        "shape.",
    ),
    _leaf("iota", _iota, "The index on an axis. Attributes dtype, shape, axis."),
    _leaf(
        "table",
        _table,
        "Constant data. Attributes dtype, shape, values (flat tuple, row-major, rounded).",
    ),
    _through("stop-gradient", _first, "x, through which no gradient flows.", "zero"),
    _through(
        "straight-through",
        _same_pair,
        "The value of the first operand, the gradient to the second. Operands y x.",
        _to_second,
    ),
    _through(
        "barrier",
        _first,
        "The first operand, once the others are there: an order that no pass undoes (45.20).",
        _barrier,
    ),
    _through(
        "gradient-scale",
        _first,
        "x; its gradient times attribute factor (-1 reverses).",
        lambda b, node, g: (b("multiply", g, b.like(node.get("factor"), g)),),
    ),
]
