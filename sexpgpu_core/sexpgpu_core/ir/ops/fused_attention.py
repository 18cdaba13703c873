"""Attention as libraries do it (Dao and others, 2022): a forward pass that keeps one number a row
of scores, and the backward pass that makes the shares again of it. Compilers write these two."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..graph import Node, Value
from ..operation import Attributes, Cost, Fusion, Precision
from ..types import Type, full_float
from .activation import times
from .attention import by_head, infer_attention, masked_by, paired, wide
from .contraction import product
from .op import NARROW, Cotangents, Op, Types
from .shapes import argument, check_count

if TYPE_CHECKING:
    from ..builder import Builder

CHOICES = ("causal", "window", "scale")


def _given(node: Node) -> dict[str, Any]:
    return {name: node.get(name) for name in CHOICES}


def _infer_forward(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 3)
    (out,) = infer_attention(op, operands, attributes)
    q = operands[0]
    dtype = full_float(q.dtype)
    return out, Type(dtype, (q.shape[0], q.shape[2], q.shape[1]))


def _infer_backward(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 6)
    g, q, k, v, out, kept = operands
    types = _infer_forward(op, (q, k, v), attributes)
    if types != (out, kept) or g != out:
        raise argument(op, operands, "g and out are of attention's type, kept is (b h n)")
    return q, k, v


def _scores(b: Builder, node: Node, q: Value, k: Value) -> tuple[Value, Value | None]:
    """Scaled scores (b h n m), f32 or f64, and the mask of those that count."""
    scale = float(node.get("scale") or 1.0 / math.sqrt(max(q.shape[-1], 1)))
    scores = times(b, paired(b, by_head(b, wide(b, q)), by_head(b, wide(b, k)), True), scale)
    return scores, masked_by(b, node, q.shape[1], k.shape[1], {})


def _kept(b: Builder, node: Node) -> Value:
    """logsumexp of each row of scores."""
    scores, mask = _scores(b, node, *node.operands[:2])
    if mask is not None:
        scores = b("where", mask, scores, b.like(-math.inf, scores))
    return b("logsumexp", scores, axes=(3,))


def _expand_forward(b: Builder, node: Node) -> tuple[Value, ...]:
    return b("attention", *node.operands, **_given(node)), _kept(b, node)


def _shares(b: Builder, node: Node, q: Value, k: Value, kept: Value) -> Value:
    """exp(score - kept), 0 where masked."""
    scores, mask = _scores(b, node, q, k)
    share = b("exp", b("subtract", scores, b("reshape", kept, shape=(*kept.shape, 1))))
    return share if mask is None else b("where", mask, share, b.like(0.0, share))


def _rounded(b: Builder, x: Value, dtype: str) -> Value:
    """As it is when a product takes it in 16 bits."""
    return wide(b, b("cast", x, dtype=dtype)) if dtype in NARROW else x


def _by_group(b: Builder, x: Value, heads: int) -> Value:
    """(b h n d) to (b heads h/heads*n d)"""
    batch, _, _, d = x.shape
    return b("reshape", x, shape=(batch, heads, -1, d)) if x.shape[1] != heads else x


def _of_keys(b: Builder, rows: Value, x: Value, heads: int) -> Value:
    """rows^T x a head of keys: those of its queries are added."""
    batch, all_heads, n, m = rows.shape
    grouped = (batch, heads, all_heads // heads * n)
    left = b("reshape", rows, shape=(*grouped, m))
    right = b("reshape", x, shape=(*grouped, x.shape[3]))
    return product(b, left, right, True, False)


def _through(b: Builder, node: Node, q: Value, k: Value, slope: Value) -> tuple[Value, Value]:
    """Cotangents of q and k, of the scaled scores' one."""
    dtype, heads = q.dtype, k.shape[2]
    scale = float(node.get("scale") or 1.0 / math.sqrt(max(q.shape[-1], 1)))
    slope = _rounded(b, slope, dtype)
    found = (
        paired(b, slope, by_head(b, wide(b, k)), False),
        _of_keys(b, slope, by_head(b, wide(b, q)), heads),
    )
    dq, dk = (by_head(b, times(b, x, scale)) for x in found)
    return _narrowed(b, dq, dtype), _narrowed(b, dk, dtype)


def _narrowed(b: Builder, x: Value, dtype: str) -> Value:
    return x if x.dtype == dtype else b("cast", x, dtype=dtype)


def _expand_backward(b: Builder, node: Node) -> tuple[Value, ...]:
    g, q, k, v, out, kept = node.operands
    share = _shares(b, node, q, k, kept)
    slope_out, heads = by_head(b, wide(b, g)), k.shape[2]
    dv = by_head(b, _of_keys(b, _rounded(b, share, q.dtype), slope_out, heads))
    towards = paired(b, slope_out, by_head(b, wide(b, v)), True)
    own = b("multiply", slope_out, by_head(b, wide(b, out)))
    own = b("reduce-sum", own, axes=(3,), keep=True)
    slope = b("multiply", share, b("subtract", towards, own))
    return (*_through(b, node, q, k, slope), _narrowed(b, dv, v.dtype))


def _forward_back(b: Builder, node: Node, out: tuple[Value | None, ...]) -> Cotangents:
    g, of_kept = out
    q, k, v = node.operands
    given = _given(node)
    kept = Value(node, 1)
    found: Cotangents = (None, None, None)
    if g is not None:
        found = b.several("attention-backward", g, q, k, v, Value(node), kept, **given)
    if of_kept is None:
        return found
    slope = b("reshape", of_kept, shape=(*of_kept.shape, 1))
    slope = b("multiply", _shares(b, node, q, k, kept), slope)
    more = _through(b, node, q, k, slope)
    added = (y if x is None else b("add", x, y) for x, y in zip(found, more))
    return (*added, found[2])


def _cost(products: int) -> Callable[[Types, Types, Attributes], Cost]:
    def cost(operands: Types, results: Types, attributes: Attributes) -> Cost:
        q, k, v = operands[-6:][1:4] if len(operands) == 6 else operands[:3]
        pairs = q.shape[0] * q.shape[2] * q.shape[1] * k.shape[1]
        flops = products * pairs * (q.shape[3] + v.shape[3])
        return Cost(flops, sum(t.bytes for t in operands), sum(t.bytes for t in results))

    return cost


ROWS = [
    Op(
        "attention-forward",
        "",
        Fusion.LIBRARY,
        Precision.LOW,
        _infer_forward,
        "attention of q k v, and the logsumexp of each row of its scores, (b h n). A compiler's. "
        "Gradient: yes.",
        _forward_back,
        expand=_expand_forward,
        cost=_cost(2),
    ),
    Op(
        "attention-backward",
        "",
        Fusion.LIBRARY,
        Precision.LOW,
        _infer_backward,
        "Cotangents of q k v, of operands g q k v and what attention-forward gave. A compiler's. "
        "Gradient: yes.",
        expand=_expand_backward,
        cost=_cost(5),
    ),
]
