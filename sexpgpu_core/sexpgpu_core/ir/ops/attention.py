"""Attention and rotary positions: composites over (batch, place, head, depth)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..graph import Node, Value
from ..operation import Attributes, Cost, Fusion, Precision
from ..types import Type, broadcast, full_float
from .activation import times
from .contraction import product
from .op import NARROW, Cotangents, Op, Types
from .shape import cut
from .shapes import argument, check_count, same_dtype, text, want_bool, want_float, want_integer

if TYPE_CHECKING:
    from ..builder import Builder

EXTRAS = ("mask", "bias", "keep")
"""Operands after q k v, in this order, named by attribute extras. keep: dropout's bool mask."""


def infer_attention(op: Op, operands: Types, attributes: Attributes) -> Types:
    extras = attributes.get("extras") or ()
    check_count(op, operands, 3 + len(extras))
    q, k, v = operands[:3]
    want_float(op, same_dtype(op, (q, k, v)))
    if not q.rank == k.rank == v.rank == 4:
        raise argument(op, operands, "q, k and v are (batch place head depth)")
    if k.shape[:3] != v.shape[:3] or q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3]:
        raise argument(op, operands, _unlike(*(t.shape for t in operands[:3])))
    if not k.shape[2] or q.shape[2] % k.shape[2]:
        raise argument(op, operands, f"{k.shape[2]} heads of k do not divide {q.shape[2]} of q")
    _check_extras(op, operands, extras)
    return (Type(q.dtype, (*q.shape[:3], v.shape[3])),)


def _check_extras(op: Op, operands: Types, extras: tuple[str, ...]) -> None:
    q, k = operands[:2]
    scores = (q.shape[0], q.shape[2], q.shape[1], k.shape[1])
    for name, t in zip(extras, operands[3:]):
        if name not in EXTRAS:
            raise argument(op, operands, f"no extra operand {name}")
        if name == "bias":
            want_float(op, t.dtype)
        else:
            want_bool(op, t.dtype)
        if broadcast(scores, t.shape) != scores:
            why = f"{name} broadcasts to (batch head query key), {text(scores)}"
            raise argument(op, operands, why)


def by_head(b: Builder, x: Value) -> Value:
    """(b n h d) to (b h n d)"""
    return b("permute", x, axes=(0, 2, 1, 3))


def causal_mask(b: Builder, queries: int, keys: int, window: int | None = None) -> Value:
    """(queries keys), true where key <= query, and query - key < window."""
    shape = (queries, keys)
    query = b("iota", dtype="i32", shape=shape, axis=0)
    key = b("iota", dtype="i32", shape=shape, axis=1)
    seen = b("less-equal", key, query)
    if window is None:
        return seen
    near = b("less", b("subtract", query, key), b.like(window, query))
    return b("logical-and", seen, near)


def _window_mask(b: Builder, queries: int, keys: int, window: int) -> Value:
    """Both sides: |query - key| < window."""
    shape = (queries, keys)
    query = b("iota", dtype="i32", shape=shape, axis=0)
    key = b("iota", dtype="i32", shape=shape, axis=1)
    return b("less", b("abs", b("subtract", query, key)), b.like(window, query))


def masked_by(b: Builder, node: Node, n: int, m: int, extra: dict[str, Value]) -> Value | None:
    """Of n queries and m keys those that meet, as attributes and operands say."""
    window, given = node.get("window"), extra.get("mask")
    found = None
    if node.get("causal"):
        found = causal_mask(b, n, m, window)
    elif window is not None:
        found = _window_mask(b, n, m, window)
    if found is None or given is None:
        return found if given is None else given
    return b("logical-and", found, given)


