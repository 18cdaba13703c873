"""Convolutions of few taps as LLVM text.

A tap's weights stay in a register and meet the pixels one by one: an output is one chain of fma
over the taps in order, as the matrix product's is. A weight's gradient is a chain over each row of
the output, and the rows are added in order.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence

from .narrow import Narrow

PIXELS = 4
"""Pixels at once: chains of fma that do not wait for each other."""


class Emitter:
    """Lines of one module."""

    def __init__(self, n: Narrow) -> None:
        self.n = n
        self.scalar = "float" if n.dtype == "f32" else "double"
        self.vector = f"<{n.width} x {self.scalar}>"
        self.overload = f"v{n.width}{n.dtype}"
        self.lines: list[str] = []
        self.count = 0

    def emit(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"

    def at(self, base: str, index: int | str) -> str:
        return self.emit(f"getelementptr {self.scalar}, ptr {base}, i64 {index}")

    def lanes(self, block: int) -> int:
        """Lanes of a block of the given channels that exist."""
        return min(self.n.width, self.n.given - block * self.n.width)

    def load(self, pointer: str, lanes: int) -> str:
        if lanes == self.n.width:
            return self.emit(f"load {self.vector}, ptr {pointer}, align {self.n.bytes}")
        return self.emit(
            f"call {self.vector} @llvm.masked.load.{self.overload}.p0(ptr {pointer}, i32 "
            f"{self.n.bytes}, {self.mask(lanes)}, {self.vector} zeroinitializer)"
        )

    def store(self, value: str, pointer: str, lanes: int) -> None:
        if lanes == self.n.width:
            self.lines.append(f"  store {self.vector} {value}, ptr {pointer}, align {self.n.bytes}")
            return
        self.lines.append(
            f"  call void @llvm.masked.store.{self.overload}.p0({self.vector} {value}, ptr "
            f"{pointer}, i32 {self.n.bytes}, {self.mask(lanes)})"
        )

    def mask(self, lanes: int) -> str:
        bits = ", ".join(f"i1 {int(i < lanes)}" for i in range(self.n.width))
        return f"<{self.n.width} x i1> <{bits}>"

    def spread(self, pointer: str) -> str:
        """One element in all lanes."""
        w, v = self.n.width, self.vector
        one = self.emit(f"load {self.scalar}, ptr {pointer}, align {self.n.bytes}")
        first = self.emit(f"insertelement {v} poison, {self.scalar} {one}, i32 0")
        return self.emit(f"shufflevector {v} {first}, {v} poison, <{w} x i32> zeroinitializer")

    def total(self, vector: str) -> str:
        """The sum of all lanes: the upper half to the lower until one is left."""
        size = self.n.width
        while size > 1:
            size //= 2
            kind = f"<{2 * size} x {self.scalar}>"
            halves = [
                self.emit(
                    f"shufflevector {kind} {vector}, {kind} poison, <{size} x i32> <"
                    + ", ".join(f"i32 {i}" for i in range(at, at + size))
                    + ">"
                )
                for at in (0, size)
            ]
            vector = self.emit(f"fadd <{size} x {self.scalar}> {halves[0]}, {halves[1]}")
        return self.emit(f"extractelement <1 x {self.scalar}> {vector}, i32 0")

    def row(self, index: str, rows: tuple[int, ...], sheet: int, row: int) -> str:
        """How far a row is, of those of all sheets: so far from sheet to sheet, from row to row."""
        if rows[0] == 1:
            return self.times(index, row)
        before = self.times(self.emit(f"udiv i64 {index}, {rows[1]}"), sheet)
        inside = self.times(self.emit(f"urem i64 {index}, {rows[1]}"), row)
        return self.emit(f"add i64 {before}, {inside}")

    def read_row(self, index: str) -> str:
        """How far the padded picture is read for a row that is given."""
        g, row = self.n.geometry, self.n.plane[2] * self.n.channels
        return self.row(index, g.rows, g.mul[0] * self.n.plane[1] * row, g.mul[1] * row)

    def fma(self, a: str, b: str, c: str) -> str:
        return self.emit(self.fma_text(a, b, c))

    def fma_text(self, a: str, b: str, c: str) -> str:
        v = self.vector
        return f"call {v} @llvm.fma.{self.overload}({v} {a}, {v} {b}, {v} {c})"

    def times(self, index: str, count: int) -> str:
        return self.emit(f"mul i64 {index}, {count}")

    def phis(
        self, sums: list[str], new: str, last: str, before: str, latch: str, start: str = ""
    ) -> None:
        """Sums that go on from trip to trip, from 0 or from those of the loop around."""
        for s in sums:
            begun = f"{start}{s}" if start else "zeroinitializer"
            self.lines.append(
                f"  {new}{s} = phi {self.vector} [{begun}, %{before}], [{last}{s}, %{latch}]"
            )

    def named(self, name: str, text: str) -> None:
        self.lines.append(f"  {name} = {text}")

    @contextlib.contextmanager
    def loop(self, name: str, before: str, count: int | str, step: int = 1) -> Iterator[str]:
        """%NAME from 0 below `count`, a multiple of `step` above 0; ends in the block NAME.done."""
        self.lines += [
            f"  br label %{name}.head",
            f"{name}.head:",
            f"  %{name} = phi i64 [0, %{before}], [%{name}.next, %{name}.latch]",
        ]
        yield f"%{name}"
        self.lines += [
            f"  br label %{name}.latch",
            f"{name}.latch:",
            f"  %{name}.next = add i64 %{name}, {step}",
            f"  %{name}.go = icmp ult i64 %{name}.next, {count}",
            f"  br i1 %{name}.go, label %{name}.head, label %{name}.done",
            f"{name}.done:",
        ]


def narrow_text(n: Narrow) -> str:
    """Two functions (ptr block, i64 begin, i64 end). `narrow`: block x, w, result, scratch; a cell
    is a picture. `narrow_weights`: block x, gradient, parts of the result, scratch, pictures,
    pictures of a part; a cell is a part."""
    from . import direct_across, direct_emit, direct_gradient

    forward, part = _forward, _part
    if not n.few:
        forward = direct_across.forward if n.across else direct_emit.forward
        part = direct_across.part if n.across else direct_gradient.part
    e = Emitter(n)
    v, o = e.vector, e.overload
    mask = f"<{n.width} x i1>"
    return "\n".join(
        [
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
            f"declare {v} @llvm.fma.{o}({v}, {v}, {v})",
            f"declare {v} @llvm.masked.load.{o}.p0(ptr, i32, {mask}, {v})",
            f"declare void @llvm.masked.store.{o}.p0({v}, ptr, i32, {mask})",
            *_padded(Emitter(n)),
            *forward(Emitter(n)),
            *part(Emitter(n)),
            _whole(n, e.scalar),
            _weights(n, e.scalar),
        ]
    )


def _padded(e: Emitter) -> list[str]:
    """A picture with its margins, in the scratch."""
    n = e.n
    g, plane = n.geometry, n.plane
    margin, first = [max(-low, 0) for low in n.low], [max(low, 0) for low in n.low]
    size = tuple(min(r - f, p - m) for r, f, p, m in zip(g.read, first, plane, margin))
    e.lines += ["define internal void @padded(ptr noalias %x, ptr noalias %to) {", "entry:"]
    if list(size) != plane:
        e.lines.append(f"  call void @llvm.memset.p0.i64(ptr %to, i8 0, i64 {n.scratch}, i1 false)")
    if min(size) > 0:
        with e.loop("r", "entry", size[0] * size[1]) as r:
            source = _inside(e, r, size, g.read, first)
            to = _inside(e, r, size, plane, margin)
            e.lines.append(
                f"  call void @llvm.memcpy.p0.p0.i64(ptr {e.at('%to', to)}, ptr "
                f"{e.at('%x', source)}, i64 {size[2] * n.channels * n.bytes}, i1 false)"
            )
    return [*e.lines, "  ret void", "}"]


def _inside(
    e: Emitter, r: str, size: tuple[int, ...], of: Sequence[int], first: Sequence[int]
) -> str:
    """How far row r of a part is, that begins at `first` in a picture of a size."""
    row = of[2] * e.n.channels
    begin = (first[0] * of[1] + first[1]) * row + first[2] * e.n.channels
    return e.emit(f"add i64 {e.row(r, size, of[1] * row, row)}, {begin}")


def _forward(e: Emitter) -> list[str]:
    """The result of one padded picture."""
    n = e.n
    e.lines += ["define internal void @forward(ptr noalias %x, ptr noalias %w, ptr noalias %y) {"]
    e.lines.append("entry:")
    before = "entry"
    for block in range(-(-n.given // n.width)):
        lanes, first = e.lanes(block), block * n.width
        weights = [e.load(e.at("%w", t * n.given + first), lanes) for t in range(len(n.taps))]
        before = _rows(e, block, before, weights)
    return [*e.lines, "  ret void", "}"]


def _rows(e: Emitter, block: int, before: str, weights: list[str]) -> str:
    """All rows of a block of channels; the label after them."""
    g, wide = e.n.geometry, e.n.geometry.rows[2] // PIXELS * PIXELS
    with e.loop(f"h{block}", before, g.rows[0] * g.rows[1]) as h:
        x = e.at("%x", e.read_row(h))
        y = e.emit(f"mul i64 {h}, {g.rows[2] * e.n.given}")
        y = e.at("%y", e.emit(f"add i64 {y}, {block * e.n.width}"))
        if wide:
            with e.loop(f"p{block}", f"h{block}.head", wide, PIXELS) as p:
                _pixels(e, x, y, p, block, weights, PIXELS)
        if g.rows[2] > wide:
            _pixels(e, x, y, str(wide), block, weights, g.rows[2] - wide)
    return f"h{block}.done"


def _pixels(e: Emitter, x: str, y: str, p: str, block: int, weights: list[str], count: int) -> None:
    """`count` neighbours from p on, tap after tap."""
    n = e.n
    step = n.geometry.mul[2] * n.channels
    x = e.at(x, e.emit(f"mul i64 {p}, {step}"))
    y = e.at(y, e.emit(f"mul i64 {p}, {n.given}"))
    sums = ["zeroinitializer"] * count
    for tap, weight in zip(n.taps, weights):
        sums = [e.fma(e.spread(e.at(x, tap + i * step)), weight, s) for i, s in enumerate(sums)]
    for i, s in enumerate(sums):
        e.store(s, e.at(y, i * n.given), e.lanes(block))


def _part(e: Emitter) -> list[str]:
    """One padded picture and its gradient, added to a part of the weights' gradient."""
    n, g = e.n, e.n.geometry
    e.lines += ["define internal void @part(ptr noalias %x, ptr noalias %g, ptr noalias %to) {"]
    e.lines.append("entry:")
    before = "entry"
    for block in range(-(-n.given // n.width)):
        with e.loop(f"h{block}", before, g.rows[0] * g.rows[1]) as h:
            x = e.at("%x", e.read_row(h))
            row = e.emit(f"mul i64 {h}, {g.rows[2] * n.given}")
            row = e.at("%g", e.emit(f"add i64 {row}, {block * n.width}"))
            sums = _row_sums(e, x, row, block)
            for t, s in enumerate(sums):
                to = e.at("%to", t * n.given + block * n.width)
                old = e.load(to, e.lanes(block))
                e.store(e.emit(f"fadd {e.vector} {old}, {s}"), to, e.lanes(block))
        before = f"h{block}.done"
    return [*e.lines, "  ret void", "}"]


def _row_sums(e: Emitter, x: str, row: str, block: int) -> list[str]:
    """A vector a tap: the pixels of a row, each by its gradient."""
    n, name = e.n, f"p{block}"
    sums = [f"%{name}.s{t}" for t in range(len(n.taps))]
    with e.loop(name, f"h{block}.head", n.geometry.rows[2]) as p:
        for s in sums:
            nothing = f"[zeroinitializer, %h{block}.head]"
            e.lines.append(f"  {s} = phi {e.vector} {nothing}, [{s}.n, %{name}.latch]")
        at = e.at(x, e.emit(f"mul i64 {p}, {n.geometry.mul[2] * n.channels}"))
        g = e.load(e.at(row, e.emit(f"mul i64 {p}, {n.given}")), e.lanes(block))
        for s, tap in zip(sums, n.taps):
            e.named(f"{s}.n", e.fma_text(e.spread(e.at(at, tap)), g, s))
    return [f"{s}.n" for s in sums]


def _words(*names: str) -> str:
    """The words of the block by name."""
    lines = []
    for i, name in enumerate(names):
        kind = "i64" if name in ("pictures", "per") else "ptr"
        lines.append(f"  %{name}.at = getelementptr i64, ptr %block, i64 {i}")
        lines.append(f"  %{name} = load {kind}, ptr %{name}.at")
    return "\n".join(lines)


def _cells(name: str, words: str, body: str) -> str:
    """A function over cells %c."""
    return f"""define void @{name}(ptr %block, i64 %begin, i64 %end) {{
entry:
{words}
  %any = icmp ult i64 %begin, %end
  br i1 %any, label %cell, label %done
cell:
  %c = phi i64 [%begin, %entry], [%c.next, %last]
{body}
  br label %last
last:
  %c.next = add i64 %c, 1
  %c.go = icmp ult i64 %c.next, %end
  br i1 %c.go, label %cell, label %done
done:
  ret void
}}"""


def _sizes(n: Narrow) -> tuple[int, int, int]:
    """Elements of a picture read, of one written, of the weights."""
    g = n.geometry
    read, written = math.prod(g.read) * n.channels, math.prod(g.rows) * n.given
    return read, written, len(n.taps) * n.given


def _whole(n: Narrow, scalar: str) -> str:
    read, written, _ = _sizes(n)
    body = f"""  %xo = mul i64 %c, {read}
  %xc = getelementptr {scalar}, ptr %x, i64 %xo
  %yo = mul i64 %c, {written}
  %yc = getelementptr {scalar}, ptr %y, i64 %yo
  call void @padded(ptr %xc, ptr %s)
  call void @forward(ptr %s, ptr %w, ptr %yc)"""
    return _cells("narrow", _words("x", "w", "y", "s"), body)


def _weights(n: Narrow, scalar: str) -> str:
    read, written, size = _sizes(n)
    body = f"""  %to.o = mul i64 %c, {size}
  %to = getelementptr {scalar}, ptr %parts, i64 %to.o
  call void @llvm.memset.p0.i64(ptr %to, i8 0, i64 {size * n.bytes}, i1 false)
  %first = mul i64 %c, %per
  %more = add i64 %first, %per
  %fewer = icmp ult i64 %more, %pictures
  %stop = select i1 %fewer, i64 %more, i64 %pictures
  br label %picture
picture:
  %i = phi i64 [%first, %cell], [%i.next, %picture]
  %xo = mul i64 %i, {read}
  %xc = getelementptr {scalar}, ptr %x, i64 %xo
  %go = mul i64 %i, {written}
  %gc = getelementptr {scalar}, ptr %g, i64 %go
  call void @padded(ptr %xc, ptr %s)
  call void @part(ptr %s, ptr %gc, ptr %to)
  %i.next = add i64 %i, 1
  %i.go = icmp ult i64 %i.next, %stop
  br i1 %i.go, label %picture, label %whole
whole:"""
    return _cells("narrow_weights", _words("x", "g", "parts", "s", "pictures", "per"), body)
