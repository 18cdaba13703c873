"""gather and take-along as kernels with indexed accesses; scatters a column a thread.

A scatter's thread walks all positions in ascending order: sums are deterministic and no two
threads touch one element (45.13). An index outside is reported, or reads 0 and writes nothing.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from sexpgpu_core.kernels import elements
from sexpgpu_core.kernels.kernel import Access, Expr, Kernel, Operand, Store
from sexpgpu_core.kernels.target import Register, memory_kind

from .frame import WIDE, Frame, Side
from .kernels import emitter, launched
from .moves import copied
from .target import GLOBAL, PtxTarget
from .work import Applied, Launch, Unit

THREADS = 128


def around(shape: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    """Elements before an axis, on it, after it."""
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


class Sizes(NamedTuple):
    """Of a gather: batch axes, axes before the axis, positions, the axis, what is inside."""

    lead: int
    outer: int
    places: int
    size: int
    inner: int


def _sizes(frame: Frame) -> Sizes:
    x, index = frame.call.inputs[0].shape, frame.call.inputs[1].shape
    axis, batch = frame.attribute("axis"), frame.attribute("batch-axes", 0)
    outer, size, inner = around(x, axis)
    lead = math.prod(x[:batch])
    return Sizes(lead, outer // lead if lead else 0, math.prod(index[batch:]), size, inner)


def reports(frame: Frame) -> bool:
    return bool(frame.attribute("out", "error") == "error")


def read_kernel(dtype: str, index: str, size: int, inner: int, along: bool, told: bool) -> Kernel:
    """Operands x, index, result. `along`: an index an element, else one a row."""
    one = 1 if inner > 1 else 0
    x = [Expr("load", (), index, access=1), Expr("cast", (0,), "i64")]
    x.append(Expr("literal", (), "i64", literal=size))
    if told:
        x.append(Expr("guard", (1, 2), "i64"))
        x.append(Expr("load", (), dtype, access=0))
    else:
        x += [Expr("bitcast", (e,), "u64") for e in (1, 2)]
        x += [Expr("less", (3, 4), "bool"), Expr("literal", (), "i64", literal=0)]
        x.append(Expr("where", (5, 1, 6), "i64"))
        x += [Expr("load", (), dtype, access=0), Expr("literal", (), dtype, literal=0)]
        x.append(Expr("where", (5, 8, 9), dtype))
    guarded = 3 if told else 7
    return Kernel(
        inner,
        False,
        (Operand(dtype), Operand(index), Operand(dtype, True)),
        (
            Access(0, one, guarded),  # type: ignore[arg-type]
            Access(1, one if along else 0),  # type: ignore[arg-type]
            Access(2, one),  # type: ignore[arg-type]
        ),
        (),
        tuple(x),
        (Store(2, len(x) - 1),),
    )


def _read(
    frame: Frame, kernel: Kernel, outer: tuple[int, int, int], strides: list[tuple[int, int, int]],
    inner: int,
) -> None:  # fmt: skip
    sides = (frame.dense(0), frame.dense(1), frame.output(0))
    places = tuple(s.place(at, inner) for s, at in zip(sides, strides))
    spans = (sides[0].span(False), sides[1].span(False), sides[2].span(True))
    found = Applied(kernel, outer, places, spans)
    frame.records += launched(found, frame.places, frame.number, frame.commit)


def gather(frame: Frame) -> None:
    lead, outer, places, size, inner = _sizes(frame)
    x, index = frame.call.inputs[0].dtype, frame.call.inputs[1].dtype
    kernel = read_kernel(x, index, size, inner, False, reports(frame))
    row = size * inner
    strides = [
        (outer * row, row, 0),
        (places, 0, 1),
        (outer * places * inner, places * inner, inner),
    ]
    _read(frame, kernel, (lead, outer, places), strides, inner)


def take_along(frame: Frame) -> None:
    axis = frame.attribute("axis")
    outer, size, inner = around(frame.call.inputs[0].shape, axis)
    places = frame.call.inputs[1].shape[axis]
    x, index = frame.call.inputs[0].dtype, frame.call.inputs[1].dtype
    kernel = read_kernel(x, index, size, inner, True, reports(frame))
    strides = [(0, size * inner, 0), (0, places * inner, inner), (0, places * inner, inner)]
    _read(frame, kernel, (1, outer, places), strides, inner)


# Scatters
class Scatter(NamedTuple):
    """What the code of a scatter depends on. `change`: add set maximum minimum;
    `positions`: dtype of the indices."""

    change: str
    dtype: str
    positions: str
    told: bool


NAMES = ("items", "outer", "places", "size", "inner", "lead_step", "row_step", "step", "column")


def scatter_text(form: Scatter, name: str) -> str:
    """A thread a column of the result's rows: y (O P I), index by its steps, result (O N I)."""
    t = PtxTarget(1)
    r = {n: Register(f"%{n}", "i32") for n in NAMES}
    t.label("entry")
    base = t.binary("mul", t.special("ctaid.x"), t.constant("i32", THREADS))
    mine = t.binary("add", base, t.special("tid.x"))
    t.branch(t.compare("slt", mine, r["items"]), "work", "done")
    t.label("work")
    o = t.binary("udiv", mine, r["inner"])
    c = t.binary("urem", mine, r["inner"])
    lead = t.binary("udiv", o, r["outer"])
    at = t.binary("mul", lead, r["lead_step"])
    at = t.binary("add", at, t.binary("mul", o, r["row_step"]))
    at = t.binary("add", at, t.binary("mul", c, r["column"]))
    y = t.binary("mul", t.binary("mul", o, r["places"]), r["inner"])
    target = t.binary("mul", t.binary("mul", o, r["size"]), r["inner"])
    t.jump("head")
    t.label("head")
    p, line = t.phi(t.constant("i32", 0), "work")
    here = t.binary("add", at, t.binary("mul", p, r["step"]))
    given = t.binary("add", t.binary("add", y, t.binary("mul", p, r["inner"])), c)
    row = t.binary("add", t.binary("mul", o, r["places"]), p)
    _position(t, form, r, here, given, t.binary("add", target, c), row)
    following = t.binary("add", p, t.constant("i32", 1))
    t.close(line, following)
    t.branch(t.compare("slt", following, r["places"]), "head", "done")
    t.label("done")
    t.lines.append("  ret void")
    pointers = [f"{GLOBAL} %{n}" for n in ("y", "index", "result", "error")]
    return t.kernel(name, [*pointers, *(f"i32 %{n}" for n in NAMES)], THREADS, 0)


