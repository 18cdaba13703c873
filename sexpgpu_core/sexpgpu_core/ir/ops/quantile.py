"""Quantiles: a sort along all reduced axes, and a place between two of the sorted elements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..graph import Node, Value
from ..operation import Attributes, Cost, Fusion, Precision
from ..types import Type
from .activation import times
from .op import Op, Types
from .reduce import reduced_shape
from .shapes import argument, check_axes, check_count, want_float
from .softmax import kept_axes

if TYPE_CHECKING:
    from ..builder import Builder


def _infer(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 1)
    x, axes = operands[0], attributes["axes"]
    want_float(op, x.dtype)
    check_axes(op, axes, x.rank)
    if not 0 <= attributes["q"] <= 1:
        raise argument(op, operands, f"q is in [0, 1], not {attributes['q']}")
    if math.prod(x.shape[a] for a in axes) == 0:
        raise argument(op, operands, "there is no quantile of nothing")
    return (Type(x.dtype, reduced_shape(x.shape, axes, attributes.get("keep"))),)


def _expand(b: Builder, node: Node) -> tuple[Value, ...]:
    x, axes = node.operands[0], node.get("axes")
    kept = tuple(a for a in range(len(x.shape)) if a not in axes)
    lead = tuple(x.shape[a] for a in kept)
    n = math.prod(x.shape[a] for a in axes)
    line = b("reshape", b("permute", x, axes=(*kept, *axes)), shape=(*lead, n))
    line = b("sort", line, axis=len(kept), descending=False)

    def at(place: int) -> Value:
        starts, stops = (*(0,) * len(lead), place), (*lead, place + 1)
        return b("slice", line, starts=starts, stops=stops, steps=(1,) * (len(lead) + 1))

    place = node.get("q") * (n - 1)
    low = min(int(place), n - 1)
    found = at(low)
    if place > low:
        rise = b("subtract", at(low + 1), found)
        found = b("add", found, times(b, rise, place - low))
    last = at(n - 1)  # NaN stands last: one is enough
    found = b("where", b("is-nan", last), last, found)
    return (b("reshape", found, shape=node.types[0].shape),)


def _cost(operands: Types, results: Types, attributes: Attributes) -> Cost:
    x = operands[0]
    return Cost(x.size * max(x.size, 1).bit_length(), x.bytes, results[0].bytes)


ROWS = [
    Op(
        "quantile",
        "reduce",
        Fusion.REDUCE,
        Precision.FULL,
        _infer,
        "What a share q of the elements is below, linear between two; NaN wins. Attributes q, "
        "axes, keep. Gradient: none.",
        "none",
        expand=_expand,
        cost=_cost,
        depends=kept_axes,
    )
]
