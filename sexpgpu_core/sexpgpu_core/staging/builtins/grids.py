"""grid-sample: x read at places that a tensor gives, in [-1, 1], between its elements."""

from __future__ import annotations

import itertools

from ...diagnostics import problem
from ...evaluator.values import NIL, Value, keyword
from ...ir.builder import Builder
from ...ir.graph import Value as Node
from ...ir.types import Type
from ..arguments import choice, flag
from ..faults import describe
from ..promote import operands
from ..table import tensor_builtin
from ..tensor import Tensor
from ..tracer import Tracer
from .pictures import spatial_of
from .resampling import CUBIC
from .shape import reshaped
from .slicing import cut

LINEAR, ZEROS = keyword("LINEAR"), keyword("ZEROS")


class Line:
    """One spatial axis: its size, and what becomes of places beyond its ends."""

    def __init__(self, b: Builder, size: int, padding: str, aligned: bool) -> None:
        self.b = b
        self.size = size
        self.padding = padding
        self.aligned = aligned

    def number(self, value: float, x: Node) -> Node:
        return self.b.like(value, x)

    def places(self, g: Node) -> Node:
        """[-1, 1] to places among the elements."""
        b = self.b
        raised = b("add", g, self.number(1.0, g))
        if self.aligned:
            return b("multiply", raised, self.number((self.size - 1) / 2, g))
        whole = b("multiply", raised, self.number(self.size / 2, g))
        return b("subtract", whole, self.number(0.5, g))

    def inside(self, at: Node) -> Node:
        """Places brought inside, but for `zeros`."""
        if self.padding == "zeros":
            return at
        if self.padding == "reflection":
            at = self._reflected(at)
        b, last = self.b, float(max(self.size - 1, 0))
        return b("clip", at, self.number(0.0, at), self.number(last, at))

    def _reflected(self, at: Node) -> Node:
        """Mirrored at the ends: elements' centres, or half an element further."""
        b = self.b
        low = 0.0 if self.aligned else -0.5
        span = self.size - 1.0 if self.aligned else float(self.size)
        if span <= 0:
            return b.constant(0.0, at.dtype, at.shape)
        away = b("abs", b("subtract", at, self.number(low, at)))
        turns = b("floor", b("divide", away, self.number(span, at)))
        extra = b("subtract", away, b("multiply", turns, self.number(span, at)))
        half = b("multiply", turns, self.number(0.5, at))
        even = b("equal", half, b("floor", half))
        back = b("where", even, extra, b("subtract", self.number(span, at), extra))
        return b("add", back, self.number(low, at))

    def index(self, at: Node) -> tuple[Node, Node]:
        """Whole places as indices, and whether they are inside."""
        b = self.b
        at = b("clip", at, self.number(-1.0, at), self.number(float(self.size), at))
        index = b("cast", at, dtype="i32")
        low = b("less-equal", b.like(0, index), index)
        return index, b("logical-and", low, b("less", index, b.like(self.size, index)))

    def taps(self, mode: str, g: Node) -> list[tuple[Node, Node | None]]:
        """(whole place, weight) of each element that takes part; no weight is 1."""
        b, at = self.b, self.places(g)
        if mode == "nearest":
            return [(b("round", self.inside(at)), None)]
        if mode == "linear":
            at = self.inside(at)
        low = b("stop-gradient", b("floor", at))
        share = b("subtract", at, low)
        if mode == "linear":
            one = self.number(1.0, at)
            return [(low, b("subtract", one, share)), (b("add", low, one), share)]
        found: list[tuple[Node, Node | None]] = []
        for j in range(-1, 3):
            place = self.inside(b("add", low, self.number(float(j), at)))
            found.append((place, _keys(b, b("abs", b("subtract", share, b.like(float(j), share))))))
        return found


def _keys(b: Builder, d: Node) -> Node:
    """Keys's cubic kernel of a distance in [0, 2]."""

    def number(value: float) -> Node:
        return b.like(value, d)

    near = b("subtract", b("multiply", number(CUBIC + 2), d), number(CUBIC + 3))
    near = b("add", b("multiply", near, b("square", d)), number(1.0))
    far = b("add", b("multiply", b("subtract", d, number(5.0)), d), number(8.0))
    far = b("subtract", b("multiply", far, d), number(4.0))
    return b("where", b("less-equal", d, number(1.0)), near, b("multiply", far, number(CUBIC)))


@tensor_builtin("grid-sample", "(x grid &key (mode :linear) (padding :zeros) align-corners)")
def grid_sample(
    x: Value,
    grid: Value,
    *,
    mode: Value = LINEAR,
    padding: Value = ZEROS,
    align_corners: Value = NIL,
) -> Tensor:
    """x (b n... c) at grid in [-1, 1], whose last axis is (x y) or (x y z). F, (b . grid) + (c).

    Modes :nearest :linear :cubic, padding :zeros :border :reflection. (grid-sample x grid)"""
    name = "grid-sample"
    t, (node, at) = operands(name, (x, grid))
    n = spatial_of(name, node, x)
    kind = choice(name, "mode", mode, ("nearest", "linear", "cubic"))
    beyond = choice(name, "padding", padding, ("zeros", "border", "reflection"))
    if len(at.shape) < 2 or at.shape[-1] != n or at.shape[0] != node.shape[0]:
        raise problem(
            "E-SHAPE-ARGUMENT",
            f"{name} of {describe(x)} at {describe(grid)}",
            hint=f"grid is ({node.shape[0]} ... {n}): a place for each spatial axis, x first",
        )
    if kind == "cubic" and n > 2:
        raise problem("E-SHAPE-CONV", f"{name} :cubic of {n} spatial axes: it takes 1 or 2")
    lead = at.shape[:-1]
    parts = [reshaped(t, cut(t, at, len(lead), a, a + 1), lead) for a in reversed(range(n))]
    lines = [Line(t.builder, s, beyond, flag(align_corners)) for s in node.shape[1:-1]]
    return t.tensor(_sampled(t, node, lines, [line.taps(kind, g) for line, g in zip(lines, parts)]))


def _sampled(
    t: Tracer, node: Node, lines: list[Line], parts: list[list[tuple[Node, Node | None]]]
) -> Node:
    """The sum over all combinations of the axes' taps."""
    b, total = t.builder, None
    lead = parts[0][0][0].shape
    flat = reshaped(t, node, (node.shape[0], Type("f32", node.shape[1:-1]).size, node.shape[-1]))
    for chosen in itertools.product(*parts):
        place, here = b.constant(0, "i32", lead), b.constant(True, "bool", lead)
        weight: Node | None = None
        for line, (at, share) in zip(lines, chosen):
            index, inside = line.index(at)
            place = b("add", b("multiply", place, b.like(line.size, place)), index)
            here = b("logical-and", here, inside)
            if share is not None:
                weight = share if weight is None else b("multiply", weight, share)
        place = b("where", here, place, b.like(-1, place))
        rows = reshaped(t, place, (lead[0], Type("i32", lead[1:]).size))
        found = b("gather", flat, rows, axis=1, out="drop", **{"batch-axes": 1})
        found = reshaped(t, found, (*lead, node.shape[-1]))
        if weight is not None:
            found = b("multiply", found, reshaped(t, weight, (*lead, 1)))
        total = found if total is None else b("add", total, found)
    assert total is not None
    return total
