"""Graphs grown by choices: every family of operations, mixed dtypes, up to 30 nodes in a row.

Values stay small, so that errors stay small: what grows fast is drawn in by `tanh` or a factor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from sexpgpu_core.autodiff import differentiate
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir import Builder, Graph, Value
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.types import FLOATS, INTEGERS, broadcast

Draw = Callable[[Any], Any]
Shape = tuple[int, ...]
DEPTH = 30
"""Nodes grown, each of which may stand on the one before."""
LARGEST = 6000
"""Elements of a value, at most."""
SIZES = (1, 2, 3, 5, 7, 8, 17, 33)
KINDS = ("f32", "f32", "f32", "f32", "f64", "bf16", "f16")


class Grown:
    """A builder and the values so far. A maker of a family gives a value, or None if none fits."""

    def __init__(self, draw: Draw, loops: bool) -> None:
        self.draw = draw
        self.loops = loops
        self.b = Builder(OPERATIONS)
        self.values: list[Value] = []
        sizes = draw(st.lists(st.sampled_from(SIZES), min_size=1, max_size=4))
        for i in range(draw(st.integers(1, 3))):
            shape = tuple(1 if self.chance(4) else n for n in sizes)
            self.values.append(self.b.input(f"x{i}", "batch", self.one(KINDS), shape))
        dtype = self.one(INTEGERS)
        self.values.append(self.b.input("n", "batch", dtype, tuple(sizes)))
        self.step = self.b.input("step", "scalar", "i32", ())

    # ---- choices
    def one(self, of: Any) -> Any:
        return self.draw(st.sampled_from(list(of)))

    def chance(self, n: int) -> bool:
        """One in n."""
        return bool(self.draw(st.integers(0, n - 1)) == 0)

    def number(self, low: int, high: int) -> int:
        return int(self.draw(st.integers(low, high)))

    def pick(self, suits: Callable[[Value], bool] = lambda v: True) -> Value | None:
        """A value, more often one of the last, so that graphs grow deep."""
        found = [v for v in self.values if suits(v)]
        if not found:
            return None
        return found[-1] if self.chance(2) else self.one(found[-12:])

    def floats(self, rank: int = 0) -> Value | None:
        return self.pick(lambda v: v.dtype in FLOATS and len(v.shape) >= rank)

    def integers(self) -> Value | None:
        return self.pick(lambda v: v.dtype in INTEGERS)

    def axis(self, x: Value) -> int:
        return self.number(0, len(x.shape) - 1)

    def beside(self, x: Value) -> Value | None:
        """A value of x's dtype whose shape broadcasts with it."""
        return self.pick(lambda v: v.dtype == x.dtype and broadcast(x.shape, v.shape) is not None)

    # ---- values that are safe
    def like(self, value: float, x: Value) -> Value:
        return self.b.like(value, x)

    def small(self, x: Value) -> Value:
        """A float drawn in to (-1, 1)."""
        return self.b("tanh", x)

    def positive(self, x: Value) -> Value:
        """In (0.2, 1.2)."""
        return self.b("add", self.b("sigmoid", x), self.like(0.2, x))

    def index(self, x: Value, n: int) -> Value:
        """Integers of any dtype in [0, n), n below 128."""
        count = self.like(n, x)
        return self.b("mod", x, count)

    def weights(self, shape: Shape, x: Value) -> Value:
        """An operand of a shape, in x's dtype, that is not x."""
        place = self.b("iota", dtype="f32", shape=shape, axis=len(shape) - 1) if shape else None
        if place is None:
            return self.like(0.75, x)
        wave = self.b("sin", self.b("add", place, self.b.constant(0.3, "f32")))
        return self.b("cast", wave, dtype=x.dtype)

    # ---- growth
    def graph(self) -> Graph:
        from families import FAMILIES
        from loop_families import LOOPS

        families = [name for name in FAMILIES if self.loops or name not in LOOPS]
        for _ in range(self.number(4, DEPTH)):
            made = FAMILIES[self.one(families)](self)
            for value in made if made.__class__ is tuple else (made,):
                if value is not None and value.type.size <= LARGEST:
                    self.values.append(value)
        if self.chance(3):
            self.values += self.gradients()
        for i, value in enumerate(self.results()):
            self.b.graph.results[f"r{i}"] = value
        return self.b.graph

    def gradients(self) -> list[Value]:
        """Of the last float value, for the inputs that it depends on."""
        last = self.floats()
        if last is None:
            return []
        wrt = {
            str(i): v
            for i, v in enumerate(self.values)
            if v.node.operation == "input" and v.dtype in FLOATS
        }
        try:
            found = differentiate(self.b.graph, OPERATIONS, last, wrt)
        except Problem as none:
            if none.diagnostic.code != "E-GRADIENT":
                raise
            return []
        return [g for g in found.values() if g is not None]

    def results(self) -> list[Value]:
        last = self.values[-4:]
        return [v for v in (*last, self.one(self.values)) if v.node.operation != "input"] or last


@st.composite
def graphs(draw: Draw, loops: bool = True) -> Graph:
    """A graph of every family, or of all but the loops."""
    return Grown(draw, loops).graph()
