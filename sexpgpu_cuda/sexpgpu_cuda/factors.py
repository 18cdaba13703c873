"""cholesky, solve-triangular, lu and qr: a block has a matrix, in f64, rounded once at the end.

The steps are those of the device `cpu`: from column to column, what each leaves is taken from all
that is behind it, in ascending order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from sexpgpu_core.kernels.target import Register

from .block import Block, Memory, room_of, threads_of
from .frame import Frame, Side
from .moves import filled
from .target import PtxTarget
from .written import Written, launch

Given = Mapping[str, Register]
COLUMNS = 64
"""Of a triangular system, that a block has."""


class Form(NamedTuple):
    dtype: str
    threads: int


class System(NamedTuple):
    """`ahead`: from the first row on."""

    dtype: str
    threads: int
    ahead: bool
    unit: bool


def _cholesky(t: PtxTarget, form: Form, r: Given) -> None:
    """Columns lie side by side in `work`, so that threads read neighbours."""
    b, n = Block(t, form.threads), r["n"]
    square = b.mul(n, n)
    x, result = (b.memory(r[name], form.dtype, square) for name in ("x", "result"))
    w = b.memory(r["work"], "f64", square)

    def column(j: Register, good: Register) -> list[Register]:
        def rest(i: Register) -> None:
            both = b.times(b.plus(x.load(b.at(i, n, j)), x.load(b.at(j, n, i))), 0.5)

            def add(k: Register, total: Register) -> list[Register]:
                pair = b.times(w.load(b.at(k, n, i)), w.load(b.at(k, n, j)))
                return [b.plus(total, pair)]

            total = t.repeat(j, [b.f64(0.0)], add)[0]
            w.store(b.minus(both, total), b.at(j, n, i))

        def scaled(i: Register) -> None:
            value = b.over(w.load(b.at(j, n, i)), root)
            w.store(t.select(b.is_("eq", i, j), root, value), b.at(j, n, i))

        b.each(n, rest, j)
        b.barrier()
        pivot = w.load(b.at(j, n, j))
        root = b.root(pivot)
        b.barrier()
        b.each(n, scaled, j)
        b.barrier()
        positive = t.convert("zext", b.more(pivot, 0.0), "i32")
        return [t.binary("and", good, positive)]

    good = b.is_("ne", t.repeat(n, [b.i32(1)], column)[0], 0)

    def give(k: Register) -> None:
        i, j = b.parts(k, n)

        def there() -> Register:
            return t.select(good, w.load(b.at(j, n, i)), b.f64(math.nan))

        result.store(t.only(b.is_("sle", j, i), b.f64(0.0), there), k)

    b.each(square, give)


CHOLESKY = Written(_cholesky, ("x", "result", "work"), ("items", "n"))


def _triangular(t: PtxTarget, form: System, r: Given) -> None:
    """A block has up to COLUMNS right sides."""
    b, n, m = Block(t, form.threads), r["n"], r["m"]
    at, part = b.parts(b.cell, r["chunks"])
    first = b.mul(part, COLUMNS)
    left = b.sub(m, first)
    count = t.select(b.is_("slt", left, COLUMNS), left, b.i32(COLUMNS))
    start = b.add(b.mul(at, b.mul(n, m)), first)
    a = Memory(t, r["a"], form.dtype, b.mul(at, b.mul(n, n)))
    y, x = (Memory(t, r[name], form.dtype, start) for name in ("y", "x"))
    w = Memory(t, r["work"], "f64", start)

    def moved(source: Memory, target: Memory) -> None:
        def one(k: Register) -> None:
            i, c = b.parts(k, count)
            place = b.at(i, m, c)
            target.store(source.load(place), place)

        b.each(b.mul(n, count), one)
        b.barrier()

    def row(step: Register) -> list[Register]:
        i = step if form.ahead else b.sub(b.sub(n, 1), step)
        line = b.mul(i, r["row"])
        if not form.unit:
            pivot = a.load(b.add(line, b.mul(i, r["column"])))

            def divided(c: Register) -> None:
                w.store(b.over(w.load(b.at(i, m, c)), pivot), b.at(i, m, c))

            b.each(count, divided)
            b.barrier()

        def taken(k: Register) -> None:
            q, c = b.parts(k, count)
            p = b.add(b.add(i, 1), q) if form.ahead else b.sub(b.sub(i, 1), q)
            factor = a.load(b.add(b.mul(p, r["row"]), b.mul(i, r["column"])))
            less = b.times(factor, w.load(b.at(i, m, c)))
            w.store(b.minus(w.load(b.at(p, m, c)), less), b.at(p, m, c))

        b.each(b.mul(b.sub(b.sub(n, 1), step), count), taken)
        b.barrier()
        return []

    moved(y, w)
    t.repeat(n, [], row)
    moved(w, x)


TRIANGULAR = Written(
    _triangular, ("a", "y", "x", "work"), ("items", "n", "m", "row", "column", "chunks")
)


def _lu(t: PtxTarget, form: Form, r: Given) -> None:
    """By rows with the first greatest pivot."""
    b, n = Block(t, form.threads), r["n"]
    square = b.mul(n, n)
    x, packed = (b.memory(r[name], form.dtype, square) for name in ("x", "packed"))
    w, signs = b.memory(r["work"], "f64", square), b.memory(r["sign"], form.dtype, 1)
    rows = b.mul(b.cell, n)

    def place(i: Register) -> Register:
        return t.address(r["order"], b.add(rows, i), "i32")

    def step(k: Register, sign: Register) -> list[Register]:
        def greater(i: Register, best: Register, at: Register) -> list[Register]:
            size = b.size(w.load(b.at(i, n, k)))
            better = b.more(size, best)
            return [t.select(better, size, best), t.select(better, i, at)]

        p = b.best(*b.fold(n, [b.f64(-1.0), k], greater, k))
        b.barrier()
        other = b.is_("ne", p, k)

        def swapped(j: Register) -> None:
            above, below = w.load(b.at(k, n, j)), w.load(b.at(p, n, j))
            w.store(below, b.at(k, n, j))
            w.store(above, b.at(p, n, j))

        def reordered(_: Register) -> None:
            above, below = t.load(place(k), "i32"), t.load(place(p), "i32")
            t.store(below, place(k))
            t.store(above, place(p))

        b.each(t.select(other, n, b.i32(0)), swapped)
        b.each(t.convert("zext", other, "i32"), reordered)
        b.barrier()
        pivot, below = w.load(b.at(k, n, k)), b.add(k, 1)

        def divided(i: Register) -> None:
            value = w.load(b.at(i, n, k))
            some = t.compare("une", pivot, b.f64(0.0))
            w.store(t.select(some, b.over(value, pivot), value), b.at(i, n, k))

        b.each(n, divided, below)
        b.barrier()
        left = b.sub(n, below)

        def taken(q: Register) -> None:
            i, j = b.parts(q, left)
            i, j = b.add(i, below), b.add(j, below)
            less = b.times(w.load(b.at(i, n, k)), w.load(b.at(k, n, j)))
            w.store(b.minus(w.load(b.at(i, n, j)), less), b.at(i, n, j))

        b.each(b.mul(left, left), taken)
        b.barrier()
        return [t.select(other, t.negate(sign), sign)]

    b.each(square, lambda k: w.store(x.load(k), k))
    b.each(n, lambda i: t.store(i, place(i)))
    b.barrier()
    sign = t.repeat(n, [b.f64(1.0)], step)[0]
    b.each(square, lambda k: packed.store(w.load(k), k))
    b.alone(lambda: signs.store(sign, b.i32(0)))


LU = Written(_lu, ("x", "packed", "order", "sign", "work"), ("items", "n"))


def _reflect(
    b: Block, x: Memory, width: Register, v: Memory, beta: Register,
    rows: tuple[Register, Register],
) -> None:  # fmt: skip
    """x - beta v (v' x) of rows (first, stop), of columns from `first` on, a thread each."""
    first, stop = rows

    def column(c: Register) -> None:
        def add(i: Register, total: Register) -> list[Register]:
            return [b.plus(total, b.times(v.load(i), x.load(b.at(i, width, c))))]

        total = b.over_all(stop, [b.f64(0.0)], add, first)[0]

        def taken(i: Register) -> list[Register]:
            place = b.at(i, width, c)
            less = b.times(b.times(v.load(i), beta), total)
            x.store(b.minus(x.load(place), less), place)
            return []

        b.over_all(stop, [], taken, first)

    b.each(width, column, first)
    b.barrier()


def _qr(t: PtxTarget, form: Form, r: Given) -> None:
    """Householder's."""
    b, m, n, k = Block(t, form.threads), r["m"], r["n"], r["k"]
    x, q = b.memory(r["x"], form.dtype, b.mul(m, n)), b.memory(r["q"], form.dtype, b.mul(m, k))
    a, basis = b.memory(r["a"], "f64", b.mul(m, n)), b.memory(r["basis"], "f64", b.mul(m, k))
    vectors, betas = b.memory(r["v"], "f64", b.mul(m, k)), b.memory(r["beta"], "f64", k)
    result = b.memory(r["r"], form.dtype, b.mul(k, n))

    def vector(j: Register) -> Memory:
        return vectors._replace(base=b.add(vectors.base, b.mul(j, m)))

    def ahead(j: Register) -> list[Register]:
        def add(i: Register, total: Register) -> list[Register]:
            value = a.load(b.at(i, n, j))
            return [b.plus(total, b.times(value, value))]

        total = b.sum(b.fold(m, [b.f64(0.0)], add, j)[0])
        head, length = a.load(b.at(j, n, j)), b.root(total)
        length = t.select(b.more(head, 0.0), t.negate(length), length)
        rest = b.minus(total, b.times(head, length))
        beta = t.select(b.more(rest, 0.0), b.over(1.0, rest), b.f64(0.0))
        v = vector(j)

        def made(i: Register) -> None:
            value = a.load(b.at(i, n, j))
            v.store(t.select(b.is_("eq", i, j), b.minus(value, length), value), i)

        b.each(m, made, j)
        b.alone(lambda: betas.store(beta, j))
        b.barrier()
        _reflect(b, a, n, v, beta, (j, m))
        return []

    def back(step: Register) -> list[Register]:
        j = b.sub(b.sub(k, 1), step)
        _reflect(b, basis, k, vector(j), betas.load(j), (j, m))
        return []

    def unit(at: Register) -> None:
        i, c = b.parts(at, k)
        basis.store(t.select(b.is_("eq", i, c), b.f64(1.0), b.f64(0.0)), at)

    def turned(i: Register, value: Register) -> Register:
        """So that r's diagonal is not below 0."""
        below = t.compare("olt", a.load(b.at(i, n, i)), b.f64(0.0))
        return t.select(below, t.negate(value), value)

    def give_r(at: Register) -> None:
        i, j = b.parts(at, n)
        value = t.select(b.is_("sge", j, i), turned(i, a.load(at)), b.f64(0.0))
        result.store(value, at)

    b.each(b.mul(m, n), lambda at: a.store(x.load(at), at))
    b.each(b.mul(m, k), unit)
    b.barrier()
    t.repeat(k, [], ahead)
    t.repeat(k, [], back)
    b.each(b.mul(m, k), lambda at: q.store(turned(b.parts(at, k)[1], basis.load(at)), at))
    b.each(b.mul(k, n), give_r)


QR = Written(_qr, ("x", "q", "r", "a", "basis", "v", "beta"), ("items", "m", "n", "k"))


def matrices(frame: Frame) -> tuple[int, int, int]:
    """How many there are, rows, columns of the first operand."""
    shape = frame.call.inputs[0].shape
    return math.prod(shape[:-2]), shape[-2], shape[-1]


def cholesky(frame: Frame) -> None:
    count, n, _ = matrices(frame)
    if not count * n:
        return
    form = Form(frame.call.inputs[0].dtype, threads_of(n))
    work = frame.room("f64", (count, n, n))
    sides = ((frame.dense(0), False), (frame.output(0), True), (work, True))
    launch(frame, CHOLESKY, form, sides, (count, n), blocks=count, threads=form.threads)


def triangular(frame: Frame) -> None:
    count, n, _ = matrices(frame)
    m = frame.call.inputs[1].shape[-1]
    if not count * n * m:
        return
    upper, turned = bool(frame.attribute("upper")), bool(frame.attribute("transpose"))
    threads = threads_of(n * min(m, COLUMNS))
    unit = bool(frame.attribute("unit"))
    form = System(frame.call.inputs[0].dtype, threads, upper == turned, unit)
    work = frame.room("f64", (count, n, m))
    sides = ((frame.dense(0), False), (frame.dense(1), False), (frame.output(0), True),
             (work, True))  # fmt: skip
    chunks = -(-m // COLUMNS)
    numbers = (count, n, m, *((1, n) if turned else (n, 1)), chunks)
    launch(frame, TRIANGULAR, form, sides, numbers, blocks=count * chunks, threads=threads)


def lu(frame: Frame) -> None:
    count, n, _ = matrices(frame)
    if not n:
        return filled(frame, frame.output(2), count, 1.0) if count else None
    if not count:
        return None
    form = Form(frame.call.inputs[0].dtype, threads_of(n))
    work = frame.room("f64", (count, n, n))
    outputs = tuple((frame.output(k), True) for k in range(3))
    sides = ((frame.dense(0), False), *outputs, (work, True))
    launch(frame, LU, form, sides, (count, n), blocks=count, threads=form.threads,
           room=room_of(form.threads))  # fmt: skip
    return None


def qr(frame: Frame) -> None:
    count, m, n = matrices(frame)
    orthogonal(frame, frame.dense(0), (frame.output(0), frame.output(1)), (count, m, n))


def orthogonal(
    frame: Frame, x: Side, results: tuple[Side, Side], sizes: tuple[int, int, int]
) -> None:
    """q and r of so many matrices (m n)."""
    count, m, n = sizes
    k = min(m, n)
    if not count * k:
        return
    form = Form(x.dtype, threads_of(max(m, n)))
    rooms = [frame.room("f64", shape) for shape in ((count, m, n), (count, m, k), (count, k, m),
                                                    (count, k))]  # fmt: skip
    sides = ((x, False), *((s, True) for s in (*results, *rooms)))
    launch(frame, QR, form, sides, (count, m, n, k), blocks=count, threads=form.threads,
           room=room_of(form.threads))  # fmt: skip


ROWS: dict[str, Callable[[Frame], None]] = {
    "cholesky": cholesky,
    "solve-triangular": triangular,
    "lu": lu,
    "qr": qr,
}
