"""Families over whole axes: products, indexing, softmax and norms, attention, windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grown import Grown

from sexpgpu_core.ir import Value
from sexpgpu_core.ir.types import FLOATS, INTEGERS

Made = Value | None | tuple[Value, ...]


def small(g: Grown, y: Value) -> Value:
    return g.small(y) if y.dtype in FLOATS else y


def matmul(g: Grown) -> Made:
    x = g.pick(lambda v: len(v.shape) >= 2 and v.dtype != "bool")
    if x is None:
        return None
    tx, ty = g.chance(2), g.chance(2)
    inner = x.shape[-2] if tx else x.shape[-1]
    if g.chance(3):
        y = x if tx == (not ty) else None
    else:
        n = g.one((1, 2, 5, 16))
        y = g.weights((n, inner) if ty else (inner, n), x)
    if y is None:
        return None
    flags: Any = {"transpose-x": tx or None, "transpose-y": ty or None}
    z = g.b("matmul", x, y, **flags)
    return small(g, g.b("multiply", z, g.like(0.25, z)) if z.dtype in FLOATS else z)


def contraction(g: Grown) -> Made:
    x = g.floats(rank=1)
    if x is None:
        return None
    y = g.weights(x.shape[-1:], x)
    name = g.one(("dot", "outer", "einsum", "einsum"))
    if name != "einsum":
        return g.small(g.b(name, x, y))
    subscripts = g.one(("...i,i->...", "...i,j->j...", "...i,i->i...", "...i,i->"))
    return g.small(g.b("einsum", x, y, subscripts=subscripts))


def places(g: Grown, n: int) -> Value | None:
    """Indices below n: any shape, any integer dtype."""
    i = g.pick(lambda v: v.dtype in INTEGERS and 0 < v.type.size <= 64)
    return None if i is None or n == 0 or n > 100 else g.index(i, n)


def gather(g: Grown) -> Made:
    x = g.pick(lambda v: v.shape != ())
    if x is None:
        return None
    axis = g.axis(x)
    index = places(g, x.shape[axis])
    if index is None or len(index.shape) + len(x.shape) > 6:
        return None
    if g.chance(4):
        index = g.b("index-guard", index, limit=x.shape[axis])
    if g.chance(2):
        return g.b("gather", x, index, axis=axis)
    odd = g.b("subtract", index, g.like(1, index))
    return g.b("gather", x, odd, axis=axis, out="drop")


def scatter(g: Grown) -> Made:
    x = g.pick(lambda v: v.shape != () and v.dtype != "bool")
    if x is None:
        return None
    axis = g.axis(x)
    index = places(g, x.shape[axis])
    if index is None or len(index.shape) + len(x.shape) > 6:
        return None
    y = g.b("gather", x, index, axis=axis)
    if y.type.size > 5000:
        return None
    if y.dtype in FLOATS:
        y = g.small(y)
    name = g.one(("scatter-add", "scatter-set"))
    return small(g, g.b(name, x, index, y, axis=axis, out=g.one(("error", "drop"))))


def along(g: Grown) -> Made:
    x = g.pick(lambda v: v.shape != () and v.dtype != "bool" and 0 not in v.shape)
    if x is None:
        return None
    axis = g.axis(x)
    place = g.b("iota", dtype=g.one(("i32", "u8", "i64")), shape=x.shape, axis=axis)
    shifted = g.b("multiply", place, g.like(g.number(1, 3), place))
    index = g.b("mod", shifted, g.like(min(x.shape[axis], 100), shifted))
    taken = g.b("take-along", x, index, axis=axis)
    if g.chance(2):
        return taken
    return small(g, g.b(g.one(("put-along", "add-along")), x, index, taken, axis=axis, out="drop"))


def ordering(g: Grown) -> Made:
    x = g.pick(lambda v: v.shape != () and v.dtype != "bool")
    if x is None:
        return None
    axis = g.axis(x)
    name = g.one(("sort", "argsort", "top-k", "searchsorted"))
    if name == "top-k":
        k = g.number(0, min(x.shape[axis], 4))
        return g.b.several(name, x, k=k, axis=axis, smallest=g.chance(2))
    if name == "searchsorted":
        edges = g.b("sort", x, axis=len(x.shape) - 1)
        return g.b(name, edges, g.b("flip", x, axes=(axis,)), right=g.chance(2))
    return g.b(name, x, axis=axis, descending=g.chance(2))


def counting(g: Grown) -> Made:
    x = g.floats(rank=1)
    if x is None:
        return None
    lead = g.b("iota", dtype="i32", shape=x.shape[:1], axis=0)
    n = g.number(1, 4)
    if g.chance(2):
        dtype = g.one(("f32", "bool", "i32"))
        return g.b("one-hot", lead, n=n, axis=g.number(0, 1), dtype=dtype)
    parts = g.b("mod", lead, g.like(n, lead))
    return g.small(g.b("segment-sum", x, parts, n=n))


# ---- composites
def soft(g: Grown) -> Made:
    x = g.floats(rank=1)
    if x is None or 0 in x.shape:
        return None
    axis = g.axis(x)
    if g.chance(3):
        return g.b("log-softmax", x, axis=axis)
    mask = [g.b("greater", x, g.like(-0.25, x))] if g.chance(2) else []
    return g.b("softmax", x, *mask, axis=axis, scale=g.one((1.0, 0.5)))


def norm(g: Grown) -> Made:
    x = g.floats(rank=1)
    if x is None or 0 in x.shape:
        return None
    last = len(x.shape) - 1
    rows = [g.weights(x.shape[last:], x) for _ in range(g.number(0, 2))]
    if g.chance(2):
        return g.b("layer-norm", x, *rows, axes=(last,), eps=0.0625)
    if g.chance(3) and len(x.shape) >= 3:
        return g.b("group-norm", x, *rows, groups=1, eps=0.0625)
    return g.b("rms-norm", x, *rows[:1], axes=(last,), eps=0.0625)


def loss(g: Grown) -> Made:
    x = g.floats(rank=2)
    if x is None or 0 in x.shape:
        return None
    if g.chance(3):
        return g.small(g.b("binary-cross-entropy", x, g.b("sigmoid", x), smoothing=0.125))
    axis = g.axis(x)
    rest = x.shape[:axis] + x.shape[axis + 1 :]
    place = g.b("iota", dtype="i32", shape=rest, axis=len(rest) - 1)
    label = g.b("mod", place, g.like(x.shape[axis], place))
    more: dict[str, Any] = {"ignore-index": 0} if g.chance(2) else {}
    return g.small(g.b("cross-entropy", x, label, axis=axis, smoothing=0.125, **more))


def attention(g: Grown) -> Made:
    x = g.floats(rank=2)
    if x is None or 0 in x.shape:
        return None
    flat = g.b("reshape", x, shape=(1, x.type.size // x.shape[-1], 1, x.shape[-1]))
    if flat.shape[1] > 70:
        return None
    if x.shape[-1] % 2 == 0 and g.chance(2):
        flat = g.b("rope", flat)
    more: dict[str, Any] = {"soft-cap": 2.0} if g.chance(3) else {}
    return g.b("attention", flat, flat, g.small(flat), causal=g.chance(2), **more)


def spatial(g: Grown) -> Value | None:
    """A value as (b n... c) with one or two spatial axes."""
    x = g.pick(lambda v: v.dtype in FLOATS and 2 <= len(v.shape) <= 4 and 0 not in v.shape)
    if x is None:
        return None
    return g.b("reshape", x, shape=(1, *x.shape)) if len(x.shape) == 2 else x


def conv(g: Grown) -> Made:
    x = spatial(g)
    if x is None:
        return None
    n = len(x.shape) - 2
    kernel = tuple(g.one((1, 2, 3)) for _ in range(n))
    w = g.weights((*kernel, x.shape[-1], g.one((1, 3, 8))), x)
    at: dict[str, Any] = {
        "strides": tuple(g.number(1, 2) for _ in range(n)),
        "dilations": (1,) * n,
        "padding": tuple((k - 1, k // 2) for k in kernel),
        "groups": 1,
    }
    if g.chance(4):
        return g.small(g.b("conv-transpose", x, w, **{**at, "padding": ((0, 0),) * n}))
    y = g.b("conv", x, w, **at)
    return g.small(g.b("multiply", y, g.like(0.25, y)))


def pool(g: Grown) -> Made:
    x = spatial(g)
    if x is None:
        return None
    n = len(x.shape) - 2
    sizes = tuple(g.one((1, 2, 3)) for _ in range(n))
    at: dict[str, Any] = {
        "sizes": sizes,
        "strides": tuple(g.number(1, 2) for _ in range(n)),
        "padding": tuple((k // 2, k - 1) for k in sizes),
    }
    if g.chance(2):
        return g.b("max-pool", x, **at)
    return g.b("avg-pool", x, **{"count-padding": g.chance(2)}, **at)


WIDE: dict[str, Callable[[Grown], Made]] = {
    f.__name__: f
    for f in (
        *(matmul, contraction, gather, scatter, along, ordering, counting, soft, norm, loss),
        *(attention, conv, pool),
    )
}
