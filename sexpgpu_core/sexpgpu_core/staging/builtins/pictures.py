"""Pictures, channels last: blocks to channels, windows, crops, and sizes changed by resampling."""

from __future__ import annotations

import math

from ...diagnostics import problem
from ...evaluator.values import NIL, Value, keyword
from ...ir.graph import Value as Node
from ...ir.types import FLOATS, Type
from ..arguments import choice, flag, integers
from ..faults import describe
from ..host import tracer
from ..promote import integer, node_of
from ..table import tensor_builtin
from ..tensor import Handle, Tensor, is_tensor
from ..tracer import Tracer
from .convolution import each
from .indexing import index_node
from .reductions import want_floats
from .resampling import Taps, taps
from .shape import permuted, reshaped
from .slicing import cut

NEAREST = keyword("NEAREST")
Shape = tuple[int, ...]


def spatial_of(name: str, node: Node, x: Value) -> int:
    """The number of axes between the batch and the channels; E-SHAPE-CONV for none."""
    count = len(node.shape) - 2
    if count < 1:
        raise problem("E-SHAPE-CONV", f"{name} of {describe(x)}: x is (b n... channels)")
    return count


@tensor_builtin("pixel-shuffle", "(x factor)")
def pixel_shuffle(x: Value, factor: Value) -> Tensor:
    """Channels to blocks of places: (b h w c r r) flat becomes (b h*r w*r c). A.

    (pixel-shuffle x 2)"""
    name = "pixel-shuffle"
    t = tracer(name)
    node, r = node_of(name, x, t), _factor(name, factor)
    n = spatial_of(name, node, x)
    b, *places, channels = node.shape
    if channels % r**n:
        raise _not_whole(name, x, f"{r**n} places of a block do not divide {channels} channels")
    wide = reshaped(t, node, (b, *places, channels // r**n, *(r,) * n))
    between = [a for i in range(n) for a in (1 + i, 2 + n + i)]
    turned = permuted(t, wide, (0, *between, 1 + n))
    return t.tensor(reshaped(t, turned, (b, *(p * r for p in places), channels // r**n)))


@tensor_builtin("pixel-unshuffle", "(x factor)")
def pixel_unshuffle(x: Value, factor: Value) -> Tensor:
    """Blocks of places to channels: the inverse of `pixel-shuffle`. A. (pixel-unshuffle x 2)"""
    name = "pixel-unshuffle"
    t = tracer(name)
    node, r = node_of(name, x, t), _factor(name, factor)
    n = spatial_of(name, node, x)
    b, *places, channels = node.shape
    if any(p % r for p in places):
        raise _not_whole(name, x, f"{r} does not divide its places")
    wide = reshaped(t, node, (b, *(m for p in places for m in (p // r, r)), channels))
    outer, inner = (tuple(range(first, 1 + 2 * n, 2)) for first in (1, 2))
    turned = permuted(t, wide, (0, *outer, 1 + 2 * n, *inner))
    return t.tensor(reshaped(t, turned, (b, *(p // r for p in places), channels * r**n)))


def _factor(name: str, factor: Value) -> int:
    r = integer(name, "factor", factor)
    if r < 1:
        raise problem("E-TYPE", f"the factor of {name} is at least 1, not {r}", wanted="from 1")
    return r


def _not_whole(name: str, x: Value, why: str) -> Exception:
    return problem("E-SHAPE-ARGUMENT", f"{name} of {describe(x)}: {why}")


@tensor_builtin("unfold", "(x size &key (axis 1) (stride 1) (dilation 1))")
def unfold(
    x: Value, size: Value, *, axis: Value = 1, stride: Value = 1, dilation: Value = 1
) -> Tensor:
    """Windows of an axis or of several, on a new axis before the last. A.

    (unfold x '(3 3) :axis '(1 2)): (b h w c) => (b h-2 w-2 9 c)"""
    name = "unfold"
    t = tracer(name)
    node = node_of(name, x, t)
    rank = len(node.shape)
    places = [_axis(name, a, rank) for a in integers(name, "axis", axis)]
    if len(set(places)) != len(places):
        raise problem("E-SHAPE-AXIS", f"{name}: an axis is named twice", rank=rank)
    counts = [each(name, what, v, len(places)) for what, v in
              (("size", size), ("stride", stride), ("dilation", dilation))]  # fmt: skip
    for at, place in sorted(enumerate(places), key=lambda pair: pair[1], reverse=True):
        node = _windows(t, node, place, *(c[at] for c in counts))
        node = permuted(t, node, _moved(len(node.shape), place + 1, len(node.shape) - 1))
    # Windows stand last, the axes' in the order of their axes from the last: turn them round.
    found = len(places)
    order = {place: rank + i for i, place in enumerate(sorted(places, reverse=True))}
    last = [order[p] for p in places]
    turned = permuted(t, node, (*range(rank - 1), *last, rank - 1))
    lead = turned.shape[: rank - 1]
    total = math.prod(turned.shape[rank - 1 : rank - 1 + found])
    return t.tensor(reshaped(t, turned, (*lead, total, turned.shape[-1])))


def _axis(name: str, value: int, rank: int) -> int:
    if not -rank <= value < rank:
        raise problem(
            "E-SHAPE-AXIS", f"{name}: axis {value} of a tensor with {rank} axes", axis=value
        )
    return value % rank


def _windows(t: Tracer, node: Node, axis: int, size: int, stride: int, dilation: int) -> Node:
    """The axis as (windows, size)."""
    n, extent = node.shape[axis], (size - 1) * dilation + 1
    if size < 1 or stride < 1 or dilation < 1 or extent > n:
        raise problem(
            "E-SHAPE-CONV",
            f"unfold: windows of {size} by {stride}, {dilation} apart, of an axis of {n}",
        )
    count = (n - extent) // stride + 1
    b = t.builder
    first = b("iota", dtype="i32", shape=(count, 1), axis=0)
    inner = b("iota", dtype="i32", shape=(1, size), axis=1)
    first = b("multiply", first, b.like(stride, first))
    index = b("add", first, b("multiply", inner, b.like(dilation, inner)))
    return b("gather", node, index, axis=axis, out="drop")


def _moved(rank: int, start: int, stop: int) -> Shape:
    order = [a for a in range(rank) if a != start]
    order.insert(stop, start)
    return tuple(order)


@tensor_builtin("crop", "(x sizes &key start)")
def crop(x: Value, sizes: Value, *, start: Value = NIL) -> Tensor:
    """Part of the spatial axes from start: numbers, or an integer tensor (b n), which is clamped;
    the centre without. A.

    (crop x '(24 24))"""
    name = "crop"
    t = tracer(name)
    node = node_of(name, x, t)
    n = spatial_of(name, node, x)
    wanted = each(name, "sizes", sizes, n)
    for axis, size in enumerate(wanted, 1):
        if not 0 <= size <= node.shape[axis]:
            raise problem(
                "E-SHAPE-SLICE", f"{name}: size {size} of an axis of {node.shape[axis]}", axis=axis
            )
    if is_tensor(start):
        return t.tensor(_moving_crop(t, node, wanted, index_node(name, start, t)))
    firsts: Shape = tuple((m - s) // 2 for m, s in zip(node.shape[1:], wanted))
    if start is not NIL:
        firsts = each(name, "start", start, n)
    for axis, (first, size) in enumerate(zip(firsts, wanted), 1):
        if not 0 <= first <= node.shape[axis] - size:
            raise problem(
                "E-SHAPE-SLICE",
                f"{name}: {size} from {first} of an axis of {node.shape[axis]}",
                axis=axis,
            )
        node = cut(t, node, axis, first, first + size)
    return t.tensor(node)


def _moving_crop(t: Tracer, node: Node, wanted: Shape, start: Node) -> Node:
    b = t.builder
    if start.shape != (node.shape[0], len(wanted)):
        raise problem(
            "E-SHAPE-ARGUMENT",
            f"crop: start is {start.type}, wants ({node.shape[0]} {len(wanted)})",
        )
    for axis, size in enumerate(wanted, 1):
        first = cut(t, start, 1, axis - 1, axis)
        last = node.shape[axis] - size
        first = b("clip", first, b.like(0, first), b.like(last, first))
        steps = b("iota", dtype=start.dtype, shape=(1, size), axis=1)
        index = b("add", first, steps)
        node = b("gather", node, index, axis=axis, out="drop", **{"batch-axes": 1})
    return node


@tensor_builtin("adaptive-avg-pool", "(x sizes)")
def adaptive_avg_pool(x: Value, sizes: Value) -> Tensor:
    """The mean of windows that divide the spatial axes into sizes, as PyTorch's. F.

    (adaptive-avg-pool x 1): (b h w c) => (b 1 1 c)"""
    name = "adaptive-avg-pool"
    t = tracer(name)
    node = node_of(name, x, t)
    want_floats(name, node, x)
    wanted = each(name, "sizes", sizes, spatial_of(name, node, x))
    for axis, size in enumerate(wanted, 1):
        n = node.shape[axis]
        if size < 1 or n < 1:
            raise problem("E-SHAPE-CONV", f"{name}: {size} windows of an axis of {n}")
        windows = [(i * n // size, -(-(i + 1) * n // size)) for i in range(size)]
        widest = max(stop - start for start, stop in windows)
        rows = [[(j, 1 / (stop - start)) for j in range(start, stop)] for start, stop in windows]
        node = resampled(t, node, axis, taps(rows, widest))
    return t.tensor(node)


@tensor_builtin("interpolate", "(x sizes &key (mode :nearest) align-corners antialias)")
def interpolate(
    x: Value,
    sizes: Value,
    *,
    mode: Value = NEAREST,
    align_corners: Value = NIL,
    antialias: Value = NIL,
) -> Tensor:
    """Spatial axes resampled to sizes; `:linear`, `:cubic`, as PyTorch's. F; N for `:nearest`.

    (interpolate x '(64 64) :mode :linear)"""
    from .resampling import RULES

    name = "interpolate"
    t = tracer(name)
    node = node_of(name, x, t)
    kind = choice(name, "mode", mode, ("nearest", "linear", "cubic"))
    wanted = each(name, "sizes", sizes, spatial_of(name, node, x))
    if kind != "nearest":
        want_floats(name, node, x)
    elif flag(align_corners) or flag(antialias):
        raise problem(
            "E-CALL-ARGUMENTS", f"{name} :nearest takes no :align-corners and no :antialias"
        )
    for axis, size in enumerate(wanted, 1):
        n = node.shape[axis]
        if size < 1 or n < 1:
            raise problem("E-SHAPE-CONV", f"{name}: an axis of {n} to {size}")
        if size != n:
            rows = RULES[kind](n, size, flag(align_corners), flag(antialias))
            node = resampled(t, node, axis, rows)
    return t.tensor(node)


def resampled(t: Tracer, node: Node, axis: int, given: Taps) -> Node:
    """An axis replaced by weighted sums of its elements: a gather, and a sum over each row."""
    rows, width = len(given.places), given.width
    index = t.node(Handle(Type("i32", (rows, width)), tuple(i for r in given.places for i in r)))
    found = t.builder("gather", node, index, axis=axis, out="drop")
    shape = (*node.shape[:axis], rows, *node.shape[axis + 1 :])
    if width == 1 and all(w == 1.0 for r in given.weights for w in r):
        return reshaped(t, found, shape)
    dtype = node.dtype if node.dtype in FLOATS else "f32"
    weights = t.node(Handle(Type(dtype, (rows, width)), _rounded(given, dtype)))
    weights = reshaped(t, weights, (rows, width, *(1,) * (len(node.shape) - axis - 1)))
    product = t.builder("multiply", found, weights)
    return t.builder("reduce-sum", product, axes=(axis + 1,), keep=False)


def _rounded(given: Taps, dtype: str) -> tuple[float, ...]:
    from ...ir.rounding import rounded

    return tuple(float(rounded(w, dtype)) for r in given.weights for w in r)
