"""Pooling and its gradients over (b n... c): a thread has an element of the result.

A gradient is gathered: an element of x adds what the windows that it is in give it, by the place
that it has in them, as the reference does. No padding is ever chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from sexpgpu_core.ir.types import FLOATS, UNSIGNED, WIDTH
from sexpgpu_core.kernels import elements
from sexpgpu_core.kernels.target import Register, memory_kind, register_kind

from .frame import Frame
from .target import PtxTarget
from .written import Written, items, launch

Given = Mapping[str, Register]
FIELDS = ("read", "rows", "window", "stride", "apart", "low")
"""Numbers of an axis: elements of x, windows, places of a window, steps, padding ahead."""


class Form(NamedTuple):
    """`inside`: a mean is of what is inside, else padding counts as well."""

    dtype: str
    axes: int
    inside: bool = False


class Windows:
    """The thread's element: `channel`, `image` and its index on each axis, of sizes `field`."""

    def __init__(self, t: PtxTarget, form: Form, r: Given, field: str) -> None:
        self.t, self.form, self.r = t, form, r
        self.mine = rest = items(t, r["items"])
        self.channel, rest = t.binary("urem", rest, r["c"]), t.binary("udiv", rest, r["c"])
        self.at: list[Register] = []
        for axis in reversed(range(form.axes)):
            size = self.of(field, axis)
            self.at.insert(0, t.binary("urem", rest, size))
            rest = t.binary("udiv", rest, size)
        self.image = rest
        self.yes = t.compare("eq", rest, rest)

    def of(self, field: str, axis: int) -> Register:
        return self.r[f"{field}_{axis}"]

    def number(self, value: float) -> Register:
        return self.t.constant(register_kind(self.form.dtype), value)

    def places(
        self, state: list[Register], body: Callable[..., list[Register]], *at: Register
    ) -> list[Register]:
        """`body(place, *state)` of each place of a window, in order."""
        if len(at) == self.form.axes:
            return body(list(at), *state)

        def inner(k: Register, *now: Register) -> list[Register]:
            return self.places(list(now), body, *at, k)

        return self.t.repeat(self.of("window", len(at)), state, inner)

    def start(self, axis: int, window: Register) -> Register:
        """Where a window begins on an axis, maybe ahead of x."""
        first = self.t.binary("mul", window, self.of("stride", axis))
        return self.t.binary("sub", first, self.of("low", axis))

    def seen(
        self, window: list[Register], place: list[Register]
    ) -> tuple[list[Register], Register]:
        """What a window has at a place, and whether that is inside."""
        t, found, good = self.t, [], self.yes
        for axis, (o, k) in enumerate(zip(window, place)):
            step = t.binary("mul", k, self.of("apart", axis))
            n = t.binary("add", self.start(axis, o), step)
            good = t.binary("and", good, t.compare("ult", n, self.of("read", axis)))
            found.append(n)
        return found, good

    def around(self, place: list[Register]) -> tuple[list[Register], Register]:
        """The window that has the thread's element at a place, and whether there is one."""
        t, found, good = self.t, [], self.yes
        for axis, (n, k) in enumerate(zip(self.at, place)):
            step = t.binary("mul", k, self.of("apart", axis))
            far = t.binary("sub", t.binary("add", n, self.of("low", axis)), step)
            o = t.binary("sdiv", far, self.of("stride", axis))
            back = t.binary("mul", o, self.of("stride", axis))
            good = t.binary("and", good, t.compare("eq", back, far))
            good = t.binary("and", good, t.compare("ult", o, self.of("rows", axis)))
            found.append(o)
        return found, good

    def element(self, name: str, field: str, at: list[Register]) -> Register:
        """An operand's element of the thread's image and channel."""
        t, place = self.t, self.image
        for axis, n in enumerate(at):
            place = t.binary("add", t.binary("mul", place, self.of(field, axis)), n)
        place = t.binary("add", t.binary("mul", place, self.r["c"]), self.channel)
        pointer = t.address(self.r[name], place, memory_kind(self.form.dtype))
        return elements.load(t, pointer, self.form.dtype, 1)

    def counted(self, window: list[Register]) -> Register:
        """How many places of a window its mean is of, at least 1."""
        t, one, zero = self.t, self.t.constant("i32", 1), self.t.constant("i32", 0)
        total = one
        for axis, o in enumerate(window):
            count = self.of("window", axis)
            if self.form.inside:
                apart, start = self.of("apart", axis), self.start(axis, o)
                ahead = t.binary("sub", t.binary("sub", apart, one), start)
                first = t.binary("sdiv", ahead, apart)
                first = t.select(t.compare("sgt", start, zero), zero, first)
                room = t.binary("sub", self.of("read", axis), start)
                last = t.binary("sdiv", t.binary("sub", t.binary("add", room, apart), one), apart)
                last = t.select(t.compare("slt", last, count), last, count)
                count = t.binary("sub", last, first)
                count = t.select(t.compare("sgt", count, zero), count, zero)
            total = t.binary("mul", total, count)
        total = t.select(t.compare("sgt", total, one), total, one)
        return t.convert("sitofp", total, register_kind(self.form.dtype))

    def give(self, value: Register) -> None:
        t, dtype = self.t, self.form.dtype
        place = t.address(self.r["result"], self.mine, memory_kind(dtype))
        t.store(elements.to_memory(t, dtype, elements.rounded(t, dtype, value)), place)


