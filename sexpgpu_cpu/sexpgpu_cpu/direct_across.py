"""Convolutions that give few channels, as LLVM text: a vector is of the channels read.

An output is a chain of fma a lane over places and vectors of channels, and the lanes are added in
pairs. Weights lie given channel after given channel, and so does their gradient, which is a chain
over the pixels of each picture.
"""

from __future__ import annotations

import math

from .direct_emit import cleared, row_of, window
from .narrow import Phase
from .narrow_emit import Emitter

SUMS = 12
"""Sums at once: pixels, or places of the window, times the given channels."""


def _at_once(e: Emitter, count: int) -> int:
    """As many of `count` as there are sums, alike but for the last."""
    most = max(1, SUMS // e.n.given)
    return -(-count // -(-count // most))


def forward(e: Emitter) -> list[str]:
    """The result of one padded picture."""
    e.lines += ["define internal void @forward(ptr noalias %x, ptr noalias %w, ptr noalias %y) {"]
    e.lines.append("entry:")
    before = cleared(e)
    for number, phase in enumerate(p for p in e.n.phases if min(p.window)):
        with e.loop(f"h{number}", before, phase.rows[0] * phase.rows[1]) as h:
            at = row_of(e, h, phase)
            columns = phase.rows[2]
            size = _at_once(e, columns)
            whole = columns // size * size
            with e.loop(f"p{number}", f"h{number}.head", whole, size) as p:
                _pixels(e, f"t{number}", f"p{number}.head", at, p, phase, size)
            if whole < columns:
                rest = columns - whole
                _pixels(e, f"r{number}", f"p{number}.done", at, str(whole), phase, rest)
        before = f"h{number}.done"
    return [*e.lines, "  ret void", "}"]


def _pixels(
    e: Emitter, name: str, before: str, at: tuple[str, str], p: str, phase: Phase, count: int
) -> None:
    """`count` neighbours from p on: a loop over places of the window."""
    n, g = e.n, e.n.geometry
    x = e.at(at[0], e.times(p, g.mul[2] * n.channels))
    y = e.at(at[1], e.times(p, g.div[2] * n.given))
    sums = [f"{i}.{j}" for i in range(count) for j in range(n.given)]
    with e.loop(f"{name}k", before, math.prod(phase.window)) as k:
        e.phis(sums, f"%{name}.o.", f"%{name}.s.", before, f"{name}k.latch")
        reads, place = window(e, k, phase)
        where = e.at(x, reads), e.at("%w", e.times(place, n.channels))
        _vectors(e, name, where, sums, count)
    for i in range(count):
        for j in range(n.given):
            total = e.total(f"%{name}.s.{i}.{j}")
            to = e.at(y, i * g.div[2] * n.given + j)
            e.lines.append(f"  store {e.scalar} {total}, ptr {to}, align {n.bytes}")


def _vectors(e: Emitter, name: str, where: tuple[str, str], sums: list[str], count: int) -> None:
    """Vector after vector of a place's channels, the last one in part."""
    n = e.n
    whole = n.channels // n.width * n.width
    done = f"%{name}.{'w' if whole < n.channels else 's'}."
    begun = f"%{name}.o."
    if whole:
        with e.loop(f"{name}c", f"{name}k.head", whole, n.width) as c:
            e.phis(sums, f"%{name}.i.", done, f"{name}k.head", f"{name}c.latch", begun)
            _products(e, (f"%{name}.i.", done), where, c, count, n.width)
        begun = done
    if whole < n.channels:
        rest = n.channels - whole
        _products(e, (begun, f"%{name}.s."), where, str(whole), count, rest)


def _products(
    e: Emitter, sums: tuple[str, str], where: tuple[str, str], c: str, count: int, lanes: int
) -> None:
    n = e.n
    weights = e.at(where[1], c)
    rows = [e.load(e.at(weights, j * n.depth), lanes) for j in range(n.given)]
    from_ = e.at(where[0], c)
    for i in range(count):
        read = e.load(e.at(from_, i * n.geometry.mul[2] * n.channels), lanes)
        for j, weight in enumerate(rows):
            e.named(f"{sums[1]}{i}.{j}", e.fma_text(read, weight, f"{sums[0]}{i}.{j}"))


def part(e: Emitter) -> list[str]:
    """One padded picture and its gradient, added to a part of the weights' gradient."""
    n = e.n
    e.lines += ["define internal void @part(ptr noalias %x, ptr noalias %g, ptr noalias %to) {"]
    e.lines.append("entry:")
    before = "entry"
    size = _at_once(e, n.geometry.places)
    rest = n.channels % n.width
    whole = n.channels - rest
    for first in range(0, n.geometry.places, size):
        some = range(first, min(first + size, n.geometry.places))
        if whole:
            with e.loop(f"c{first}", before, whole, n.width) as c:
                _sums(e, f"b{first}", f"c{first}.head", c, some, n.width)
            before = f"c{first}.done"
        if rest:
            before = _sums(e, f"q{first}", before, str(whole), some, rest)
    return [*e.lines, "  ret void", "}"]


def _sums(e: Emitter, name: str, before: str, c: str, some: range, lanes: int) -> str:
    """A vector of channels at some places of the window, over all pixels; the label after."""
    n, g = e.n, e.n.geometry
    sums = [f"{k}.{j}" for k in some for j in range(n.given)]
    old, inside, new = (f"%{name}.{word}." for word in "osi")
    with e.loop(f"{name}h", before, g.rows[0] * g.rows[1]) as h:
        e.phis(sums, old, inside, before, f"{name}h.latch")
        x = e.at("%x", e.emit(f"add i64 {c}, {e.read_row(h)}"))
        line = e.at("%g", e.times(h, g.rows[2] * n.given))
        with e.loop(f"{name}p", f"{name}h.head", g.rows[2]) as p:
            e.phis(sums, new, inside, f"{name}h.head", f"{name}p.latch", old)
            pixel = e.at(x, e.times(p, g.mul[2] * n.channels))
            here = e.at(line, e.times(p, n.given))
            values = [e.spread(e.at(here, j)) for j in range(n.given)]
            for k in some:
                read = e.load(e.at(pixel, n.taps[k * n.channels]), lanes)
                for j, value in enumerate(values):
                    e.named(f"{inside}{k}.{j}", e.fma_text(read, value, f"{new}{k}.{j}"))
    for k in some:
        for j in range(n.given):
            place = e.at("%to", e.emit(f"add i64 {j * n.depth + k * n.channels}, {c}"))
            total = f"fadd {e.vector} {e.load(place, lanes)}, {inside}{k}.{j}"
            e.store(e.emit(total), place, lanes)
    return f"{name}h.done"
