"""Convolutions without a gathered matrix, as LLVM text: pixels of the padded picture meet rows of
the weights as they lie.

An output is one chain of fma over places and channels in order. Where groups lie beside each other
in a vector, a channel of each is met by one shuffle of what was read.
"""

from __future__ import annotations

import math

from .narrow import Band, Phase
from .narrow_emit import Emitter

PIXELS = 12
"""Sums at once, times vectors of the given channels."""


def even(count: int) -> int:
    """Parts of `count` that are alike but for the last, PIXELS at most."""
    return -(-count // -(-count // PIXELS))


def forward(e: Emitter) -> list[str]:
    """The result of one padded picture."""
    e.lines += ["define internal void @forward(ptr noalias %x, ptr noalias %w, ptr noalias %y) {"]
    e.lines.append("entry:")
    before = cleared(e)
    for number, phase in enumerate(p for p in e.n.phases if min(p.window)):
        for band, of in enumerate(e.n.bands):
            before = _rows(e, f"{number}b{band}", before, phase, of)
    return [*e.lines, "  ret void", "}"]


def cleared(e: Emitter) -> str:
    """What no place of the window gives is 0; the label after."""
    if any(not min(p.window) for p in e.n.phases):
        size = math.prod(e.n.geometry.rows) * e.n.given * e.n.bytes
        e.lines.append(f"  call void @llvm.memset.p0.i64(ptr %y, i8 0, i64 {size}, i1 false)")
    return "entry"


def _rows(e: Emitter, name: str, before: str, phase: Phase, band: Band) -> str:
    """All rows of a band; the label after. Weights of a wide group stay near over all rows; of
    groups beside each other, the rows of the picture do over all bands."""
    counts = {"h": phase.rows[0] * phase.rows[1], "g": band.times}
    order = "hg" if e.n.lanes else "gh"
    outer, inner = (f"{letter}{name}" for letter in order)
    with e.loop(outer, before, counts[order[0]]), e.loop(inner, f"{outer}.head", counts[order[1]]):
        x, y = row_of(e, f"%h{name}", phase)
        x = e.at(
            x,
            e.emit(
                f"add i64 {band.begin // e.n.own * e.n.taken}, {e.times('%g' + name, band.read)}"
            ),
        )
        to = e.emit(f"add i64 {band.begin}, {e.times('%g' + name, band.given)}")
        at = (x, e.at("%w", to), e.at(y, to))
        columns = phase.rows[2]
        size = even(columns)
        whole = columns // size * size
        with e.loop(f"p{name}", f"{inner}.head", whole, size) as p:
            _pixels(e, f"t{name}", f"p{name}.head", at, p, phase, band, size)
        if whole < columns:
            last = str(whole)
            _pixels(e, f"r{name}", f"p{name}.done", at, last, phase, band, columns - whole)
    return f"{outer}.done"


def row_of(e: Emitter, h: str, phase: Phase) -> tuple[str, str]:
    """Where row h of a phase begins, in the padded picture and in the result."""
    n, g = e.n, e.n.geometry
    row, line = n.plane[2] * n.channels, g.rows[2] * n.given
    sheet, leaf = n.plane[1] * row, g.rows[1] * line
    reads = (phase.reads[0], sheet), (phase.reads[1], row), (phase.reads[2], n.channels)
    first = (phase.first[0], leaf), (phase.first[1], line), (phase.first[2], n.given)
    x = e.row(h, phase.rows, g.mul[0] * sheet, g.mul[1] * row)
    y = e.row(h, phase.rows, g.div[0] * leaf, g.div[1] * line)
    x = e.emit(f"add i64 {x}, {sum(a * b for a, b in reads)}")
    y = e.emit(f"add i64 {y}, {sum(a * b for a, b in first)}")
    return e.at("%x", x), e.at("%y", y)


def window(e: Emitter, k: str, phase: Phase) -> tuple[str, str]:
    """Of the k-th place of a phase: how far it reads in the padded picture, and its number among
    the window's places, which are the weights' rows."""
    n, g = e.n, e.n.geometry
    row = e.emit(f"udiv i64 {k}, {phase.window[2]}")
    column = e.emit(f"urem i64 {k}, {phase.window[2]}")
    wide = n.plane[2] * n.channels
    down = e.row(row, phase.window, phase.step[0] * n.plane[1] * wide, phase.step[1] * wide)
    reads = e.emit(f"add i64 {down}, {e.times(column, phase.step[2] * n.channels)}")
    begin = (phase.places[0] * g.window[1] + phase.places[1]) * g.window[2] + phase.places[2]
    sheet = phase.jump[0] * g.window[1] * g.window[2]
    line = e.row(row, phase.window, sheet, phase.jump[1] * g.window[2])
    line = e.emit(f"add i64 {begin}, {line}")
    return reads, e.emit(f"add i64 {line}, {e.times(column, phase.jump[2])}")


def _pixels(
    e: Emitter,
    name: str,
    before: str,
    at: tuple[str, str, str],
    p: str,
    phase: Phase,
    band: Band,
    count: int,
) -> None:
    """`count` neighbours from p on: loops over places of the window and channels."""
    n, g = e.n, e.n.geometry
    x = e.at(at[0], e.times(p, g.mul[2] * n.channels))
    y = e.at(at[2], e.times(p, g.div[2] * n.given))
    sums = [f"{name}.{i}.{v}" for i in range(count) for v in range(len(band.vectors))]
    with e.loop(f"{name}k", before, math.prod(phase.window)) as k:
        e.phis(sums, f"%{name}.o.", f"%{name}.s.", before, f"{name}k.latch")
        reads, place = window(e, k, phase)
        where = e.at(x, reads), e.at(at[1], e.times(place, n.taken * n.given))
        (_beside if n.lanes else _channels)(e, name, where, band, count)
    for i in range(count):
        for v, (first, lanes) in enumerate(band.vectors):
            to = e.at(y, i * g.div[2] * n.given + first)
            e.store(f"%{name}.s.{name}.{i}.{v}", to, lanes)


def _channels(e: Emitter, name: str, where: tuple[str, str], band: Band, count: int) -> None:
    """A channel read, in all lanes, meets the vectors of its group."""
    n = e.n
    sums = [f"{name}.{i}.{v}" for i in range(count) for v in range(len(band.vectors))]
    with e.loop(f"{name}c", f"{name}k.head", n.taken) as c:
        inside = f"%{name}.s."
        e.phis(sums, f"%{name}.i.", inside, f"{name}k.head", f"{name}c.latch", f"%{name}.o.")
        weights = e.at(where[1], e.times(c, n.given))
        rows = [e.load(e.at(weights, first), lanes) for first, lanes in band.vectors]
        from_ = e.at(where[0], c)
        for i in range(count):
            value = e.spread(e.at(from_, i * n.geometry.mul[2] * n.channels))
            for v, weight in enumerate(rows):
                s = f"{name}.{i}.{v}"
                e.named(f"{inside}{s}", e.fma_text(value, weight, f"%{name}.i.{s}"))


def _beside(e: Emitter, name: str, where: tuple[str, str], band: Band, count: int) -> None:
    """Channel after channel of the groups in a vector meets theirs."""
    n = e.n
    for v, (first, lanes) in enumerate(band.vectors):
        rows = [e.load(e.at(where[1], c * n.given + first), lanes) for c in range(n.taken)]
        x = e.at(where[0], first // n.own * n.taken)
        for i in range(count):
            read = e.load(e.at(x, i * n.geometry.mul[2] * n.channels), lanes // n.own * n.taken)
            s = f"%{name}.o.{name}.{i}.{v}"
            for c, weight in enumerate(rows):
                last = c == n.taken - 1
                text = e.fma_text(of_groups(e, read, c), weight, s)
                s = f"%{name}.s.{name}.{i}.{v}" if last else f"%{name}.{c}.{i}.{v}"
                e.named(s, text)


def of_groups(e: Emitter, read: str, channel: int) -> str:
    """A channel of each group in the lanes of the group, out of a vector of all their channels."""
    n = e.n
    if n.taken == n.own == 1:
        return read
    lanes = [min(j // n.own * n.taken + channel, n.width - 1) for j in range(n.width)]
    order = ", ".join(f"i32 {lane}" for lane in lanes)
    return e.emit(
        f"shufflevector {e.vector} {read}, {e.vector} poison, <{n.width} x i32> <{order}>"
    )