def paired(b: Builder, x: Value, y: Value, transpose_y: bool) -> Value:
    """Product a head; y may have fewer heads, each for a run of x's."""
    heads, few = x.shape[1], y.shape[1]
    if heads == few:
        return product(b, x, y, False, transpose_y)
    batch, _, n, d = x.shape
    grouped = b("reshape", x, shape=(batch, few, heads // few * n, d))
    found = product(b, grouped, y, False, transpose_y)
    return b("reshape", found, shape=(batch, heads, n, found.shape[-1]))


def wide(b: Builder, x: Value) -> Value:
    return b("cast", x, dtype="f32") if x.dtype in NARROW else x


def _expand_attention(b: Builder, node: Node) -> tuple[Value, ...]:
    """In 16 bits: scores and shares are f32, shares are rounded for the second product, and so is
    the result, as a fused kernel does it (Dao and others, 2022)."""
    share = attention_shares(b, node)
    v = by_head(b, wide(b, node.operands[2]))
    dtype = node.types[0].dtype
    if dtype in NARROW:
        share = wide(b, b("cast", share, dtype=dtype))
    found = by_head(b, paired(b, share, v, False))
    return (found if found.dtype == dtype else b("cast", found, dtype=dtype),)


def attention_shares(b: Builder, node: Node, dropped: bool = True) -> Value:
    """(batch head query key), f32 or f64: how much of each value a query takes; with dropout, if
    there is any, where `dropped`."""
    q, k = (by_head(b, wide(b, x)) for x in node.operands[:2])
    extra = {n: wide(b, x) for n, x in zip(node.get("extras") or (), node.operands[3:])}
    if not dropped:
        extra.pop("keep", None)
    scale = float(node.get("scale") or 1.0 / math.sqrt(max(q.shape[-1], 1)))
    scores = paired(b, q, k, True)
    cap = node.get("soft-cap")
    if cap:
        scores = times(b, b("tanh", times(b, scores, scale / float(cap))), float(cap))
        scale = 1.0
    if "bias" in extra:
        scores, scale = b("add", times(b, scores, scale), extra["bias"]), 1.0
    return _shares(b, node, scores, scale, extra)


def _shares(b: Builder, node: Node, scores: Value, scale: float, extra: dict[str, Value]) -> Value:
    n, m = node.operands[0].shape[1], node.operands[1].shape[1]
    mask = masked_by(b, node, n, m, extra)
    operands = (scores,) if mask is None else (scores, mask)
    share = b("softmax", *operands, axis=3, scale=scale)
    if "keep" not in extra:
        return share
    kept = times(b, share, 1.0 / (1.0 - float(node.get("rate"))))
    return b("where", extra["keep"], kept, b.like(0.0, share))


def _unlike(q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...]) -> str:
    """The first rule that shapes of q, k and v break."""
    rules = (
        (k[1:3] == v[1:3], f"k has {k[1]} places of {k[2]} heads, v has {v[1]} of {v[2]}"),
        (q[0] == k[0] == v[0], f"they are of {q[0]}, {k[0]} and {v[0]} examples"),
        (q[3] == k[3], f"the heads of q are {q[3]} deep, those of k {k[3]}"),
    )
    return next((why for holds, why in rules if not holds), "")


def _attention_cost(operands: Types, results: Types, attributes: Attributes) -> Cost:
    q, k, v = operands[:3]
    pairs = q.shape[0] * q.shape[2] * q.shape[1] * k.shape[1]
    flops = 2 * pairs * (q.shape[3] + v.shape[3])
    return Cost(flops, sum(t.bytes for t in operands), results[0].bytes)


def _attention_axes(
    operands: Types, results: Types, attributes: Attributes
) -> tuple[tuple[int, int, int, str], ...]:
    along = "le" if attributes.get("causal") else "all"
    rows = [(a, 0, a, "same") for a in range(3)]
    for k in (1, 2):
        rows += [(0, k, 0, "same"), (1, k, 1, along)]
    rows.append((3, 2, 3, "same"))
    for k in range(3, len(operands)):
        rows += _extra_axes(operands, k, along)
    return tuple(rows)


def _extra_axes(operands: Types, k: int, along: str) -> list[tuple[int, int, int, str]]:
    """Of an operand (b h n m) whose leading axes may lack and whose axes may be 1."""
    q, keys, extra = operands[0], operands[1], operands[k]
    sizes = (q.shape[0], q.shape[2], q.shape[1], keys.shape[1])
    places = ((0, 0, "same"), (2, 1, "same"), (1, 2, "same"), (1, 3, along))
    lead = 4 - extra.rank
    return [
        (result, k, a - lead, how)
        for result, a, how in places
        if a >= lead and extra.shape[a - lead] == sizes[a]
    ]


def _infer_rope(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 1, 2)
    x = operands[0]
    want_float(op, x.dtype)
    dims = attributes.get("dims") or (x.shape[-1] if x.rank else 0)
    if x.rank != 4 or dims % 2 or not 0 < dims <= x.shape[-1]:
        why = "x is (batch place head depth)" if x.rank != 4 else f"{dims} of its depth are odd"
        raise argument(op, operands, why)
    if len(operands) == 2:
        want_integer(op, operands[1].dtype)
        if operands[1].shape not in (x.shape[1:2], x.shape[:2]):
            raise argument(op, operands, "positions are (place) or (batch place)")
    return (x,)


def _angles(b: Builder, node: Node, half: int) -> Value:
    """(n 1 half) or (b n 1 half): positions scale base^(-j / half), in f32 or f64."""
    x = node.operands[0]
    dtype = full_float(x.dtype)
    step = math.log(float(node.get("base") or 10000.0)) / half
    rate = b("exp", times(b, b("iota", dtype=dtype, shape=(half,), axis=0), -step))
    if len(node.operands) == 2:
        places = b("cast", node.operands[1], dtype=dtype)
    else:
        places = b("iota", dtype=dtype, shape=(x.shape[1],), axis=0)
    column = b("reshape", places, shape=(*places.shape, 1, 1))
    scale = float(node.get("scale", 1.0))
    return b("multiply", column if scale == 1.0 else times(b, column, scale), rate)


def _expand_rope(b: Builder, node: Node) -> tuple[Value, ...]:
    x = node.operands[0]
    depth = x.shape[3]
    dims = node.get("dims") or depth
    turned = cut(b, x, 3, 0, dims) if dims < depth else x
    angle = _angles(b, node, dims // 2)
    cos, sin = b("cos", angle), b("sin", angle)
    if x.dtype != angle.dtype:
        cos, sin = (b("cast", v, dtype=x.dtype) for v in (cos, sin))
    rotate = _interleaved if node.get("interleaved") else _halves
    found = rotate(b, turned, cos, sin)
    if dims < depth:
        found = b("concat", found, cut(b, x, 3, dims, depth), axis=3)
    return (found,)


def _turn(b: Builder, x: Value, y: Value, cos: Value, sin: Value) -> tuple[Value, Value]:
    return (
        b("subtract", b("multiply", x, cos), b("multiply", y, sin)),
        b("add", b("multiply", y, cos), b("multiply", x, sin)),
    )


def _halves(b: Builder, x: Value, cos: Value, sin: Value) -> Value:
    dims = x.shape[3]
    first, second = cut(b, x, 3, 0, dims // 2), cut(b, x, 3, dims // 2, dims)
    return b("concat", *_turn(b, first, second, cos, sin), axis=3)


def _interleaved(b: Builder, x: Value, cos: Value, sin: Value) -> Value:
    wide = b("reshape", x, shape=(*x.shape[:3], x.shape[3] // 2, 2))
    flat = (*x.shape[:3], x.shape[3] // 2)
    first, second = (b("reshape", cut(b, wide, 4, i, i + 1), shape=flat) for i in (0, 1))
    turned = [b("reshape", v, shape=(*flat, 1)) for v in _turn(b, first, second, cos, sin)]
    return b("reshape", b("concat", *turned, axis=4), shape=x.shape)


def _rope_back(b: Builder, node: Node, g: Value) -> Cotangents:
    # A rotation: its transpose turns back.
    attributes = {**dict(node.attributes), "scale": -float(node.get("scale", 1.0))}
    rest = node.operands[1:]
    return (b("rope", g, *rest, **attributes), *(None,) * len(rest))


def _rope_axes(
    operands: Types, results: Types, attributes: Attributes
) -> tuple[tuple[int, int, int, str], ...]:
    rows = [(a, 0, a, "same") for a in range(3)]
    if len(operands) == 2:
        lead = 2 - operands[1].rank
        rows += [(lead + a, 1, a, "same") for a in range(operands[1].rank)]
    return tuple(rows)


ROWS = [
    Op(
        "attention",
        "",
        Fusion.LIBRARY,
        Precision.LOW,
        infer_attention,
        "softmax(scale q k^T) v a head. Operands q k v (b n h d), heads of k and v divide; then "
        "those that attribute extras names, of mask bias keep, broadcast to (b h n m). Attributes "
        "causal, window (query - key < window), scale (1 / sqrt(d)), soft-cap, rate (of keep). "
        "Gradient: yes.",
        expand=_expand_attention,
        cost=_attention_cost,
        depends=_attention_axes,
    ),
    Op(
        "rope",
        "",
        Fusion.ELEMENT,
        Precision.FOLLOW,
        _infer_rope,
        "Pairs of depths turned by position (Su and others, 2021). Operands x (b n h d) [positions "
        "(n) or (b n), integers; else 0 to n - 1]. Attributes base (10000), dims (first of d), "
        "scale (1, of positions), interleaved. Gradient: yes.",
        _rope_back,
        expand=_expand_rope,
        depends=_rope_axes,
    ),
]
