"""Order along an axis: sorting, the greatest few, places in a sorted line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph import Node, Value
from ..operation import Attributes
from ..types import Type
from .index import axes_along, index_row
from .op import Cotangents, Infer, Op, Types
from .shape import zeros
from .shapes import argument, check_axis, check_count, same_dtype, want_number

if TYPE_CHECKING:
    from ..builder import Builder


def _sorted(dtype: str | None) -> Infer:
    def infer(op: Op, operands: Types, attributes: Attributes) -> Types:
        check_count(op, operands, 1)
        want_number(op, operands[0].dtype)
        check_axis(op, attributes["axis"], operands[0].rank)
        return (Type(dtype or operands[0].dtype, operands[0].shape),)

    return infer


def _top_k(op: Op, operands: Types, attributes: Attributes) -> Types:
    x = _sorted(None)(op, operands, attributes)[0]
    axis, k = attributes["axis"], attributes["k"]
    if not 0 <= k <= x.shape[axis]:
        raise argument(op, operands, f"{k} of the {x.shape[axis]} of axis {axis}")
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return (Type(x.dtype, shape), Type("i32", shape))


def _searchsorted(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 2)
    edges, x = operands
    want_number(op, same_dtype(op, operands))
    if edges.rank == 0 or (edges.rank > 1 and edges.shape[:-1] != x.shape[:-1]):
        raise argument(op, operands, "sorted is (n), or has the leading axes of x")
    return (Type("i32", x.shape),)


def _top_k_back(b: Builder, node: Node, out: tuple[Value | None, ...]) -> Cotangents:
    x, g = node.operands[0], out[0]
    if g is None:
        return (None,)
    at = {"axis": node.get("axis"), "out": "drop"}
    return (b("add-along", zeros(b, x), Value(node, 1), g, **at),)


def _expand_sort(b: Builder, node: Node) -> tuple[Value, ...]:
    x, axis = node.operands[0], node.get("axis")
    order = b("argsort", x, axis=axis, descending=bool(node.get("descending")))
    return (b("take-along", x, order, axis=axis, out="drop"),)


ROWS = [
    index_row(
        "argsort",
        _sorted("i32"),
        "Stable order, i32; NaN last. Attributes axis, descending. Gradient: zero.",
        "zero",
        axes_along,
    ),
    index_row(
        "sort",
        _sorted(None),
        "Stable; NaN last. Attributes axis, descending. Gradient: yes.",
        None,
        axes_along,
        _expand_sort,
    ),
    index_row(
        "top-k",
        _top_k,
        "Two results, the k greatest (attribute smallest: least) in order, and their indices "
        "(i32). Attributes k, axis. Gradient: to values.",
        _top_k_back,
        axes_along,
    ),
    index_row(
        "searchsorted",
        _searchsorted,
        "Where x would go in sorted; attribute right: after equal ones. i32. Gradient: zero.",
        "zero",
    ),
]
