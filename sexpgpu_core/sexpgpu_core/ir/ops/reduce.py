"""Reductions along axes and running ones. Attributes axes (ascending) and keep; or axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph import Node, Value
from ..operation import Attributes, Cost, Fusion, Precision
from ..types import Type
from .elementwise_arithmetic import zero_unless
from .op import Cotangents, Gradient, Infer, Op, Types
from .shape import cut, inverse
from .shapes import (
    Shape,
    argument,
    check_axes,
    check_axis,
    check_count,
    size,
    want_bool,
    want_number,
)

if TYPE_CHECKING:
    from ..builder import Builder


def reduced_shape(shape: Shape, axes: Shape, keep: bool | None) -> Shape:
    if keep:
        return tuple(1 if a in axes else n for a, n in enumerate(shape))
    return tuple(n for a, n in enumerate(shape) if a not in axes)


def spread(b: Builder, value: Value, shape: Shape, axes: Shape) -> Value:
    """A reduced value back over the axes it was reduced along."""
    kept = reduced_shape(shape, axes, True)
    if value.shape != kept:
        value = b("reshape", value, shape=kept)
    return b("broadcast-to", value, shape=shape) if kept != shape else value


def _infer_numbers(op: Op, operands: Types, attributes: Attributes) -> Types:
    if len(operands) != 1:
        check_count(op, operands, 1)
    x = operands[0]
    want_number(op, x.dtype)
    check_axes(op, attributes["axes"], x.rank)
    return (Type(x.dtype, reduced_shape(x.shape, attributes["axes"], attributes.get("keep"))),)


def _infer_extremum(op: Op, operands: Types, attributes: Attributes) -> Types:
    found = _infer_numbers(op, operands, attributes)
    _want_some(op, operands, attributes["axes"])
    return found


def _want_some(op: Op, operands: Types, axes: Shape) -> None:
    if any(operands[0].shape[a] == 0 for a in axes):
        raise argument(op, operands, "there is no extremum of nothing")


def _infer_bools(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 1)
    x = operands[0]
    want_bool(op, x.dtype)
    check_axes(op, attributes["axes"], x.rank)
    return (Type("bool", reduced_shape(x.shape, attributes["axes"], attributes.get("keep"))),)


def _infer_index(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 1)
    x, axis = operands[0], attributes["axis"]
    want_number(op, x.dtype)
    check_axis(op, axis, x.rank)
    _want_some(op, operands, (axis,))
    return (Type("i32", reduced_shape(x.shape, (axis,), attributes.get("keep"))),)


def _infer_running(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 1)
    want_number(op, operands[0].dtype)
    check_axis(op, attributes["axis"], operands[0].rank)
    return operands


def _sum_back(b: Builder, node: Node, g: Value) -> Cotangents:
    return (spread(b, g, node.operands[0].shape, node.get("axes")),)


def flattened(b: Builder, x: Value, axes: Shape) -> tuple[Value, Shape, Shape]:
    """x with the axes moved to the end and made one; the order and the shape before that."""
    rest = tuple(a for a in range(len(x.shape)) if a not in axes)
    order = rest + axes
    moved = b("permute", x, axes=order) if order != tuple(range(len(order))) else x
    flat = (*(x.shape[a] for a in rest), size([x.shape[a] for a in axes]))
    return (b("reshape", moved, shape=flat) if moved.shape != flat else moved), order, moved.shape


def unflattened(b: Builder, x: Value, order: Shape, shape: Shape) -> Value:
    """Undo `flattened`."""
    wide = b("reshape", x, shape=shape) if x.shape != shape else x
    back = inverse(order)
    return b("permute", wide, axes=back) if back != tuple(range(len(back))) else wide


def _extremum_back(which: str) -> Gradient:
    def gradient(b: Builder, node: Node, g: Value) -> Cotangents:
        x, axes = node.operands[0], node.get("axes")
        if not axes:
            return (g,)
        flat, order, shape = flattened(b, x, axes)
        last = len(flat.shape) - 1
        best = b(which, flat, axis=last, keep=True)
        place = b("iota", dtype="i32", shape=flat.shape, axis=last)
        kept = (*flat.shape[:-1], 1)
        spread_g = b("reshape", g, shape=kept) if g.shape != kept else g
        hit = zero_unless(b, b("equal", place, best), spread_g)
        return (unflattened(b, hit, order, shape),)

    return gradient


def _product_back(b: Builder, node: Node, g: Value) -> Cotangents:
    x, axes = node.operands[0], node.get("axes")
    flat, order, shape = flattened(b, x, axes)
    run = {"axis": len(flat.shape) - 1, "exclusive": True}
    before = b("cumprod", flat, reverse=False, **run)
    others = b("multiply", before, b("cumprod", flat, reverse=True, **run))
    wide = unflattened(b, others, order, shape)
    return (b("multiply", wide, spread(b, g, x.shape, axes)),)


def _cumsum_back(b: Builder, node: Node, g: Value) -> Cotangents:
    back = not node.get("reverse", False)
    axis, without = node.get("axis"), bool(node.get("exclusive", False))
    return (b("cumsum", g, axis=axis, reverse=back, exclusive=without),)


def _cumprod_back(b: Builder, node: Node, g: Value) -> Cotangents:
    """Exact at zeros: the product of the others for each pair of places, n x n a row."""
    x, axis = node.operands[0], node.get("axis")
    reverse, exclusive = bool(node.get("reverse")), bool(node.get("exclusive"))
    flat, order, shape = flattened(b, x, (axis,))
    g2 = flattened(b, g, (axis,))[0]
    n, lead = flat.shape[-1], flat.shape[:-1]
    if reverse:
        flat, g2 = (b("flip", v, axes=(len(lead),)) for v in (flat, g2))
    square = (*lead, n, n)
    i = b("iota", dtype="i32", shape=square, axis=len(lead))
    j = b("iota", dtype="i32", shape=square, axis=len(lead) + 1)
    row = b("reshape", flat, shape=(*lead, 1, n))
    others = b("where", b("equal", i, j), b.like(1.0, x), row)
    products = b("cumprod", others, axis=len(lead) + 1, reverse=False, exclusive=exclusive)
    after = b("less" if exclusive else "less-equal", i, j)
    terms = b("multiply", zero_unless(b, after, products), b("reshape", g2, shape=row.shape))
    found = b("reduce-sum", terms, axes=(len(lead) + 1,), keep=False)
    if reverse:
        found = b("flip", found, axes=(len(lead),))
    return (unflattened(b, found, order, shape),)


def _running_extremum_back(newer: str, which: str) -> Gradient:
    """Each cotangent goes to the place that set the record it sees (the first at a tie)."""

    def gradient(b: Builder, node: Node, g: Value) -> Cotangents:
        x, axis, y = node.operands[0], node.get("axis"), Value(node, 0)
        n, reverse = x.shape[axis], bool(node.get("reverse"))
        if n == 0:
            return (g,)
        if reverse:
            x, y, g = (b("flip", v, axes=(axis,)) for v in (x, y, g))
        place = b("iota", dtype="i32", shape=x.shape, axis=axis)
        first, rest = cut(b, place, axis, 0, 1), cut(b, place, axis, 1, n)
        record = b(newer, cut(b, x, axis, 1, n), cut(b, y, axis, 0, n - 1))
        marks = b("where", record, rest, b.like(0, place))
        owner = b("cummax", b("concat", first, marks, axis=axis), axis=axis, reverse=False)
        zero = b.constant(0.0, g.dtype, x.shape)
        found = b("add-along", zero, owner, g, axis=axis, out="drop")
        return (b("flip", found, axes=(axis,)) if reverse else found,)

    return gradient


def _kept_axes(
    operands: Types, results: Types, attributes: Attributes
) -> tuple[tuple[int, int, int, str], ...]:
    axes = attributes.get("axes")
    gone = axes if axes is not None else (attributes["axis"],)
    rows, at = [], 0
    for a in range(operands[0].rank):
        if a not in gone:
            rows.append((at, 0, a, "same"))
        if a not in gone or attributes.get("keep"):
            at += 1
    return tuple(rows)


def _running_axes(
    operands: Types, results: Types, attributes: Attributes
) -> tuple[tuple[int, int, int, str], ...]:
    along = "ge" if attributes.get("reverse") else "le"
    axis = attributes["axis"]
    return tuple((a, 0, a, along if a == axis else "same") for a in range(operands[0].rank))


def _cost(operands: Types, results: Types, attributes: Attributes) -> Cost:
    return Cost(operands[0].size, operands[0].bytes, results[0].bytes)


def _reduction(name: str, infer: Infer, doc: str, gradient: Gradient | str) -> Op:
    says = gradient if isinstance(gradient, str) else "yes"
    return Op(
        name,
        "reduce",
        Fusion.REDUCE,
        Precision.FULL,
        infer,
        f"{doc} Gradient: {says}.",
        gradient,
        cost=_cost,
        depends=_kept_axes,
    )


def _running(name: str, doc: str, gradient: Gradient) -> Op:
    return Op(
        name,
        "reduce",
        Fusion.OPAQUE,
        Precision.FULL,
        _infer_running,
        f"{doc} Attributes axis, reverse. Gradient: yes.",
        gradient,
        cost=_cost,
        depends=_running_axes,
    )


_AT = "Attributes axes, keep."

ROWS = [
    _reduction("reduce-sum", _infer_numbers, f"The sum, in the operand's dtype. {_AT}", _sum_back),
    _reduction(
        "reduce-max",
        _infer_extremum,
        f"The greatest; NaN wins; gradient to the first. {_AT}",
        _extremum_back("argmax"),
    ),
    _reduction(
        "reduce-min",
        _infer_extremum,
        f"The least; NaN wins; gradient to the first. {_AT}",
        _extremum_back("argmin"),
    ),
    _reduction("reduce-product", _infer_numbers, f"The product. {_AT}", _product_back),
    _reduction("reduce-any", _infer_bools, f"Whether one holds. {_AT}", "zero"),
    _reduction("reduce-all", _infer_bools, f"Whether all hold. {_AT}", "zero"),
    _reduction(
        "argmax",
        _infer_index,
        "Index (i32) of the first greatest; NaN wins. Attributes axis, keep.",
        "zero",
    ),
    _reduction(
        "argmin",
        _infer_index,
        "Index (i32) of the first least; NaN wins. Attributes axis, keep.",
        "zero",
    ),
    _running(
        "cumsum", "Running sums; attribute exclusive leaves the own element out.", _cumsum_back
    ),
    _running(
        "cumprod",
        "Running products; attribute exclusive leaves the own element out.",
        _cumprod_back,
    ),
    _running("cummax", "The greatest so far.", _running_extremum_back("greater", "cummax")),
    _running("cummin", "The least so far.", _running_extremum_back("less", "cummin")),
]
