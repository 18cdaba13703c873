"""eigh and svd by rows that are turned until all are orthogonal (see `turns`), in f64.

A symmetric matrix gets a multiple of the identity first, so that none of its rows is near 0: its
vectors stay, its values are taken from the matrix itself. Vectors that go with values of 0 come
from reflections, as those of `full` do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sexpgpu_core.kernels.target import Register

from .block import Block, Memory, room_of, threads_of
from .factors import matrices, orthogonal
from .frame import Frame, Side
from .layout import WARP
from .moves import filled
from .target import PtxTarget
from .turns import orthogonal_rows
from .written import Written, launch

Given = Mapping[str, Register]
NOTHING = 1e-150
"""Lengths of scaled rows that have no direction."""


class Form(NamedTuple):
    """`wide`: rows are the operand's, else its columns."""

    dtype: str
    threads: int
    wide: bool = True


def _scale(b: Block, x: Memory, count: Register) -> Register:
    """What x is multiplied by so that no square leaves the range; NaN where x is not finite."""
    t = b.t

    def look(k: Register, large: Register, wrong: Register) -> list[Register]:
        value = x.load(k)
        size = b.size(value)
        large = t.select(b.more(size, large), size, large)
        return [large, b.plus(wrong, b.minus(value, value))]

    def join(one: list[Register], two: list[Register]) -> list[Register]:
        large = t.select(b.more(two[0], one[0]), two[0], one[0])
        return [large, b.plus(one[1], two[1])]

    large, wrong = b.joined(b.fold(count, [b.f64(0.0), b.f64(0.0)], look), join)
    tiny = t.binary("and", b.more(b.f64(1e-50), large), b.more(large, 1e-308))
    odd = t.binary("or", b.more(large, 1e50), tiny)
    return b.plus(t.select(odd, b.over(1.0, large), b.f64(1.0)), wrong)


def _unit(b: Block, w: Memory, n: Register) -> None:
    def one(k: Register) -> None:
        i, j = b.parts(k, n)
        w.store(b.t.select(b.is_("eq", i, j), b.f64(1.0), b.f64(0.0)), k)

    b.each(b.mul(n, n), one)


def _symmetric(b: Block, x: Memory, n: Register, i: Register, j: Register) -> Register:
    return b.plus(b.times(x.load(b.at(i, n, j)), 0.5), b.times(x.load(b.at(j, n, i)), 0.5))


def _start_symmetric(t: PtxTarget, form: Form, r: Given) -> None:
    """(x + x') / 2 with more than its norm on the diagonal."""
    b, n = Block(t, form.threads), r["n"]
    square = b.mul(n, n)
    x, g = b.memory(r["x"], form.dtype, square), b.memory(r["g"], "f64", square)
    factor = _scale(b, x, square)

    def half(k: Register, total: Register) -> list[Register]:
        value = b.times(_symmetric(b, x, n, *b.parts(k, n)), factor)
        g.store(value, k)
        return [b.plus(total, b.times(value, value))]

    norm = b.root(b.sum(b.fold(square, [b.f64(0.0)], half)[0]))
    more = b.times(norm, 1.5)
    b.barrier()

    def raised(i: Register) -> None:
        place = b.at(i, n, i)
        g.store(b.plus(g.load(place), more), place)

    b.each(n, raised)
    _unit(b, b.memory(r["w"], "f64", square), n)
    b.alone(lambda: b.memory(r["factor"], "f64", 1).store(factor, b.i32(0)))


def _start(t: PtxTarget, form: Form, r: Given) -> None:
    """x by its shorter side's rows."""
    b, short, long = Block(t, form.threads), r["short"], r["long"]
    count = b.mul(short, long)
    x, g = b.memory(r["x"], form.dtype, count), b.memory(r["g"], "f64", count)
    factor = _scale(b, x, count)

    def one(k: Register) -> None:
        i, j = b.parts(k, long)
        place = k if form.wide else b.at(j, short, i)
        g.store(b.times(x.load(place), factor), k)

    b.each(count, one)
    _unit(b, b.memory(r["w"], "f64", b.mul(short, short)), short)
    b.alone(lambda: b.memory(r["factor"], "f64", 1).store(factor, b.i32(0)))


START_SYMMETRIC = Written(_start_symmetric, ("x", "g", "w", "factor"), ("items", "n"))
START = Written(_start, ("x", "g", "w", "factor"), ("items", "short", "long"))


