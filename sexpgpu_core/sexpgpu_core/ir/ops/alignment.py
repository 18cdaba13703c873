"""Connectionist temporal classification (Graves and others, 2006): all alignments at once.

`ctc-alignment` does the sums over alignments, in numbers with an exponent of their own; its shares
are the gradient, so that no scan is differentiated.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..graph import Node, Value
from ..operation import Attributes, Cost, Fusion, Precision
from ..types import Type, full_float
from .activation import times
from .elementwise_arithmetic import zero_unless
from .op import Cotangents, Op, Types
from .shapes import argument, check_count, want_float, want_integer

if TYPE_CHECKING:
    from ..builder import Builder

UNIT = 256
"""An exponent counts so many powers of 2."""


def _check(op: Op, operands: Types, attributes: Attributes) -> Type:
    check_count(op, operands, 4)
    x, *rest = operands
    want_float(op, x.dtype)
    for t in rest:
        want_integer(op, t.dtype)
    b = x.shape[:1]
    labels, *lengths = rest
    if (
        x.rank != 3
        or labels.rank != 2
        or labels.shape[:1] != b
        or any(t.shape != b for t in lengths)
    ):
        raise argument(op, operands, "logits (b t c), labels (b l) and lengths (b)")
    if not 0 <= (attributes.get("blank") or 0) < x.shape[2]:
        raise argument(op, operands, f"blank {attributes.get('blank')} is no class")
    return x


def _infer_loss(op: Op, operands: Types, attributes: Attributes) -> Types:
    x = _check(op, operands, attributes)
    return (Type(full_float(x.dtype), x.shape[:1]),)


def _infer_alignment(op: Op, operands: Types, attributes: Attributes) -> Types:
    x = _check(op, operands, attributes)
    if x.dtype != "f64":
        raise argument(op, operands, "probabilities in f64")
    return (Type("f64", x.shape[:1]), Type("f64", x.shape[:1]), x)


def _aligned(b: Builder, node: Node) -> tuple[Value, tuple[Value, ...]]:
    """Probabilities, and the results of ctc-alignment."""
    x, *rest = node.operands
    wide = x if x.dtype == "f64" else b("cast", x, dtype="f64")
    p = b("softmax", wide, axis=2)
    return p, b.several("ctc-alignment", p, *rest, blank=node.get("blank") or 0)


def _expand_loss(b: Builder, node: Node) -> tuple[Value, ...]:
    _, (mantissa, exponent, _) = _aligned(b, node)
    total = b("negate", b("add", b("log", mantissa), times(b, exponent, UNIT * math.log(2))))
    dtype = full_float(node.operands[0].dtype)
    return (total if dtype == "f64" else b("cast", total, dtype=dtype),)


def _loss_back(b: Builder, node: Node, g: Value) -> Cotangents:
    x, _, lengths, _ = node.operands
    p, (_, _, shares) = _aligned(b, node)
    rows, steps = x.shape[:2]
    place = b("iota", dtype=lengths.dtype, shape=(1, steps, 1), axis=1)
    inside = b("less", place, b("reshape", lengths, shape=(rows, 1, 1)))
    wide = b("reshape", g, shape=(rows, 1, 1))
    wide = wide if wide.dtype == "f64" else b("cast", wide, dtype="f64")
    found = zero_unless(b, inside, b("multiply", wide, b("subtract", p, shares)))
    narrow = found if x.dtype == "f64" else b("cast", found, dtype=x.dtype)
    return (narrow, None, None, None)


def _cost(operands: Types, results: Types, attributes: Attributes) -> Cost:
    rows, steps, classes = operands[0].shape
    states = 2 * operands[1].shape[1] + 1
    flops = rows * steps * (10 * classes + 12 * states)
    return Cost(flops, sum(t.bytes for t in operands), sum(t.bytes for t in results))


def _rows(
    operands: Types, results: Types, attributes: Attributes
) -> tuple[tuple[int, int, int, str], ...]:
    return tuple((0, k, 0, "same") for k in range(4))


ROWS = [
    Op(
        "ctc-loss",
        "",
        Fusion.REDUCE,
        Precision.FULL,
        _infer_loss,
        "-log of the probability of the labels, over all alignments, f32. Operands logits (b t c), "
        "labels (b l), lengths of both (b). Attribute blank (0). Gradient: to logits.",
        _loss_back,
        expand=_expand_loss,
        cost=_cost,
        depends=_rows,
    ),
    Op(
        "ctc-alignment",
        "alignment",
        Fusion.OPAQUE,
        Precision.EXACT,
        _infer_alignment,
        "Three results of probabilities (b t c): the sum over alignments, m and k of m 2^(256 k) "
        "with m in [2^-256, 1), and the share of each class in it, a step. Other operands as "
        "ctc-loss. Gradient: none.",
        "none",
        cost=_cost,
        depends=_rows,
    ),
]
