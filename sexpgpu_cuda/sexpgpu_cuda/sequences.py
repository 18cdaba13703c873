"""Along one axis in order: running sums, places in a sorted line. A thread has one result, or a
part of a long sequence."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from sexpgpu_core.ir.types import is_float
from sexpgpu_core.kernels import elements
from sexpgpu_core.kernels.rows import COMBINE, identity
from sexpgpu_core.kernels.target import Register, memory_kind, register_kind

from .frame import WIDE, Frame
from .indexing import around
from .layout import BUSY, WARP
from .moves import filled
from .target import PtxTarget
from .written import Written, items, launch

Given = Mapping[str, Register]


class Running(NamedTuple):
    """`fold`: sum product max min. `last`: from the end on; `without`: the own element is left
    out."""

    fold: str
    dtype: str
    last: bool
    without: bool


class Sequence:
    """One of x (O N I) as it is walked; 16-bit floats are added in f32."""

    def __init__(self, t: PtxTarget, form: Running, r: Given, mine: Register) -> None:
        self.t, self.form, self.r = t, form, r
        self.kind, self.wide = memory_kind(form.dtype), WIDE.get(form.dtype, form.dtype)
        row = t.binary("mul", t.binary("udiv", mine, r["inner"]), r["size"])
        first = t.binary("mul", row, r["inner"])
        self.first = t.binary("add", first, t.binary("urem", mine, r["inner"]))
        self.end = t.binary("sub", r["size"], t.constant("i32", 1))
        self.start = t.constant(register_kind(form.dtype), identity(form.fold, form.dtype))

    def place(self, k: Register) -> Register:
        """Of element k in the order of the sum."""
        t = self.t
        at = t.binary("sub", self.end, k) if self.form.last else k
        return t.binary("add", self.first, t.binary("mul", at, self.r["inner"]))

    def with_element(self, before: Register, at: Register) -> Register:
        t = self.t
        value = elements.load(t, t.address(self.r["x"], at, self.kind), self.form.dtype, 1)
        return self.joined(before, value)

    def joined(self, before: Register, value: Register) -> Register:
        fold = COMBINE[self.form.fold]
        return elements.element(self.t, fold, self.wide, self.wide, [before, value])

    def walked(self, first: Register, count: Register, start: Register, stored: bool) -> Register:
        """`count` elements from `first` on are added; the sums are stored."""
        t, dtype = self.t, self.form.dtype

        def element(k: Register, before: Register) -> list[Register]:
            at = self.place(t.binary("add", first, k))
            after = self.with_element(before, at)
            if stored:
                given = elements.rounded(t, dtype, before if self.form.without else after)
                place = t.address(self.r["result"], at, self.kind)
                t.store(elements.to_memory(t, dtype, given), place)
            return [after]

        return t.repeat(count, [start], element)[0]


def _running(t: PtxTarget, form: Running, r: Given) -> None:
    """A thread has a sequence."""
    of = Sequence(t, form, r, items(t, r["items"]))
    of.walked(t.constant("i32", 0), r["size"], of.start, True)


def _parted(t: PtxTarget, form: Running, r: Given) -> None:
    """A block has a sequence, a thread a part: parts are summed, each begins with the sum of those
    before it, in order."""
    of = Sequence(t, form, r, t.special("ctaid.x"))
    lane, part, zero = t.special("tid.x"), r["part"], t.constant("i32", 0)
    first = t.binary("mul", lane, part)
    left = t.binary("sub", r["size"], first)
    count = t.select(t.compare("slt", left, part), left, part)
    count = t.select(t.compare("slt", count, zero), zero, count)
    t.put(of.walked(first, count, of.start, False), t.shared(of.start.kind, lane))
    t.barrier()

    def add(k: Register, before: Register) -> list[Register]:
        return [of.joined(before, t.take(t.shared(of.start.kind, k), of.start.kind))]

    of.walked(first, count, t.repeat(lane, [of.start], add)[0], True)


RUNNING = Written(_running, ("x", "result"), ("items", "size", "inner"))
PARTED = Written(_parted, ("x", "result"), ("items", "size", "inner", "part"))
LONG, PART, THREADS = 64, 8, 256
"""Elements from which on a sequence is parted; of a part at least; threads at most."""


def running(frame: Frame, fold: str) -> None:
    view = frame.call.inputs[0]
    outer, size, inner = around(view.shape, frame.attribute("axis"))
    if not outer * inner * size:
        return
    flags = [bool(frame.attribute(name)) for name in ("reverse", "exclusive")]
    sides = ((frame.dense(0), False), (frame.output(0), True))
    form = Running(fold, view.dtype, *flags)
    count = outer * inner
    if size < LONG or count >= BUSY:
        launch(frame, RUNNING, form, sides, (count, size, inner))
        return
    threads = min(WARP * -(-size // (WARP * PART)), THREADS)
    part = -(-size // threads)
    numbers = (count, size, inner, part)
    launch(frame, PARTED, form, sides, numbers, blocks=count, threads=threads, room=8 * threads)


class Search(NamedTuple):
    """`right`: behind those that are equal."""

    dtype: str
    right: bool


def before(t: PtxTarget, dtype: str, a: Register, b: Register) -> Register:
    """Whether a stands strictly before b; NaN stands last."""
    less = elements.element(t, "less", dtype, "bool", [a, b])
    if not is_float(dtype):
        return less
    return t.select(t.compare("uno", b, b), t.compare("oeq", a, a), less)


def _search(t: PtxTarget, form: Search, r: Given) -> None:
    """An element of x (R M), halving its row of sorted (R N) as often as it takes."""
    mine, kind = items(t, r["items"]), memory_kind(form.dtype)
    zero, one = t.constant("i32", 0), t.constant("i32", 1)
    row = t.binary("mul", t.binary("udiv", mine, r["last"]), r["row"])
    value = elements.load(t, t.address(r["x"], mine, kind), form.dtype, 1)

    def halve(k: Register, low: Register, high: Register) -> list[Register]:
        middle = t.binary("lshr", t.binary("add", low, high), one)
        open_ = t.compare("slt", low, high)
        at = t.binary("add", row, t.select(open_, middle, zero))
        edge = elements.load(t, t.address(r["sorted"], at, kind), form.dtype, 1)
        if form.right:
            left = before(t, form.dtype, value, edge)
        else:
            behind = before(t, form.dtype, edge, value)
            left = t.binary("xor", behind, t.like(behind, 1))
        up = t.select(left, low, t.binary("add", middle, one))
        down = t.select(left, middle, high)
        return [t.select(open_, up, low), t.select(open_, down, high)]

    low, _ = t.repeat(r["halvings"], [zero, r["size"]], halve)
    t.store(low, t.address(r["result"], mine, "i32"))


SEARCH = Written(_search, ("sorted", "x", "result"), ("items", "size", "last", "row", "halvings"))


def search(frame: Frame) -> None:
    edges, x = frame.call.inputs
    size, count, out = edges.shape[-1], math.prod(x.shape), frame.output(0)
    if not size or not count:
        return filled(frame, out, count, 0) if count else None
    last = x.shape[-1] if x.shape else 1
    row = 0 if len(edges.shape) == 1 else size
    form = Search(x.dtype, bool(frame.attribute("right")))
    sides = ((frame.dense(0), False), (frame.dense(1), False), (out, True))
    launch(frame, SEARCH, form, sides, (count, size, last, row, size.bit_length()))
    return None


ROWS: dict[str, Callable[[Frame], None]] = {
    "cumsum": partial(running, fold="sum"),
    "cumprod": partial(running, fold="product"),
    "cummax": partial(running, fold="max"),
    "cummin": partial(running, fold="min"),
    "searchsorted": search,
}