class Row:
    """A warp that has a row of a cell: `p` of `count`."""

    def __init__(self, t: PtxTarget, count: Register) -> None:
        self.b = Block(t, WARP)
        self.b.cell, self.p = self.b.parts(self.b.cell, count)
        self.count = count

    def rank(self, values: Memory, down: bool) -> Register:
        """Where its value stands among those of the cell."""
        b, t, p = self.b, self.b.t, self.p
        mine = values.load(p)

        def ahead(q: Register, found: Register) -> list[Register]:
            other = values.load(q)
            before = t.compare("ogt" if down else "olt", other, mine)
            after = t.compare("ogt" if down else "olt", mine, other)
            tie = t.binary("and", t.compare("eq", after, t.like(after, 0)), b.is_("slt", q, p))
            before = t.convert("zext", t.binary("or", before, tie), "i32")
            return [b.add(found, before)]

        found = b.fold(self.count, [b.i32(0)], ahead)
        return b.joined(found, lambda x, y: [b.add(x[0], y[0])])[0]

    def sign(self, load: Callable[[Register], Register], count: Register) -> Register:
        """-1 where the first greatest element is below 0."""
        b, t = self.b, self.b.t

        def greater(k: Register, best: Register, at: Register) -> list[Register]:
            size = b.size(load(k))
            better = b.more(size, best)
            return [t.select(better, size, best), t.select(better, k, at)]

        at = b.best(*b.fold(count, [b.f64(-1.0), b.i32(0)], greater))
        return t.select(t.compare("olt", load(at), b.f64(0.0)), b.f64(-1.0), b.f64(1.0))


def _quotients(t: PtxTarget, form: Form, r: Given) -> None:
    """w (x + x') / 2 w' of a row w."""
    row, n = Row(t, r["n"]), r["n"]
    b, square = row.b, row.b.mul(n, n)
    x, w = b.memory(r["x"], form.dtype, square), b.memory(r["w"], "f64", square)

    def column(j: Register, total: Register) -> list[Register]:
        def add(i: Register, so_far: Register) -> list[Register]:
            part = b.times(w.load(b.at(row.p, n, i)), _symmetric(b, x, n, i, j))
            return [b.plus(so_far, part)]

        inner = t.repeat(n, [b.f64(0.0)], add)[0]
        return [b.plus(total, b.times(inner, w.load(b.at(row.p, n, j))))]

    value = b.sum(b.fold(n, [b.f64(0.0)], column)[0])
    b.alone(lambda: b.memory(r["values"], "f64", n).store(value, row.p))


def _columns(t: PtxTarget, form: Form, r: Given) -> None:
    """Values ascending, rows of w as columns in their order."""
    row, n = Row(t, r["n"]), r["n"]
    b, square = row.b, row.b.mul(n, n)
    w, values = b.memory(r["w"], "f64", square), b.memory(r["values"], "f64", n)
    result, vectors = b.memory(r["result"], form.dtype, n), b.memory(r["v"], form.dtype, square)
    rank = row.rank(values, False)
    factor = b.memory(r["factor"], "f64", 1).load(b.i32(0))
    wrong = b.minus(factor, factor)  # NaN where x is not finite
    sign = b.plus(row.sign(lambda k: w.load(b.at(row.p, n, k)), n), wrong)

    def one(i: Register) -> None:
        vectors.store(b.times(w.load(b.at(row.p, n, i)), sign), b.at(i, n, rank))

    b.each(n, one)
    b.alone(lambda: result.store(b.plus(values.load(row.p), wrong), rank))


QUOTIENTS = Written(_quotients, ("x", "w", "values"), ("items", "n"))
COLUMNS = Written(_columns, ("w", "values", "factor", "result", "v"), ("items", "n"))


def _lengths(t: PtxTarget, form: Form, r: Given) -> None:
    row, long = Row(t, r["short"]), r["long"]
    b = row.b
    g = b.memory(r["g"], "f64", b.mul(row.count, long))

    def add(k: Register, total: Register) -> list[Register]:
        value = g.load(b.at(row.p, long, k))
        return [b.plus(total, b.times(value, value))]

    value = b.root(b.sum(b.fold(long, [b.f64(0.0)], add)[0]))
    b.alone(lambda: b.memory(r["values"], "f64", row.count).store(value, row.p))


def _placed(t: PtxTarget, form: Form, r: Given) -> None:
    """Values descending; rows of g as columns of length 1 (or 0) and rows of w in their order."""
    row, long, short = Row(t, r["short"]), r["long"], r["short"]
    b = row.b
    g, values = b.memory(r["g"], "f64", b.mul(short, long)), b.memory(r["values"], "f64", short)
    w, kept = (b.memory(r[name], "f64", b.mul(short, short)) for name in ("w", "kept"))
    units = b.memory(r["units"], "f64", b.mul(r["rows"], long))
    result = b.memory(r["result"], form.dtype, short)
    rank, length = row.rank(values, True), values.load(row.p)
    some = b.more(length, NOTHING)

    def unit(i: Register) -> None:
        value = b.over(g.load(b.at(row.p, long, i)), length)
        units.store(t.select(some, value, b.f64(0.0)), b.at(i, r["rows"], rank))

    b.each(long, unit)
    b.each(short, lambda i: kept.store(w.load(b.at(row.p, short, i)), b.at(rank, short, i)))
    factor = b.memory(r["factor"], "f64", 1).load(b.i32(0))
    b.alone(lambda: result.store(b.over(length, factor), rank))


