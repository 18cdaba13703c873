"""Parts of models over positions: cuts, shifts, masks and scores."""

from __future__ import annotations

from sexpgpu_core.ir import Builder, Value


def cut(b: Builder, x: Value, axis: int, start: int, stop: int) -> Value:
    starts, stops = [0] * len(x.shape), list(x.shape)
    starts[axis], stops[axis] = start, stop
    steps = (1,) * len(x.shape)
    return b("slice", x, starts=tuple(starts), stops=tuple(stops), steps=steps)


def late(b: Builder, x: Value, axis: int, by: int = 1) -> Value:
    """Shifted to the right, zeros in front."""
    low = tuple(by if a == axis else 0 for a in range(len(x.shape)))
    wide = b("pad", x, low=low, high=(0,) * len(low), value=0.0)
    return cut(b, wide, axis, 0, x.shape[axis])


def upto(b: Builder, queries: int, keys: int, more: int) -> Value:
    query, key = (b("iota", dtype="i32", shape=(queries, keys), axis=a) for a in (0, 1))
    return b("less-equal", key, b("add", query, b.constant(more, "i32")))


def scores(b: Builder, q: Value, k: Value) -> Value:
    return b("matmul", q, b("tanh", k), **{"transpose-y": True})
