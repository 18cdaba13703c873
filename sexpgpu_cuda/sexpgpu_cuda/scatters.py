"""Scatters: additions in ascending position, by threads that never meet at an element (45.13).

Where there are many positions they are sorted by their index, stable, and a thread has a column of
the segment of one row; else a thread has a column and walks all positions. The bits are the same.
An index outside is reported, or writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from sexpgpu_core.kernels import elements
from sexpgpu_core.kernels.target import Register, memory_kind

from .frame import WIDE, Frame, Side
from .indexing import Sizes, around, reports, sizes
from .moves import copied
from .sorting import ordered
from .target import PtxTarget
from .written import Written, items, launch

SORTED = 32
"""Positions from which on they are sorted."""


class Scatter(NamedTuple):
    """What the code of a scatter depends on. `change`: add set maximum minimum;
    `positions`: dtype of the indices."""

    change: str
    dtype: str
    positions: str
    told: bool


Given = Mapping[str, Register]


def _index(t: PtxTarget, form: Scatter, r: Given, at: Register) -> Register:
    """An index as i64."""
    kind = memory_kind(form.positions)
    return elements.resize(t, t.load(t.address(r["index"], at, kind), kind), form.positions, "i64")


def _inside(t: PtxTarget, form: Scatter, r: Given, index: Register, row: Register) -> None:
    """Goes on at the label `inside`, or tells the row and goes on at `outside`."""
    good = t.compare("ult", index, t.convert("sext", r["size"], "i64"))
    if not form.told:
        return t.branch(good, "inside", "outside")
    t.branch(good, "inside", "told")
    t.label("told")
    t.least(r["error"], t.convert("zext", row, "i64"))
    return t.jump("outside")


def _changed(t: PtxTarget, form: Scatter, r: Given, before: Register, y: Register) -> Register:
    """An element with the one of y at a place."""
    value = elements.load(t, t.address(r["y"], y, memory_kind(form.dtype)), form.dtype, 1)
    if form.change == "set":
        return value
    return elements.element(t, form.change, form.dtype, form.dtype, [before, value])


def _target(t: PtxTarget, form: Scatter, r: Given, o: Register, row: Register) -> Register:
    """The address of the first element of a row of the result (O N I)."""
    at = t.binary("add", t.binary("mul", o, r["size"]), row)
    return t.address(r["result"], t.binary("mul", at, r["inner"]), memory_kind(form.dtype))


def _walk(t: PtxTarget, form: Scatter, r: Given) -> None:
    """A column of the result's rows: y (O P I), index by its steps."""
    mine, kind = items(t, r["items"]), memory_kind(form.dtype)
    o, c = t.binary("udiv", mine, r["inner"]), t.binary("urem", mine, r["inner"])
    at = t.binary("mul", t.binary("udiv", o, r["outer"]), r["lead_step"])
    at = t.binary("add", at, t.binary("mul", o, r["row_step"]))
    at = t.binary("add", at, t.binary("mul", c, r["column"]))
    first = t.binary("mul", o, r["places"])

    def position(p: Register) -> list[Register]:
        index = _index(t, form, r, t.binary("add", at, t.binary("mul", p, r["step"])))
        row = t.binary("add", first, p)
        _inside(t, form, r, index, row)
        t.label("inside")
        place = t.address(_target(t, form, r, o, t.convert("trunc", index, "i32")), c, kind)
        before = elements.load(t, place, form.dtype, 1)
        y = t.binary("add", t.binary("mul", row, r["inner"]), c)
        t.store(elements.to_memory(t, form.dtype, _changed(t, form, r, before, y)), place)
        t.jump("outside")
        t.label("outside")
        return []

    t.repeat(r["places"], [], position)


WALK = Written(
    _walk,
    ("y", "index", "result", "error"),
    ("items", "outer", "places", "size", "inner", "lead_step", "row_step", "step", "column"),
)


