"""Indexing: gather and its kin. Attribute out: "error" (default) or "drop" (R11).

Indices are any integers; negative ones are out of range. Additions happen in ascending position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph import Node, Value
from ..operation import Attributes, Fusion, Precision
from ..types import DTYPES, Type
from .elementwise import same_axes
from .elementwise_arithmetic import zero_unless
from .op import Cotangents, Expand, Gradient, Infer, Op, Types, move_cost
from .shape import zeros
from .shapes import (
    argument,
    check_axis,
    check_count,
    dtype_argument,
    same_dtype,
    text,
    want_integer,
    want_number,
    wanted,
)

if TYPE_CHECKING:
    from ..builder import Builder

Axes = tuple[tuple[int, int, int, str], ...]


def gathered_shape(op: Op, operands: Types, attributes: Attributes) -> tuple[int, ...]:
    """The axis of x replaced by the index's shape, leading batch axes set apart."""
    x, index = operands[:2]
    axis, batch = attributes["axis"], attributes.get("batch-axes") or 0
    want_integer(op, index.dtype)
    check_axis(op, axis, x.rank)
    if not 0 <= batch <= min(axis, index.rank) or x.shape[:batch] != index.shape[:batch]:
        raise argument(op, operands, f"the first {batch} axes of x and index are equal")
    return x.shape[:axis] + index.shape[batch:] + x.shape[axis + 1 :]


def _gather(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 2)
    return (Type(operands[0].dtype, gathered_shape(op, operands, attributes)),)


def _scatter(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 3)
    x, _, y = operands
    same_dtype(op, (x, y))
    shape = gathered_shape(op, operands, attributes)
    if y.shape != shape:
        raise argument(op, operands, f"y has the shape that gather gives, {text(shape)}")
    return (x,)


def _scatter_number(op: Op, operands: Types, attributes: Attributes) -> Types:
    found = _scatter(op, operands, attributes)
    want_number(op, found[0].dtype)
    return found


def _along(op: Op, operands: Types, attributes: Attributes) -> Types:
    x, index = operands[:2]
    axis = attributes["axis"]
    want_integer(op, index.dtype)
    check_axis(op, axis, x.rank)
    rest = [t.shape[:axis] + t.shape[axis + 1 :] for t in (x, index)]
    if index.rank != x.rank or rest[0] != rest[1]:
        raise argument(op, operands, f"x and index have equal axes but for axis {axis}")
    return (Type(x.dtype, index.shape),)


def _take_along(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 2)
    return _along(op, operands, attributes)


def _put_along(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 3)
    x, _, y = operands
    same_dtype(op, (x, y))
    if _along(op, operands, attributes)[0].shape != y.shape:
        raise argument(op, operands, "index and y have one shape")
    return (x,)


def _one_hot(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 1)
    index, axis = operands[0], attributes["axis"]
    want_integer(op, index.dtype)
    check_axis(op, axis, index.rank + 1)
    dtype = attributes.get("dtype") or "bool"
    if dtype not in DTYPES:
        raise dtype_argument(op, str(dtype), "one of " + " ".join(DTYPES))
    return (Type(dtype, (*index.shape[:axis], attributes["n"], *index.shape[axis:])),)


def _index_guard(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 1)
    want_integer(op, operands[0].dtype)
    return (operands[0],)


def _segment_sum(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 2)
    x, segments = operands
    want_number(op, x.dtype)
    want_integer(op, segments.dtype)
    if segments.rank != 1 or x.shape[:1] != segments.shape:
        raise argument(op, operands, f"segments number the rows of x: {text(x.shape[:1])}")
    return (Type(x.dtype, (attributes["n"], *x.shape[1:])),)


def _at(node: Node) -> dict[str, Any]:
    return dict(node.attributes)


def _gather_back(b: Builder, node: Node, g: Value) -> Cotangents:
    x, index = node.operands
    return (b("scatter-add", zeros(b, x), index, g, **_at(node)), None)


