"""Hypothesis strategies for graphs."""

from __future__ import annotations

from hypothesis import strategies as st

from sexpgpu_core.ir import Builder, Graph
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.ops.update import apply_body, body_of

_UNARY = ("exp", "negate", "tanh", "square", "relu", "softplus")
_BINARY = ("add", "multiply", "subtract", "maximum")
_names = st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1, max_size=8)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Elementwise, reducing and moving nodes over tensors of (2 3), with odd names and numbers."""
    b = Builder(OPERATIONS)
    names = draw(st.lists(_names, min_size=1, max_size=3, unique=True))
    known = [b.input(n, "batch", "f32", (2, 3)) for n in names]
    for _ in range(draw(st.integers(0, 8))):
        b.policy = draw(st.sampled_from(("", "f32")))
        b.copy = draw(st.sampled_from((0, 0, 1)))
        x, y = draw(st.sampled_from(known)), draw(st.sampled_from(known))
        known.append(draw(st.sampled_from(_MAKERS))(draw, b, x, y))
    for name in draw(st.lists(_names, max_size=3, unique=True)):
        b.graph.results[name] = draw(st.sampled_from(known))
    return b.graph


def _constant(draw, b, x, y):
    value = draw(st.floats(width=32, allow_nan=False))
    return b("add", x, b.constant(value, "f32"))


def _two_results(draw, b, x, y):
    top = b.several("top-k", x, k=2, axis=1)[draw(st.integers(0, 1))]
    wide = top if top.dtype == "f32" else b("cast", top, dtype="f32")
    return b("pad", wide, low=(0, 0), high=(0, 1), value=draw(st.sampled_from((0.0, -0.0, 1.5))))


def _update(draw, b, x, y):
    body = Builder(OPERATIONS)
    p, g = (body.input(n, "parameter", "f32", (2, 3)) for n in ("p", "g"))
    body.graph.results["p"] = body("subtract", p, g)
    return apply_body(b, body_of(body.graph, OPERATIONS), {"p": x, "g": y})["p"]


_MAKERS = (
    lambda draw, b, x, y: b(draw(st.sampled_from(_UNARY)), x),
    lambda draw, b, x, y: b(draw(st.sampled_from(_BINARY)), x, y),
    lambda draw, b, x, y: b("flip", x, axes=draw(st.sampled_from(((), (0,), (0, 1))))),
    lambda draw, b, x, y: b("add", x, b("reduce-sum", y, axes=(1,), keep=draw(st.just(True)))),
    _constant,
    _two_results,
    _update,
)
