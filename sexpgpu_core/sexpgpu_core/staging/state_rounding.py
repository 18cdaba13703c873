"""f32 to bf16 at random, up or down by how near each is: the mean of what is kept is the value.

The random bits are Philox's by (seed, site, step, place), so every device keeps the same (45.14).
"""

from __future__ import annotations

from ..ir.builder import Builder
from ..ir.graph import Value as Node
from .builtins.random import draw
from .tracer import Tracer

FRACTION = 0xFFFF
"""The bits of an f32 that a bf16 does not have."""


def rounded_at_random(t: Tracer, x: Node, place: str) -> Node:
    """The bf16 of an f32, or of an f64, rounded to one first; `place` is the site of the random
    bits."""
    x = x if x.dtype == "f32" else t.builder("cast", x, dtype="f32")
    drawn = draw(t, "random-bits", t.site("state", place), x.shape, None)
    return rounded_by(t.builder, x, drawn)


def rounded_by(b: Builder, x: Node, drawn: Node) -> Node:
    """The low half of each word of `drawn` (u32) is added below the bits that stay; what is then
    below them is cut off. What a bf16 holds exactly stays as it is; infinities and nan do too."""
    extra = b("bit-and", drawn, b.like(FRACTION, drawn))
    bits = b("add", b("bitcast", x, dtype="u32"), extra)
    cut = b("bit-and", bits, b.like(0xFFFFFFFF ^ FRACTION, bits))
    kept = b("where", b("is-finite", x), b("bitcast", cut, dtype="f32"), x)
    return b("cast", kept, dtype="bf16")