def _scatter_add_back(b: Builder, node: Node, g: Value) -> Cotangents:
    _, index, y = node.operands
    return (g, None, b("gather", g, index, **_at(node)) if wanted(b, y) else None)


def _scatter_set_back(b: Builder, node: Node, g: Value) -> Cotangents:
    x, index, y = node.operands
    gx = b("scatter-set", g, index, zeros(b, y), **_at(node)) if wanted(b, x) else None
    if not wanted(b, y):
        return (gx, None, None)
    last = _is_last(b, "scatter-set", "gather", x, index, y.shape, _at(node))
    return (gx, None, zero_unless(b, last, b("gather", g, index, **_at(node))))


def _scatter_extremum_back(b: Builder, node: Node, g: Value) -> Cotangents:
    """To x where it is the extremum itself, else to the first position that is."""
    x, index, y = node.operands
    at, out = _at(node), Value(node, 0)
    own = b("equal", x, out)
    gx = zero_unless(b, own, g) if wanted(b, x) else None
    if not wanted(b, y):
        return (gx, None, None)
    place = _positions(b, y.shape)
    none = b.constant(y.type.size, "i32", x.shape)
    hit = b("equal", y, b("gather", out, index, **at))
    first = b("scatter-min", none, index, b("where", hit, place, b.like(y.type.size, place)), **at)
    first = b("where", own, b.like(-1, first), first)
    chosen = b("equal", b("gather", first, index, **at), place)
    return (gx, None, zero_unless(b, chosen, b("gather", g, index, **at)))


def _positions(b: Builder, shape: tuple[int, ...]) -> Value:
    """Row-major numbers of the places of a shape."""
    total = 1
    for n in shape:
        total *= n
    flat = b("iota", dtype="i32", shape=(total,), axis=0)
    return b("reshape", flat, shape=shape)


def _is_last(
    b: Builder, put: str, take: str, x: Value, index: Value, shape: tuple[int, ...], at: Any
) -> Value:
    """Where a position is the one that counts: equal indices go to the last."""
    place = _positions(b, shape)
    none = b.constant(-1, "i32", x.shape)
    winner = b(take, b(put, none, index, place, **at), index, **at)
    return b("equal", winner, place)


def _take_along_back(b: Builder, node: Node, g: Value) -> Cotangents:
    x, index = node.operands
    return (b("add-along", zeros(b, x), index, g, **_at(node)), None)


def _add_along_back(b: Builder, node: Node, g: Value) -> Cotangents:
    _, index, y = node.operands
    return (g, None, b("take-along", g, index, **_at(node)) if wanted(b, y) else None)


def _put_along_back(b: Builder, node: Node, g: Value) -> Cotangents:
    x, index, y = node.operands
    gx = b("put-along", g, index, zeros(b, y), **_at(node)) if wanted(b, x) else None
    if not wanted(b, y):
        return (gx, None, None)
    last = _is_last(b, "put-along", "take-along", x, index, y.shape, _at(node))
    return (gx, None, zero_unless(b, last, b("take-along", g, index, **_at(node))))


def _expand_one_hot(b: Builder, node: Node) -> tuple[Value, ...]:
    index, axis = node.operands[0], node.get("axis")
    shape = node.types[0].shape
    wide = b("reshape", index, shape=(*index.shape[:axis], 1, *index.shape[axis:]))
    place = b("iota", dtype=index.dtype, shape=shape, axis=axis)
    hit = b("equal", wide, place)
    dtype = node.types[0].dtype
    return (hit if dtype == "bool" else b("cast", hit, dtype=dtype),)


def _expand_segment_sum(b: Builder, node: Node) -> tuple[Value, ...]:
    x, segments = node.operands
    start = b.constant(0, x.dtype, node.types[0].shape)
    out = node.get("out") or "error"
    return (b("scatter-add", start, segments, x, axis=0, out=out),)


