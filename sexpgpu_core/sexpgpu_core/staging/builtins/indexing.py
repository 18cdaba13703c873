"""Builtins that read and write by index. `:out :error` (default) or `:drop` (R11)."""

from __future__ import annotations

from ...diagnostics import problem
from ...evaluator.values import NIL, Cons, MultipleValues, Value, keyword
from ...ir.graph import Value as Node
from ...ir.types import INTEGERS, Type, broadcast
from ..arguments import axis as axis_of
from ..arguments import choice, flag, shape_text
from ..arguments import dtype as dtype_of
from ..faults import describe
from ..host import tracer
from ..promote import integer, node_of, operands
from ..table import tensor_builtin
from ..tensor import Tensor, is_tensor
from ..tracer import Tracer
from .making import tensor
from .shape import reshaped
from .slicing import cut

ERROR = keyword("ERROR")


def index_node(name: str, value: Value, t: Tracer) -> Node:
    """An index operand: an integer tensor, or a Lisp integer or list of them."""
    if value.__class__ is int or value.__class__ is Cons:
        value = tensor(value)
    node = node_of(name, value, t)
    if node.dtype not in INTEGERS:
        raise problem(
            "E-DTYPE-ARGUMENT",
            f"the index of {name} is {describe(value)}, not integers",
            hint="cast it: (cast index :i32)",
        )
    return node


def _spread(name: str, t: Tracer, y: Node, shape: tuple[int, ...], what: str) -> Node:
    """y in the shape that is written, which its own broadcasts to."""
    if y.shape == shape:
        return y
    if broadcast(y.shape, shape) != shape:
        raise problem(
            "E-SHAPE-BROADCAST",
            f"{name}: y is {y.type} and does not broadcast to {shape_text(shape)}",
            hint=f"y is written at the index, so it has {what}: {shape_text(shape)}",
            sizes=(*y.shape, *shape),
        )
    return t.builder("broadcast-to", y, shape=shape)


def out_of(name: str, value: Value) -> str:
    return choice(name, "out", value, ("error", "drop"))


@tensor_builtin("gather", "(x index &key (axis 0) (batch-axes 0) (out :error))")
def gather(
    x: Value, index: Value, *, axis: Value = 0, batch_axes: Value = 0, out: Value = ERROR
) -> Tensor:
    """x at index on an axis, which the index's shape replaces; gradient a dense scatter-add. A.

    (gather wte tokens): (v d), (b n) => (b n d)"""
    t = tracer("gather")
    node, at = node_of("gather", x, t), index_node("gather", index, t)
    lead = integer("gather", "batch-axes", batch_axes)
    place = axis_of("gather", axis, len(node.shape)) if axis != 0 or lead == 0 else lead
    more = {"batch-axes": lead} if lead else {}
    return t.tensor(t.builder("gather", node, at, axis=place, out=out_of("gather", out), **more))


def _define_along(name: str, says: str, writes: bool) -> None:
    def take(x: Value, index: Value, *, axis: Value = -1, out: Value = ERROR) -> Tensor:
        t = tracer(name)
        node, at = node_of(name, x, t), index_node(name, index, t)
        place = axis_of(name, axis, len(node.shape))
        return t.tensor(t.builder(name, node, at, axis=place, out=out_of(name, out)))

    def put(x: Value, index: Value, y: Value, *, axis: Value = -1, out: Value = ERROR) -> Tensor:
        t, (node, part) = operands(name, (x, y))
        at = index_node(name, index, t)
        part = _spread(name, t, part, at.shape, "the index's shape")
        place = axis_of(name, axis, len(node.shape))
        return t.tensor(t.builder(name, node, at, part, axis=place, out=out_of(name, out)))

    call = put if writes else take
    more = "x index y" if writes else "x index"
    call.__doc__ = f"{says}; equal ranks. A. ({name} {more})"
    tensor_builtin(name, f"({more} &key (axis -1) (out :error))")(call)


_define_along("take-along", "x at index along an axis, shape of index", False)
_define_along("put-along", "x with y written at index along an axis", True)


def _define_scatter(name: str, says: str) -> None:
    def call(x: Value, index: Value, y: Value, *, axis: Value = 0, out: Value = ERROR) -> Tensor:
        t, (node, part) = operands(name, (x, y))
        at = index_node(name, index, t)
        place = axis_of(name, axis, len(node.shape))
        shape = (*node.shape[:place], *at.shape, *node.shape[place + 1 :])
        part = _spread(name, t, part, shape, "the shape of what gather would give")
        return t.tensor(t.builder(name, node, at, part, axis=place, out=out_of(name, out)))

    call.__doc__ = f"{says}. Shape of x. ({name} x index y)"
    tensor_builtin(name, "(x index y &key (axis 0) (out :error))")(call)


_define_scatter("scatter-add", "y added to x at index, in ascending position")
_define_scatter("scatter-set", "y written to x at index; at equal ones the last counts")
_define_scatter("scatter-max", "The greatest of x and of y at index. N")
_define_scatter("scatter-min", "The least of x and of y at index. N")


@tensor_builtin("gather-nd", "(x index &key (out :error))")
def gather_nd(x: Value, index: Value, *, out: Value = ERROR) -> Tensor:
    """x at coordinates, the last axis of index: its shape without that axis, then the rest of x. A.

    (gather-nd x '((0 1) (2 2)))"""
    t = tracer("gather-nd")
    node, at = node_of("gather-nd", x, t), index_node("gather-nd", index, t)
    depth = at.shape[-1] if at.shape else 0
    if not 1 <= depth <= len(node.shape):
        raise problem(
            "E-SHAPE-ARGUMENT",
            f"gather-nd of {describe(x)}: coordinates of {depth} axes",
            hint="the last axis of index has a coordinate for each of the first axes of x",
        )
    flat = _row_number(t, at, node.shape[:depth], out_of("gather-nd", out))
    rows = reshaped(t, node, (Type("i64", node.shape[:depth]).size, *node.shape[depth:]))
    return t.tensor(t.builder("gather", rows, flat, axis=0, out="drop"))