def _position(
    t: PtxTarget, form: Scatter, r: dict[str, Register], at: Register, y: Register,
    target: Register, row: Register,
) -> None:  # fmt: skip
    """One position: its element goes to the row that its index names."""
    kind = memory_kind(form.positions)
    raw = t.load(t.address(Register("%index", "ptr"), at, kind), kind)
    wide = elements.resize(t, raw, form.positions, "i64")
    inside = t.compare("ult", wide, t.convert("sext", r["size"], "i64"))
    t.branch(inside, "inside", "outside")
    t.label("outside")
    if form.told:
        t.least(Register("%error", "ptr"), t.convert("zext", row, "i64"))
    t.jump("next")
    t.label("inside")
    kind = memory_kind(form.dtype)
    there = t.binary("mul", t.convert("trunc", wide, "i32"), r["inner"])
    place = t.address(Register("%result", "ptr"), t.binary("add", target, there), kind)
    value = elements.load(t, t.address(Register("%y", "ptr"), y, kind), form.dtype, 1)
    if form.change != "set":
        before = elements.load(t, place, form.dtype, 1)
        value = elements.element(t, form.change, form.dtype, form.dtype, [before, value])
    t.store(elements.to_memory(t, form.dtype, value), place)
    t.jump("next")
    t.label("next")


def scatter_unit(form: Scatter) -> Unit:
    key = hashlib.sha256(f"{emitter()} {form!r}".encode()).hexdigest()[:32]
    name = f"s{key}"
    return Unit(key, name, lambda: scatter_text(form, name))


def scatter(frame: Frame, change: str, along: bool = False) -> None:
    """The first operand, changed at each position in ascending order."""
    if along:
        axis = frame.attribute("axis")
        outer, size, inner = around(frame.call.inputs[0].shape, axis)
        found = Sizes(1, outer, frame.call.inputs[1].shape[axis], size, inner)
    else:
        found = _sizes(frame)
    dtype = frame.call.inputs[0].dtype
    wide = WIDE.get(dtype, dtype) if change == "add" else dtype
    index, y, out = frame.dense(1), frame.dense(2, wide), frame.output(0)
    result = out if wide == dtype else frame.room(wide, frame.shape(0))
    copied(frame, frame.input(0), result, frame.shape(0))
    steps = (0, found.places * found.inner, found.inner, 1) if along else (found.places, 0, 1, 0)
    form = Scatter(change, wide, frame.call.inputs[1].dtype, reports(frame))
    _launch(frame, form, found, (y, index, result), steps)
    if result is not out:
        copied(frame, result, out, frame.shape(0))


def _launch(
    frame: Frame, form: Scatter, sizes: Sizes, sides: tuple[Side, Side, Side],
    steps: tuple[int, int, int, int],
) -> None:  # fmt: skip
    items = sizes.lead * sizes.outer * sizes.inner
    if not items or not sizes.places:
        return
    error = frame.places.error(frame.number)
    numbers = (items, max(sizes.outer, 1), sizes.places, sizes.size, sizes.inner, *steps)
    arguments = (*(s.address for s in sides), error, *numbers)
    spans = (
        *(s.span(k == 2) for k, s in enumerate(sides)),
        frame.places.word(error, True),
    )
    grid = -(-items // THREADS)
    frame.records.append(
        Launch(scatter_unit(form), grid, THREADS, arguments, spans, frame.number, frame.commit)
    )


ROWS: dict[str, Callable[[Frame], None]] = {
    "gather": gather,
    "take-along": take_along,
    "scatter-add": partial(scatter, change="add"),
    "scatter-set": partial(scatter, change="set"),
    "scatter-max": partial(scatter, change="maximum"),
    "scatter-min": partial(scatter, change="minimum"),
    "put-along": partial(scatter, change="set", along=True),
    "add-along": partial(scatter, change="add", along=True),
}