def _axes_gather(operands: Types, results: Types, attributes: Attributes) -> Axes:
    x, index = operands
    axis, batch = attributes["axis"], attributes.get("batch-axes") or 0
    grown = index.rank - batch
    rows = [(a, 0, a, "same") for a in range(axis)]
    rows += [(a - 1 + grown, 0, a, "same") for a in range(axis + 1, x.rank)]
    rows += [(a, 1, a, "same") for a in range(batch)]
    rows += [(axis + a - batch, 1, a, "same") for a in range(batch, index.rank)]
    return tuple(rows)


def axes_along(operands: Types, results: Types, attributes: Attributes) -> Axes:
    axis = attributes["axis"]
    rows = [(a, k, a, "same") for k, t in enumerate(operands) for a in range(t.rank) if a != axis]
    if len(operands) == 2:
        rows.append((axis, 1, axis, "same"))
    return tuple(rows)


def _axes_one_hot(operands: Types, results: Types, attributes: Attributes) -> Axes:
    axis = attributes["axis"]
    return tuple((a + (a >= axis), 0, a, "same") for a in range(operands[0].rank))


def index_row(
    name: str,
    infer: Infer,
    doc: str,
    gradient: Gradient | str | None,
    depends: Any = None,
    expand: Expand | None = None,
    fusion: Fusion = Fusion.OPAQUE,
) -> Op:
    more = {} if depends is None else {"depends": depends}
    return Op(
        name,
        "index",
        fusion,
        Precision.EXACT,
        infer,
        doc,
        gradient,
        expand=expand,
        cost=move_cost,
        **more,
    )


_GATHER = "Attributes axis, batch-axes (0), out."
_ALONG = "Equal ranks, sizes differ on attribute axis only; out."

ROWS = [
    index_row(
        "gather",
        _gather,
        f"x at index on an axis, which the index's shape replaces. {_GATHER} Gradient: "
        "scatter-add, dense.",
        _gather_back,
        _axes_gather,
        fusion=Fusion.MOVE,
    ),
    index_row(
        "scatter-add",
        _scatter_number,
        f"x with y added at index. Operands x index y. {_GATHER} Gradient: yes.",
        _scatter_add_back,
    ),
    index_row(
        "scatter-set",
        _scatter,
        f"x with y written at index; the last position counts. {_GATHER} Gradient: yes.",
        _scatter_set_back,
    ),
    *(
        index_row(
            f"scatter-{side}",
            _scatter_number,
            f"The {says} of x and of every y at index; NaN wins. {_GATHER} Gradient: to x where "
            "it is that, else to the first such y.",
            _scatter_extremum_back,
        )
        for side, says in (("max", "greatest"), ("min", "least"))
    ),
    index_row(
        "take-along",
        _take_along,
        f"x at index along an axis. {_ALONG} Gradient: add-along.",
        _take_along_back,
        axes_along,
    ),
    index_row(
        "put-along",
        _put_along,
        f"x with y written at index along an axis; the last counts. {_ALONG} Gradient: yes.",
        _put_along_back,
        axes_along,
    ),
    index_row(
        "add-along",
        _put_along,
        f"x with y added at index along an axis. {_ALONG} Gradient: yes.",
        _add_along_back,
        axes_along,
    ),
    index_row(
        "one-hot",
        _one_hot,
        "True where the index is. Attributes n, axis (of the result), dtype (bool). Out of range "
        "is all false. Gradient: zero.",
        "zero",
        _axes_one_hot,
        _expand_one_hot,
        Fusion.ELEMENT,
    ),
    index_row(
        "index-guard",
        _index_guard,
        "An index as it is; E-RUN-INDEX where it is not in [0, limit). Gradient: zero.",
        "zero",
        same_axes,
        fusion=Fusion.ELEMENT,
    ),
    index_row(
        "segment-sum",
        _segment_sum,
        "Sums of the rows of x with one segment number. Attributes n, out. Gradient: yes.",
        None,
        None,
        _expand_segment_sum,
    ),
]
