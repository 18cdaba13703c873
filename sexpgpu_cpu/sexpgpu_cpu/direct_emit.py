"""Convolutions without a gathered matrix, as LLVM text: pixels of the padded picture meet rows of
the weights as they lie.

An output is one chain of fma over places and channels in order; a weight's gradient is a chain over
the pixels of each picture, and the pictures are added in order.
"""

from __future__ import annotations

from .narrow import Narrow
from .narrow_emit import Emitter

PIXELS, VECTORS = 12, 2
"""Sums at once: pixels, or channels read, times vectors of the given channels."""


def blocks(n: Narrow) -> list[tuple[int, list[int]]]:
    """The given channels in blocks of vectors: where each begins, and lanes of its vectors."""
    found = []
    for first in range(0, n.given, n.width * VECTORS):
        starts = range(first, min(first + n.width * VECTORS, n.given), n.width)
        found.append((first, [min(n.width, n.given - s) for s in starts]))
    return found


def even(count: int) -> int:
    """Parts of `count` that are alike but for the last, PIXELS at most."""
    return -(-count // -(-count // PIXELS))


def forward(e: Emitter) -> list[str]:
    """The result of one padded picture."""
    g = e.n.geometry
    e.lines += ["define internal void @forward(ptr noalias %x, ptr noalias %w, ptr noalias %y) {"]
    e.lines.append("entry:")
    before, size = "entry", even(g.rows[2])
    whole = g.rows[2] // size * size
    for number, (first, lanes) in enumerate(blocks(e.n)):
        name = f"h{number}"
        with e.loop(name, before, g.rows[1]) as h:
            x = e.at("%x", e.emit(f"mul i64 {h}, {g.mul[1] * e.n.plane[1] * e.n.channels}"))
            y = e.emit(f"mul i64 {h}, {g.rows[2] * e.n.given}")
            y = e.at("%y", e.emit(f"add i64 {y}, {first}"))
            after = f"{name}.head"
            with e.loop(f"p{number}", after, whole, size) as p:
                _pixels(e, f"t{number}", f"p{number}.head", (x, y, p), first, lanes, size)
            if whole < g.rows[2]:
                after = f"p{number}.done"
                rest = g.rows[2] - whole
                _pixels(e, f"r{number}", after, (x, y, str(whole)), first, lanes, rest)
        before = f"{name}.done"
    return [*e.lines, "  ret void", "}"]


def _pixels(
    e: Emitter,
    name: str,
    before: str,
    at: tuple[str, str, str],
    first: int,
    lanes: list[int],
    count: int,
) -> None:
    """`count` neighbours from at[2] on: loops over places of the window and channels."""
    n, g = e.n, e.n.geometry
    step = g.mul[2] * n.channels
    x = e.at(at[0], e.emit(f"mul i64 {at[2]}, {step}"))
    y = e.at(at[1], e.emit(f"mul i64 {at[2]}, {n.given}"))
    w = e.at("%w", first)
    sums = [f"{name}.{i}.{v}" for i in range(count) for v in range(len(lanes))]
    old, inside = f"%{name}.o.", f"%{name}.s."
    with e.loop(f"{name}k", before, g.places) as k:
        _phis(e, sums, old, inside, before, f"{name}k.latch")
        row = e.emit(f"udiv i64 {k}, {g.window[2]}")
        column = e.emit(f"urem i64 {k}, {g.window[2]}")
        down = e.emit(f"mul i64 {row}, {g.step[1] * n.plane[1] * n.channels}")
        right = e.emit(f"mul i64 {column}, {g.step[2] * n.channels}")
        source = e.at(e.at(x, down), right)
        weights = e.at(w, e.emit(f"mul i64 {k}, {n.channels * n.given}"))
        with e.loop(f"{name}c", f"{name}k.head", n.channels) as c:
            _phis(e, sums, f"%{name}.i.", inside, f"{name}k.head", f"{name}c.latch", old)
            here = e.at(weights, e.emit(f"mul i64 {c}, {n.given}"))
            rows = [e.load(e.at(here, v * n.width), of) for v, of in enumerate(lanes)]
            from_ = e.at(source, c)
            for i in range(count):
                value = e.spread(e.at(from_, i * step))
                for v, weight in enumerate(rows):
                    s = f"{name}.{i}.{v}"
                    e.named(f"{inside}{s}", e.fma_text(value, weight, f"%{name}.i.{s}"))
    for i in range(count):
        for v, of in enumerate(lanes):
            e.store(f"{inside}{name}.{i}.{v}", e.at(y, i * n.given + v * n.width), of)


def _phis(
    e: Emitter, sums: list[str], new: str, last: str, before: str, latch: str, start: str = ""
) -> None:
    """Sums that go on from trip to trip, from 0 or from those of the loop around."""
    for s in sums:
        begun = f"{start}{s}" if start else "zeroinitializer"
        e.lines.append(f"  {new}{s} = phi {e.vector} [{begun}, %{before}], [{last}{s}, %{latch}]")


def part(e: Emitter) -> list[str]:
    """One padded picture and its gradient, added to a part of the weights' gradient."""
    n = e.n
    e.lines += ["define internal void @part(ptr noalias %x, ptr noalias %g, ptr noalias %to) {"]
    e.lines.append("entry:")
    size = even(n.channels)
    whole = n.channels // size * size
    with e.loop("k", "entry", n.geometry.places) as k:
        row = e.emit(f"udiv i64 {k}, {n.geometry.window[2]}")
        column = e.emit(f"urem i64 {k}, {n.geometry.window[2]}")
        down = e.emit(f"mul i64 {row}, {n.geometry.step[1] * n.plane[1] * n.channels}")
        right = e.emit(f"mul i64 {column}, {n.geometry.step[2] * n.channels}")
        x = e.at(e.at("%x", down), right)
        to = e.at("%to", e.emit(f"mul i64 {k}, {n.channels * n.given}"))
        before = "k.head"
        for number, (first, lanes) in enumerate(blocks(n)):
            with e.loop(f"c{number}", before, whole, size) as c:
                _channels(e, f"b{number}", f"c{number}.head", (x, to, c), first, lanes, size)
            before = f"c{number}.done"
            if whole < n.channels:
                at = (x, to, str(whole))
                before = _channels(e, f"q{number}", before, at, first, lanes, n.channels - whole)
    return [*e.lines, "  ret void", "}"]


def _channels(
    e: Emitter,
    name: str,
    before: str,
    at: tuple[str, str, str],
    first: int,
    lanes: list[int],
    count: int,
) -> str:
    """`count` channels read from at[2] on, over all pixels; the label after."""
    n, g = e.n, e.n.geometry
    x = e.at(at[0], at[2])
    to = e.at(at[1], e.emit(f"mul i64 {at[2]}, {n.given}"))
    to = e.at(to, first)
    sums = [f"{name}.{i}.{v}" for i in range(count) for v in range(len(lanes))]
    old, inside = f"%{name}.o.", f"%{name}.s."
    with e.loop(f"{name}h", before, g.rows[1]) as h:
        _phis(e, sums, old, inside, before, f"{name}h.latch")
        source = e.at(x, e.emit(f"mul i64 {h}, {g.mul[1] * n.plane[1] * n.channels}"))
        line = e.emit(f"mul i64 {h}, {g.rows[2] * n.given}")
        line = e.at("%g", e.emit(f"add i64 {line}, {first}"))
        with e.loop(f"{name}p", f"{name}h.head", g.rows[2]) as p:
            _phis(e, sums, f"%{name}.i.", inside, f"{name}h.head", f"{name}p.latch", old)
            here = e.at(line, e.emit(f"mul i64 {p}, {n.given}"))
            rows = [e.load(e.at(here, v * n.width), of) for v, of in enumerate(lanes)]
            from_ = e.at(source, e.emit(f"mul i64 {p}, {g.mul[2] * n.channels}"))
            for i in range(count):
                value = e.spread(e.at(from_, i))
                for v, row in enumerate(rows):
                    s = f"{name}.{i}.{v}"
                    e.named(f"{inside}{s}", e.fma_text(value, row, f"%{name}.i.{s}"))
    for i in range(count):
        for v, of in enumerate(lanes):
            place = e.at(to, i * n.given + v * n.width)
            total = e.emit(f"fadd {e.vector} {e.load(place, of)}, {inside}{name}.{i}.{v}")
            e.store(total, place, of)
    return f"{name}h.done"