def _segments(t: PtxTarget, form: Scatter, r: Given) -> None:
    """A column at a place in the order of indices (L P): that which begins a row's segment has all
    of it."""
    mine, kind, one = items(t, r["items"]), memory_kind(form.dtype), t.constant("i32", 1)
    c, place = t.binary("urem", mine, r["inner"]), t.binary("udiv", mine, r["inner"])
    o, p = t.binary("udiv", place, r["places"]), t.binary("urem", place, r["places"])
    line = t.binary("mul", t.binary("udiv", o, r["outer"]), r["places"])
    first = t.binary("mul", o, r["places"])

    def position(q: Register) -> Register:
        return t.load(t.address(r["order"], t.binary("add", line, q), "i32"), "i32")

    def index_of(q: Register) -> Register:
        return _index(t, form, r, t.binary("add", line, position(q)))

    index = index_of(p)
    _inside(t, form, r, index, t.binary("add", first, position(p)))
    t.label("inside")
    begins = t.compare("eq", p, t.like(p, 0))
    ahead = index_of(t.select(begins, p, t.binary("sub", p, one)))
    begins = t.binary("or", begins, t.compare("ne", ahead, index))
    t.branch(begins, "segment", "outside")
    t.label("segment")
    place = t.address(_target(t, form, r, o, t.convert("trunc", index, "i32")), c, kind)
    start = elements.load(t, place, form.dtype, 1)

    def goes_on(q: Register, value: Register) -> Register:
        there = t.compare("slt", q, r["places"])
        same = t.compare("eq", index_of(t.select(there, q, p)), index)
        return t.binary("and", there, same)

    def further(q: Register, value: Register) -> list[Register]:
        row = t.binary("add", first, position(q))
        y = t.binary("add", t.binary("mul", row, r["inner"]), c)
        return [t.binary("add", q, one), _changed(t, form, r, value, y)]

    _, value = t.walk([p, start], goes_on, further)
    t.store(elements.to_memory(t, form.dtype, value), place)
    t.jump("outside")
    t.label("outside")


SEGMENTS = Written(
    _segments,
    ("y", "index", "order", "result", "error"),
    ("items", "outer", "places", "size", "inner"),
)


def scatter(frame: Frame, change: str, along: bool = False) -> None:
    """The first operand, changed at each position in ascending order."""
    if along:
        axis = frame.attribute("axis")
        outer, size, inner = around(frame.call.inputs[0].shape, axis)
        found = Sizes(1, outer, frame.call.inputs[1].shape[axis], size, inner)
    else:
        found = sizes(frame)
    dtype = frame.call.inputs[0].dtype
    wide = WIDE.get(dtype, dtype) if change == "add" else dtype
    index, y, out = frame.dense(1), frame.dense(2, wide), frame.output(0)
    result = out if wide == dtype else frame.room(wide, frame.shape(0))
    copied(frame, frame.input(0), result, frame.shape(0))
    form = Scatter(change, wide, frame.call.inputs[1].dtype, reports(frame))
    columns = found.lead * found.outer * found.inner
    if columns and found.places >= SORTED and not along:
        _sorted(frame, form, found, (y, index, result))
    elif columns and found.places:
        steps = (found.places, 0, 1, 0)
        if along:
            steps = (0, found.places * found.inner, found.inner, 1)
        sides = ((y, False), (index, False), (result, True))
        launch(frame, WALK, form, sides, (columns, *found[1:], *steps))
    if result is not out:
        copied(frame, result, out, frame.shape(0))


def _sorted(frame: Frame, form: Scatter, found: Sizes, sides: tuple[Side, Side, Side]) -> None:
    y, index, result = sides
    order = frame.room("i32", (found.lead, found.places))
    ordered(frame, index, (found.lead, found.places, 1), order, found.places)
    given = ((y, False), (index, False), (order, False), (result, True))
    count = found.lead * found.outer * found.places * found.inner
    launch(frame, SEGMENTS, form, given, (count, *found[1:]))


ROWS: dict[str, Callable[[Frame], None]] = {
    "scatter-add": partial(scatter, change="add"),
    "scatter-set": partial(scatter, change="set"),
    "scatter-max": partial(scatter, change="maximum"),
    "scatter-min": partial(scatter, change="minimum"),
    "put-along": partial(scatter, change="set", along=True),
    "add-along": partial(scatter, change="add", along=True),
}