def _least(dtype: str) -> float:
    if dtype in FLOATS:
        return -math.inf
    return 0 if dtype in UNSIGNED else -(1 << (8 * WIDTH[dtype] - 1))


def _greatest(t: PtxTarget, form: Form, r: Given) -> None:
    w = Windows(t, form, r, "rows")
    least = w.number(_least(form.dtype))

    def more(place: list[Register], best: Register) -> list[Register]:
        at, good = w.seen(w.at, place)
        x = t.only(good, least, lambda: w.element("x", "read", at))
        return [elements.maximum(t, form.dtype, best, x)]

    w.give(w.places([least], more)[0])


def _greatest_gradient(t: PtxTarget, form: Form, r: Given) -> None:
    w = Windows(t, form, r, "read")
    zero, mine = w.number(0), w.element("x", "read", w.at)

    def more(place: list[Register], total: Register) -> list[Register]:
        window, good = w.around(place)
        return [t.only(good, total, lambda: _won(w, mine, window, place, total))]

    w.give(w.places([zero], more)[0])


def _won(
    w: Windows, mine: Register, window: list[Register], place: list[Register], total: Register
) -> Register:
    """The total with the window's cotangent, if `mine` at a place is its first greatest."""
    t, zero = w.t, w.t.constant("i32", 0)

    def beaten(other: list[Register], ahead: Register, lost: Register) -> list[Register]:
        at, good = w.seen(window, other)
        here = w.yes
        for a, b in zip(other, place):
            here = t.binary("and", here, t.compare("eq", a, b))
        early = t.select(here, zero, ahead)
        good = t.binary("and", good, t.compare("eq", here, t.like(here, 0)))

        def look() -> Register:
            x = w.element("x", "read", at)
            better = _better(t, w.form.dtype, x, mine, t.compare("ne", early, zero))
            return t.binary("or", lost, t.convert("zext", better, "i32"))

        return [early, t.only(good, lost, look)]

    _, lost = w.places([t.constant("i32", 1), zero], beaten)
    g = w.element("g", "rows", window)
    add = "fadd" if w.form.dtype in FLOATS else "add"
    return t.select(t.compare("eq", lost, zero), t.binary(add, total, g), total)


def _better(t: PtxTarget, dtype: str, x: Register, mine: Register, early: Register) -> Register:
    """Whether another element of a window is chosen, or as good and earlier; NaN is the best."""
    if dtype not in FLOATS:
        sign = "u" if dtype in UNSIGNED else "s"
        equal = t.binary("and", early, t.compare("eq", x, mine))
        return t.binary("or", t.compare(f"{sign}gt", x, mine), equal)
    found = t.select(early, t.compare("uge", x, mine), t.compare("ugt", x, mine))
    both = t.binary("and", early, t.compare("uno", x, x))
    return t.select(t.compare("uno", mine, mine), both, found)


def _mean(t: PtxTarget, form: Form, r: Given) -> None:
    w = Windows(t, form, r, "rows")
    zero = w.number(0)

    def more(place: list[Register], total: Register) -> list[Register]:
        at, good = w.seen(w.at, place)
        x = t.only(good, zero, lambda: w.element("x", "read", at))
        return [t.binary("fadd", total, x)]

    w.give(t.binary("fdiv", w.places([zero], more)[0], w.counted(w.at)))


def _mean_gradient(t: PtxTarget, form: Form, r: Given) -> None:
    w = Windows(t, form, r, "read")

    def more(place: list[Register], total: Register) -> list[Register]:
        window, good = w.around(place)

        def given() -> Register:
            share = t.binary("fdiv", w.element("g", "rows", window), w.counted(window))
            return t.binary("fadd", total, share)

        return [t.only(good, total, given)]

    w.give(w.places([w.number(0)], more)[0])


Body = Callable[[PtxTarget, Form, Given], None]


def _kernel(body: Body, operands: tuple[str, ...], axes: int) -> Written:
    names = [f"{field}_{axis}" for axis in range(axes) for field in FIELDS]
    return Written(body, (*operands, "result"), ("items", "c", *names))


def pooled(frame: Frame, body: Body, operands: str, back: bool) -> None:
    """`back`: a gradient, the result has x's shape. A launch."""
    shape = frame.shape(0)
    if 0 in shape:
        return
    small = frame.call.inputs[-1].shape if back else shape
    large = shape if back else frame.call.inputs[0].shape
    window = frame.attribute("sizes")
    apart, low = frame.attribute("dilations", (1,) * len(window)), frame.attribute("padding")
    fields = zip(
        large[1:-1], small[1:-1], window, frame.attribute("strides"), apart, (p[0] for p in low)
    )
    form = Form(frame.call.outputs[0].dtype, len(window), not frame.attribute("count-padding"))
    sides = tuple((frame.dense(k), False) for k in range(len(frame.call.inputs)))
    numbers = (math.prod(shape), shape[-1], *(n for axis in fields for n in axis))
    kernel = _kernel(body, tuple(operands), len(window))
    launch(frame, kernel, form, (*sides, (frame.output(0), True)), numbers)


ROWS: dict[str, Callable[[Frame], None]] = {
    "max-pool": partial(pooled, body=_greatest, operands="x", back=False),
    "max-pool-gradient": partial(pooled, body=_greatest_gradient, operands="xg", back=True),
    "avg-pool": partial(pooled, body=_mean, operands="x", back=False),
    "avg-pool-gradient": partial(pooled, body=_mean_gradient, operands="g", back=True),
}
