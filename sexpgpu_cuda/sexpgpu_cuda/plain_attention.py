"""Attention by kernels of ours, both passes: a warp has a row, its lanes the elements of a head.

Forward a row of queries sees its keys in order and keeps what it has so far scaled by the greatest
score (Milakov, Gimelshein 2018). Backward a row of queries gives its own cotangent, a row of keys
those of keys and values: each is summed by one warp in order, so no bit depends on the grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from sexpgpu_core.kernels import elements
from sexpgpu_core.kernels.target import Register, memory_kind, register_kind

from .frame import Frame, Side
from .target import WARP, PtxTarget
from .written import THREADS, Written, launch

Given = Mapping[str, Register]
Row = list[Register]
"""Elements of a head, which lie side by side (views.suits_attention): each WARPth, beginning at the
lane's."""
NUMBERS = ("items", "heads", "few", "queries", "keys", "deep", "wide", "window")


class Head(NamedTuple):
    """Elements a lane; `full`: every lane has them all."""

    elements: int
    full: bool


class Form(NamedTuple):
    """`deep`, `wide`: heads of queries and of values; `window`: whether there is one."""

    dtype: str
    scale: float
    causal: bool
    window: bool
    deep: Head
    wide: Head

    @property
    def wider(self) -> str:
        """The kind of sums."""
        return register_kind(self.dtype)


class Warp:
    """One row's work being printed. `row`: its place in the order (batch, head, place)."""

    def __init__(self, t: PtxTarget, form: Form, r: Given) -> None:
        self.t, self.form, self.r = t, form, r
        thread = t.thread(THREADS)
        self.lane = t.binary("urem", thread, self.i32(WARP))
        self.row = t.binary("udiv", thread, self.i32(WARP))
        t.branch(t.compare("slt", self.row, r["items"]), "work", "done")
        t.label("work")

    def i32(self, number: int) -> Register:
        return self.t.constant("i32", number)

    def zeros(self, count: int) -> Row:
        return [self.t.constant(self.form.wider, 0)] * count

    # Memory
    def place(self, name: str, *at: Register) -> Register:
        found = self.i32(0)
        for axis, index in enumerate(at):
            step = self.t.binary("mul", index, self.r[f"{name}_{axis}"])
            found = self.t.binary("add", found, step)
        return found

    def _each(self, size: str) -> list[tuple[Register, Register | None]]:
        """The lane's elements of a head of that size: where, and whether there is such a one (None:
        there is)."""
        of, found = getattr(self.form, size), []
        for k in range(of.elements):
            at = self.t.binary("add", self.lane, self.i32(k * WARP))
            there = None if of.full else self.t.compare("slt", at, self.r[size])
            found.append((at, there))
        return found

    def load(self, name: str, size: str, batch: Register, place: Register, head: Register) -> Row:
        t, dtype, found = self.t, self.form.dtype, []
        start = self.place(name, batch, place, head)
        for at, there in self._each(size):
            near = at if there is None else t.select(there, at, self.i32(0))
            address = t.address(self.r[name], t.binary("add", start, near), memory_kind(dtype))
            value = elements.load(t, address, dtype, 1)
            found.append(value if there is None else t.select(there, value, t.like(value, 0)))
        return found

    def store(
        self, name: str, size: str, batch: Register, place: Register, head: Register, row: Row
    ) -> None:
        t, dtype = self.t, self.form.dtype
        start = self.place(name, batch, place, head)
        for (at, there), value in zip(self._each(size), row):
            yes, after = t.label_name(), t.label_name()
            t.jump(yes) if there is None else t.branch(there, yes, after)
            t.label(yes)
            stored = elements.to_memory(t, dtype, elements.rounded(t, dtype, value))
            place = t.address(self.r[name], t.binary("add", start, at), memory_kind(dtype))
            t.store(stored, place)
            t.jump(after)
            t.label(after)

    def kept(self, batch: Register, head: Register, place: Register) -> Register:
        return self.t.address(self.r["kept"], self.place("kept", batch, head, place), self.wider)

    # Arithmetic
    @property
    def wider(self) -> str:
        return self.form.wider

    def apply(self, operation: str, *given: Register) -> Register:
        return elements.element(self.t, operation, self.wider, self.wider, list(given))

    def times(self, row: Row, by: Register) -> Row:
        return [self.t.binary("fmul", x, by) for x in row]

    def added(self, to: Row, row: Row, by: Register) -> Row:
        return [self.t.fma(by, x, s) for s, x in zip(to, row)]

    def dot(self, x: Row, y: Row) -> Register:
        """Over the warp; every lane has the same bits."""
        found = self.t.constant(self.wider, 0)
        for a, b in zip(x, y):
            found = self.t.fma(a, b, found)
        for mask in (16, 8, 4, 2, 1):
            found = self.t.binary("fadd", found, self.t.across(found, mask))
        return found

    def scale(self) -> Register:
        return self.t.constant(self.wider, self.form.scale)

    def score(self, q: Row, k: Row) -> Register:
        return self.t.binary("fmul", self.dot(q, k), self.scale())

    def rounded(self, x: Register) -> Register:
        """As it is when a product takes it in 16 bits."""
        return elements.rounded(self.t, self.form.dtype, x)

    # What is seen
    def keys(self, query: Register) -> tuple[Register, Register]:
        """The first key of a query, and how many."""
        stop = self.r["keys"]
        if self.form.causal:
            stop = self._lesser(stop, self.t.binary("add", query, self.i32(1)))
        elif self.form.window:
            stop = self._ahead(query, stop)
        return self._run(self._back(query), stop)

    def queries(self, key: Register) -> tuple[Register, Register]:
        """The first query of a key, and how many."""
        stop = self.r["queries"]
        if self.form.window:
            stop = self._ahead(key, stop)
        return self._run(key if self.form.causal else self._back(key), stop)

    def _back(self, at: Register) -> Register:
        """The first place of a window."""
        t, zero = self.t, self.i32(0)
        if not self.form.window:
            return zero
        first = t.binary("sub", t.binary("add", at, self.i32(1)), self.r["window"])
        return t.select(t.compare("slt", first, zero), zero, first)

    def _ahead(self, at: Register, size: Register) -> Register:
        return self._lesser(size, self.t.binary("add", at, self.r["window"]))

    def _run(self, start: Register, stop: Register) -> tuple[Register, Register]:
        return start, self.t.binary("sub", stop, start)

    def _lesser(self, a: Register, b: Register) -> Register:
        return self.t.select(self.t.compare("slt", a, b), a, b)


