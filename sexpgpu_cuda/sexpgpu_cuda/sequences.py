"""Along one axis in order: running sums, places in a sorted line. A thread has one result."""

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


def _running(t: PtxTarget, form: Running, r: Given) -> None:
    """A sequence of x (O N I), one after another; 16-bit floats are added in f32."""
    mine, dtype = items(t, r["items"]), form.dtype
    wide, kind = WIDE.get(dtype, dtype), memory_kind(dtype)
    row = t.binary("mul", t.binary("udiv", mine, r["inner"]), r["size"])
    first = t.binary("mul", row, r["inner"])
    first = t.binary("add", first, t.binary("urem", mine, r["inner"]))
    end = t.binary("sub", r["size"], t.constant("i32", 1))

    def element(k: Register, before: Register) -> list[Register]:
        place = t.binary("sub", end, k) if form.last else k
        at = t.binary("add", first, t.binary("mul", place, r["inner"]))
        value = elements.load(t, t.address(r["x"], at, kind), dtype, 1)
        after = elements.element(t, COMBINE[form.fold], wide, wide, [before, value])
        given = elements.rounded(t, dtype, before if form.without else after)
        t.store(elements.to_memory(t, dtype, given), t.address(r["result"], at, kind))
        return [after]

    start = t.constant(register_kind(dtype), identity(form.fold, dtype))
    t.repeat(r["size"], [start], element)


RUNNING = Written(_running, ("x", "result"), ("items", "size", "inner"))


def running(frame: Frame, fold: str) -> None:
    view = frame.call.inputs[0]
    outer, size, inner = around(view.shape, frame.attribute("axis"))
    if not outer * inner * size:
        return
    flags = [bool(frame.attribute(name)) for name in ("reverse", "exclusive")]
    sides = ((frame.dense(0), False), (frame.output(0), True))
    form = Running(fold, view.dtype, *flags)
    launch(frame, RUNNING, form, sides, (outer * inner, size, inner))


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