def _row_number(t: Tracer, at: Node, sizes: tuple[int, ...], out: str) -> Node:
    """The row-major place of coordinates; -1 where one is outside, or an error (R11)."""
    b, lead = t.builder, at.shape[:-1]
    flat = b.constant(0, "i64", lead)
    inside = b.constant(True, "bool", lead)
    for axis, size in enumerate(sizes):
        part = cut(t, at, len(lead), axis, axis + 1)
        place = b("cast", reshaped(t, part, lead), dtype="i64")
        if out == "error":
            place = b("index-guard", place, limit=size)
        else:
            low = b("less-equal", b.like(0, place), place)
            here = b("logical-and", low, b("less", place, b.like(size, place)))
            inside = b("logical-and", inside, here)
        flat = b("add", b("multiply", flat, b.like(size, flat)), place)
    return flat if out == "error" else b("where", inside, flat, b.like(-1, flat))


@tensor_builtin("one-hot", "(i n &key (axis -1) dtype)")
def one_hot(i: Value, n: Value, *, axis: Value = -1, dtype: Value = NIL) -> Tensor:
    """True at the index, on a new axis of n; out of range is all false. I to A.

    (one-hot label 10)"""
    t = tracer("one-hot")
    node = index_node("one-hot", i, t)
    place = axis_of("one-hot", axis, len(node.shape) + 1)
    found = t.wide(dtype_of("one-hot", dtype, "bool"))
    count = integer("one-hot", "n", n)
    return t.tensor(t.builder("one-hot", node, n=count, axis=place, dtype=found))


@tensor_builtin("sort", "(x &key (axis -1) descending)")
def sort(x: Value, *, axis: Value = -1, descending: Value = NIL) -> Tensor:
    """x in order along an axis; stable, NaN last. Of a sequence it is the standard's. N.

    (sort x)"""
    return _ordered("sort", x, axis, descending)


@tensor_builtin("argsort", "(x &key (axis -1) descending)")
def argsort(x: Value, *, axis: Value = -1, descending: Value = NIL) -> Tensor:
    """The indices that sort x along an axis; stable, i32. N, gradient 0. (argsort x)"""
    return _ordered("argsort", x, axis, descending)


def _ordered(name: str, x: Value, axis: Value, descending: Value) -> Tensor:
    t = tracer(name)
    node = node_of(name, x, t)
    place = axis_of(name, axis, len(node.shape))
    return t.tensor(t.builder(name, node, axis=place, descending=flag(descending)))


@tensor_builtin("top-k", "(x k &key (axis -1) smallest)")
def top_k(x: Value, k: Value, *, axis: Value = -1, smallest: Value = NIL) -> Value:
    """Two values: the k greatest along an axis, in order, and their indices (i32). N.

    (top-k x 5)"""
    t = tracer("top-k")
    node = node_of("top-k", x, t)
    place = axis_of("top-k", axis, len(node.shape))
    count = integer("top-k", "k", k)
    if not 1 <= count <= node.shape[place]:
        n = node.shape[place]
        raise problem(
            "E-SHAPE-ARGUMENT",
            f"top-k of {node.type}: {count} of the {n} elements of axis {place}",
            hint=f"k is 1 to {n}; another axis by :axis",
        )
    found = t.builder.several("top-k", node, k=count, axis=place, smallest=flag(smallest))
    return MultipleValues(t.tensor(v) for v in found)


@tensor_builtin("searchsorted", "(sorted x &key right)")
def searchsorted(sorted_: Value, x: Value, *, right: Value = NIL) -> Tensor:
    """Where each element of x would stand in sorted, an axis in ascending order. N, i32.

    (searchsorted s x)"""
    t, (line, node) = operands("searchsorted", (sorted_, x))
    return t.tensor(t.builder("searchsorted", line, node, right=flag(right)))


@tensor_builtin("bucketize", "(x edges &key right)")
def bucketize(x: Value, edges: Value, *, right: Value = NIL) -> Tensor:
    """The bucket of each element between ascending edges, a list or (n). N, i32.

    (bucketize x '(0 1))"""
    if edges.__class__ is Cons:
        dtype = keyword(x.dtype.upper()) if is_tensor(x) else NIL
        edges = tensor(edges, dtype=dtype)
    return searchsorted(edges, x, right=right)


@tensor_builtin("index-update", "(x y &rest index)")
def index_update(x: Value, y: Value, *index: Value) -> Tensor:
    """x with y written at an index as in `tref`; numbers only. A. (index-update x row 3)"""
    from ...evaluator.values import T, make_list
    from .slicing import slice_set

    t, (node, part) = operands("index-update", (x, y))
    places = [(a, i) for a, i in enumerate(index) if i is not T]
    shape = list(node.shape)
    for a, i in places:
        shape[a] = 1
        integer("index-update", "index", i)
    rest = tuple(s for a, s in enumerate(node.shape) if a not in dict(places))
    wide = _spread("index-update", t, part, rest, "the shape that tref gives")
    return slice_set(
        x,
        t.tensor(reshaped(t, wide, tuple(shape))),
        axis=make_list(a for a, _ in places),
        start=make_list(i for _, i in places),
    )