def _query(w: Warp) -> tuple[Register, Register, Register, Register]:
    """Batch, head, the keys' head and place of a row of queries."""
    above, place = w.t.parted(w.row, w.r["queries"])
    batch, head = w.t.parted(above, w.r["heads"])
    share = w.t.binary("udiv", w.r["heads"], w.r["few"])
    return batch, head, w.t.binary("udiv", head, share), place


def _forward(t: PtxTarget, form: Form, r: Given) -> None:
    w = Warp(t, form, r)
    batch, head, own, query = _query(w)
    q = w.load("q", "deep", batch, query, head)
    first, count = w.keys(query)
    lowest = t.constant(form.wider, -math.inf)

    def key(number: Register, most: Register, total: Register, *sums: Register) -> Row:
        at = t.binary("add", first, number)
        score = w.score(q, w.load("k", "deep", batch, at, own))
        above = t.select(t.compare("ogt", score, most), score, most)
        share = w.apply("exp", t.binary("fsub", score, above))
        shrunk = w.apply("exp", t.binary("fsub", most, above))
        total = t.fma(total, shrunk, share)
        v = w.load("v", "wide", batch, at, own)
        return [above, total, *w.added(w.times(list(sums), shrunk), v, share)]

    zeros = w.zeros(form.wide.elements + 1)
    most, total, *sums = t.repeat(count, [lowest, *zeros], key)
    out = [t.binary("fdiv", x, total) for x in sums]
    w.store("out", "wide", batch, query, head, out)
    kept = t.binary("fadd", most, w.apply("log", total))
    t.branch(t.compare("eq", w.lane, w.i32(0)), "one", "done")
    t.label("one")
    t.store(kept, w.kept(batch, head, query))


def _slope(w: Warp, rows: Mapping[str, Row], kept: Register) -> tuple[Register, Register]:
    """A share and its score's cotangent, as products take them: g v - g out is one sum."""
    t = w.t
    share = w.apply("exp", t.binary("fsub", w.score(rows["q"], rows["k"]), kept))
    apart = [t.binary("fsub", v, out) for v, out in zip(rows["v"], rows["out"])]
    own = w.dot(rows["g"], apart)
    return w.rounded(share), w.rounded(t.binary("fmul", share, own))


