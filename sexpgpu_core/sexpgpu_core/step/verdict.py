"""The verdict of a step: the gradient's norm and whether the step may commit (45.2)."""

from __future__ import annotations

from collections.abc import Iterable

from ..ir import Builder, Value


def gradient_norm(b: Builder, gradients: Iterable[Value]) -> Value:
    """Square root of the sum of squares over all gradients, a scalar of f32, or of f64 where one of
    them is."""
    gradients = list(gradients)
    full = "f64" if any(g.dtype == "f64" for g in gradients) else "f32"
    total: Value | None = None
    for g in gradients:
        wide = g if g.dtype in ("f32", "f64") else b("cast", g, dtype="f32")
        axes = tuple(range(len(g.shape)))
        square = b("square", wide)
        part = b("reduce-sum", square, axes=axes, keep=False) if axes else square
        part = part if part.dtype == full else b("cast", part, dtype=full)
        total = part if total is None else b("add", total, part)
    return b("sqrt", total) if total is not None else b.constant(0.0, "f32")


def finite(b: Builder, values: Iterable[Value]) -> Value:
    """True where every scalar is finite."""
    verdict: Value | None = None
    for value in values:
        good = b("is-finite", value)
        verdict = good if verdict is None else b("logical-and", verdict, good)
    assert verdict is not None
    return verdict


def clip_scale(b: Builder, norm: Value, limit: Value) -> Value:
    """min(1, limit / (norm + 1e-6)), the factor of `:clip-norm`; `limit` has the norm's dtype."""
    return b("minimum", b.like(1.0, norm), b("divide", limit, b("add", norm, b.like(1e-6, norm))))