def _given(t: PtxTarget, form: Form, r: Given) -> None:
    """Signed vectors into u and v': columns of the longer side's, rows of the shorter's."""
    row, long, short = Row(t, r["rows"]), r["long"], r["short"]
    b, p, rows = row.b, row.p, row.count
    q = b.memory(r["q"], "f64", b.mul(long, rows))
    kept = b.memory(r["kept"], "f64", b.mul(short, short))
    far = b.memory(r["far"], form.dtype, b.mul(long, rows))
    near = b.memory(r["near"], form.dtype, b.mul(short, short))
    inside = b.is_("slt", p, short)

    def of_far(k: Register) -> Register:
        return q.load(b.at(k, rows, p))

    def of_near(k: Register) -> Register:
        return kept.load(b.at(p, short, k))

    sign = row.sign(of_far, long)
    if form.wide:
        sign = t.only(inside, sign, lambda: row.sign(of_near, short))
    factor = b.memory(r["factor"], "f64", 1).load(b.i32(0))
    sign = b.plus(sign, b.minus(factor, factor))  # NaN where x is not finite

    def one(i: Register) -> None:
        far.store(b.times(of_far(i), sign), b.at(p, long, i) if form.wide else b.at(i, rows, p))

    def other(i: Register) -> None:
        place = b.at(i, short, p) if form.wide else b.at(p, short, i)
        near.store(b.times(of_near(i), sign), place)

    b.each(long, one)
    b.each(t.select(inside, short, b.i32(0)), other)


SIZES = ("items", "short", "long", "rows")
LENGTHS = Written(_lengths, ("g", "values"), SIZES)
PLACED = Written(_placed, ("g", "w", "values", "factor", "result", "units", "kept"), SIZES)
GIVEN = Written(_given, ("q", "kept", "factor", "far", "near"), SIZES)


def eigh(frame: Frame) -> None:
    count, n, _ = matrices(frame)
    if not count * n:
        return
    x, values = frame.dense(0), frame.room("f64", (count, n))
    g, w = (frame.room("f64", (count, n, n)) for _ in range(2))
    factor, form = frame.room("f64", (count,)), Form(x.dtype, threads_of(n * n))
    sides = ((x, False), (g, True), (w, True), (factor, True))
    launch(frame, START_SYMMETRIC, form, sides, (count, n), blocks=count,
           threads=form.threads, room=room_of(form.threads))  # fmt: skip
    orthogonal_rows(frame, g, w, (count, n, n))
    form = Form(x.dtype, WARP)
    given = ((x, False), (w, False), (values, True))
    _rows(frame, QUOTIENTS, form, given, (count * n, n))
    outputs = tuple((frame.output(k), True) for k in range(2))
    read = ((w, False), (values, False), (factor, False))
    _rows(frame, COLUMNS, form, (*read, *outputs), (count * n, n))


def _rows(
    frame: Frame, kernel: Written, form: Form, sides: tuple[tuple[Side, bool], ...],
    numbers: tuple[int, ...],
) -> None:  # fmt: skip
    launch(frame, kernel, form, sides, numbers, blocks=numbers[0], threads=WARP)


def svd(frame: Frame) -> None:
    count, m, n = matrices(frame)
    left, right = frame.shape(0)[-1], frame.shape(2)[-2]
    short, long, wide = min(m, n), max(m, n), m < n
    rows = right if wide else left
    x, dtype = frame.dense(0), frame.call.inputs[0].dtype
    g, w, kept = (frame.room("f64", (count, short, s)) for s in (long, short, short))
    units, q = (frame.room("f64", (count, long, rows)) for _ in range(2))
    values, factor = frame.room("f64", (count, short)), frame.room("f64", (count,))
    if not count * long:
        return
    form = Form(dtype, threads_of(m * n), wide)
    sides = ((x, False), (g, True), (w, True), (factor, True))
    launch(frame, START, form, sides, (count, short, long), blocks=count,
           threads=form.threads, room=room_of(form.threads))  # fmt: skip
    filled(frame, units, count * long * rows, 0.0)
    form, sizes = Form(dtype, WARP, wide), (short, long, rows)
    if short:
        orthogonal_rows(frame, g, w, (count, short, long))
        numbers = (count * short, *sizes)
        _rows(frame, LENGTHS, form._replace(dtype="f64"), ((g, False), (values, True)), numbers)
        read = tuple((s, False) for s in (g, w, values, factor))
        made = tuple((s, True) for s in (frame.output(1), units, kept))
        _rows(frame, PLACED, form, (*read, *made), numbers)
    orthogonal(frame, units, (q, frame.room("f64", (count, rows, rows))), (count, long, rows))
    far, near = frame.output(2 if wide else 0), frame.output(0 if wide else 2)
    if rows:
        given = ((q, False), (kept, False), (factor, False), (far, True), (near, True))
        _rows(frame, GIVEN, form, given, (count * rows, *sizes))


ROWS: dict[str, Callable[[Frame], None]] = {"eigh": eigh, "svd": svd}
