"""The weight gradient of convolutions without a gathered matrix, as LLVM text.

A weight's gradient is a chain over the pixels of each picture, and the pictures are added in order.
"""

from __future__ import annotations

from .direct_emit import even, of_groups, window
from .narrow import Band
from .narrow_emit import Emitter


def part(e: Emitter) -> list[str]:
    """One padded picture and its gradient, added to a part of the weights' gradient."""
    e.lines += ["define internal void @part(ptr noalias %x, ptr noalias %g, ptr noalias %to) {"]
    e.lines.append("entry:")
    before = "entry"
    for number, band in enumerate(e.n.bands):
        before = (_taps if e.n.lanes else _places)(e, str(number), before, band)
    return [*e.lines, "  ret void", "}"]


def _begun(e: Emitter, group: str, band: Band) -> tuple[str, str, str]:
    """Where a band's channels begin in the picture, its gradient and the weights' gradient."""
    first = band.begin // e.n.own * e.n.taken
    x = e.at("%x", e.emit(f"add i64 {first}, {e.times(group, band.read)}"))
    to = e.emit(f"add i64 {band.begin}, {e.times(group, band.given)}")
    return x, e.at("%g", to), e.at("%to", to)


def _places(e: Emitter, name: str, before: str, band: Band) -> str:
    """Place after place of the window, channels read together; the label after."""
    n = e.n
    size = even(n.taken)
    whole = n.taken // size * size
    phase = n.phases[0]
    with e.loop(f"g{name}", before, band.times) as group:
        x, g, to = _begun(e, group, band)
        with e.loop(f"k{name}", f"g{name}.head", n.geometry.places) as k:
            reads, place = window(e, k, phase)
            at = e.at(x, reads), g, e.at(to, e.times(place, n.taken * n.given))
            with e.loop(f"c{name}", f"k{name}.head", whole, size) as c:
                _sums(e, f"b{name}", f"c{name}.head", _from(e, at, c), band, range(size))
            if whole < n.taken:
                rest = range(n.taken - whole)
                _sums(e, f"q{name}", f"c{name}.done", _from(e, at, str(whole)), band, rest)
    return f"g{name}.done"


def _from(e: Emitter, at: tuple[str, str, str], channel: str) -> tuple[str, str, str]:
    return e.at(at[0], channel), at[1], e.at(at[2], e.times(channel, e.n.given))


def _taps(e: Emitter, name: str, before: str, band: Band) -> str:
    """Places and channels of groups beside each other, as many as there are sums."""
    size = even(e.n.depth)
    with e.loop(f"g{name}", before, band.times) as group:
        at = _begun(e, group, band)
        inner = f"g{name}.head"
        for first in range(0, e.n.depth, size):
            taps = range(first, min(first + size, e.n.depth))
            inner = _sums(e, f"t{name}.{first}", inner, at, band, taps)
    return f"g{name}.done"


def _sums(
    e: Emitter, name: str, before: str, at: tuple[str, str, str], band: Band, taps: range
) -> str:
    """Rows of weights over all pixels, added to what is there; the label after."""
    n, g = e.n, e.n.geometry
    sums = [f"{name}.{t}.{v}" for t in taps for v in range(len(band.vectors))]
    old, inside = f"%{name}.o.", f"%{name}.s."
    with e.loop(f"{name}h", before, g.rows[0] * g.rows[1]) as h:
        e.phis(sums, old, inside, before, f"{name}h.latch")
        x = e.at(at[0], e.read_row(h))
        line = e.at(at[1], e.times(h, g.rows[2] * n.given))
        with e.loop(f"{name}p", f"{name}h.head", g.rows[2]) as p:
            e.phis(sums, f"%{name}.i.", inside, f"{name}h.head", f"{name}p.latch", old)
            here = e.at(line, e.times(p, n.given))
            rows = [e.load(e.at(here, first), lanes) for first, lanes in band.vectors]
            pixel = e.at(x, e.times(p, g.mul[2] * n.channels))
            for s, value, row in _products(e, name, pixel, band, taps, rows):
                e.named(f"{inside}{s}", e.fma_text(value, row, f"%{name}.i.{s}"))
    for i in taps:
        for v, (first, lanes) in enumerate(band.vectors):
            place = e.at(at[2], i * n.given + first)
            total = f"fadd {e.vector} {e.load(place, lanes)}, {inside}{name}.{i}.{v}"
            e.store(e.emit(total), place, lanes)
    return f"{name}h.done"


def _products(
    e: Emitter, name: str, pixel: str, band: Band, taps: range, rows: list[str]
) -> list[tuple[str, str, str]]:
    """What meets at a pixel, for each sum: a channel read, and a vector of the gradient."""
    n = e.n
    found: list[tuple[str, str, str]] = []
    if not n.lanes:
        for i in taps:
            value = e.spread(e.at(pixel, i))
            found += [(f"{name}.{i}.{v}", value, row) for v, row in enumerate(rows)]
        return found
    for v, (first, lanes) in enumerate(band.vectors):
        from_ = e.at(pixel, first // n.own * n.taken)
        read: dict[int, str] = {}
        for t in taps:
            channel = t % n.taken
            tap = n.taps[t] - channel
            if tap not in read:
                read[tap] = e.load(e.at(from_, tap), lanes // n.own * n.taken)
            found.append((f"{name}.{t}.{v}", of_groups(e, read[tap], channel), rows[v]))
    return found
