"""The loss scale of `:f16` (45.2): the seed of the backward pass, and what takes it off again.

It is a power of two that the host holds and hands to each launch as a step scalar, so that it
changes no kernel; both products with it are exact until they leave the dtype's range.
"""

from __future__ import annotations

from ..ir import Builder, Value
from ..ir.scalars import text
from .updates import scalar

SCALE = ("ctx", "loss-scale")
INVERSE = ("/", 1, SCALE)
LOSS_SCALES = {text(tree): tree for tree in (SCALE, INVERSE)}
"""By canonical text: what a program with a scale reads."""


def seed(b: Builder, loss: Value) -> Value:
    """The cotangent of a loss."""
    return scalar(b, SCALE, loss.dtype)


def unscaled(b: Builder, gradients: dict[str, Value]) -> dict[str, Value]:
    """Gradients in f32 (f64 stays) without the scale."""
    found = {}
    for path, g in gradients.items():
        wide = g if g.dtype in ("f32", "f64") else b("cast", g, dtype="f32")
        found[path] = b("multiply", wide, scalar(b, INVERSE, wide.dtype))
    return found