def _to_queries(t: PtxTarget, form: Form, r: Given) -> None:
    w = Warp(t, form, r)
    batch, head, own, query = _query(w)
    sizes = {"q": "deep", "g": "wide", "out": "wide"}
    mine = {name: w.load(name, size, batch, query, head) for name, size in sizes.items()}
    kept = t.load(w.kept(batch, head, query), form.wider)
    first, count = w.keys(query)

    def key(number: Register, *sums: Register) -> Row:
        at = t.binary("add", first, number)
        k, v = w.load("k", "deep", batch, at, own), w.load("v", "wide", batch, at, own)
        _, slope = _slope(w, {**mine, "k": k, "v": v}, kept)
        return w.added(list(sums), k, slope)

    sums = t.repeat(count, w.zeros(form.deep.elements), key)
    w.store("dq", "deep", batch, query, head, w.times(sums, w.scale()))


def _to_keys(t: PtxTarget, form: Form, r: Given) -> None:
    w = Warp(t, form, r)
    above, place = w.t.parted(w.row, r["keys"])
    batch, own = w.t.parted(above, r["few"])
    group = t.binary("udiv", r["heads"], r["few"])
    mine = {"k": w.load("k", "deep", batch, place, own)}
    mine["v"] = w.load("v", "wide", batch, place, own)
    first, count = w.queries(place)
    deep = form.deep.elements

    def head(number: Register, *sums: Register) -> Row:
        this = t.binary("add", t.binary("mul", own, group), number)

        def query(k: Register, *before: Register) -> Row:
            at = t.binary("add", first, k)
            q, g = w.load("q", "deep", batch, at, this), w.load("g", "wide", batch, at, this)
            kept = t.load(w.kept(batch, this, at), form.wider)
            rows = {**mine, "q": q, "g": g, "out": w.load("out", "wide", batch, at, this)}
            share, slope = _slope(w, rows, kept)
            dk, dv = list(before[:deep]), list(before[deep:])
            return [*w.added(dk, q, slope), *w.added(dv, g, share)]

        return t.repeat(count, list(sums), query)

    sums = t.repeat(group, w.zeros(deep + form.wide.elements), head)
    w.store("dk", "deep", batch, place, own, w.times(sums[:deep], w.scale()))
    w.store("dv", "wide", batch, place, own, sums[deep:])


Body = Callable[[PtxTarget, Form, Given], None]
KERNELS: Mapping[str, tuple[tuple[Body, str, tuple[str, ...]], ...]] = {
    "attention-forward": ((_forward, "q", ("q", "k", "v", "out", "kept")),),
    "attention-backward": (
        (_to_queries, "q", ("g", "q", "k", "v", "out", "kept", "dq")),
        (_to_keys, "k", ("g", "q", "k", "v", "out", "kept", "dk", "dv")),
    ),
}
"""What prints it, whose rows it has, what it takes, in order; results come last."""
OPERANDS = {"attention-forward": "q k v", "attention-backward": "g q k v out kept"}
RESULTS = {"attention-forward": "out kept", "attention-backward": "dq dk dv"}


def plain_attention(frame: Frame) -> None:
    """Launches of either pass."""
    call, operation = frame.call, frame.call.node.operation
    given, made = OPERANDS[operation].split(), RESULTS[operation].split()
    views = dict(zip((*given, *made), (*call.inputs, *call.outputs)))
    sides = {name: frame.side(view) for name, view in views.items()}
    q, k, v = (views[name].shape for name in "qkv")
    form = _form(frame, q[3], v[3])
    for body, rows, names in KERNELS[operation]:
        batch, places, heads, _ = views[rows].shape
        numbers = [batch * places * heads, q[2], k[2], q[1], k[1], q[3], v[3]]
        numbers.append(frame.attribute("window", 0))
        if numbers[0]:
            _launch(frame, body, form, names, sides, numbers, made)


def _form(frame: Frame, deep: int, wide: int) -> Form:
    return Form(
        frame.call.inputs[0].dtype,
        float(frame.attribute("scale") or 1.0 / math.sqrt(max(deep, 1))),
        bool(frame.attribute("causal")),
        bool(frame.attribute("window")),
        Head(-(-deep // WARP), deep % WARP == 0),
        Head(-(-wide // WARP), wide % WARP == 0),
    )


def _launch(
    frame: Frame, body: Body, form: Form, names: tuple[str, ...], sides: Mapping[str, Side],
    numbers: list[int], made: list[str],
) -> None:  # fmt: skip
    words = [f"{n}_{axis}" for n in names for axis in range(3)]
    steps = [step for n in names for step in sides[n].strides[:3]]
    kernel = Written(body, names, (*NUMBERS, *words))
    pairs = tuple((sides[n], n in made) for n in names)
    blocks = -(-numbers[0] * WARP // THREADS)
    launch(frame, kernel, form, pairs, (*numbers, *steps), blocks=blocks)
