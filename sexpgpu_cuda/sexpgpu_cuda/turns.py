"""Rows of matrices turned against each other until all are orthogonal (Hestenes), in f64.

A block has a matrix, a warp a pair of rows; the pairs of a round share no row, so nothing but
rounds is ordered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sexpgpu_core.kernels.target import Register

from .block import Block, Memory, room_of
from .frame import Frame, Side
from .layout import WARP
from .target import PtxTarget
from .written import Written, launch

Given = Mapping[str, Register]
SWEEPS = 40
"""Over all pairs, at most; 6 to 12 are usual."""
EPSILON = 2.0**-52


class Turned(NamedTuple):
    threads: int


class Turns:
    """The rows of g, and of w, which turn with them; a warp has a pair."""

    def __init__(self, b: Block, r: Given) -> None:
        self.b, self.r = b, r
        self.warp, self.lane = b.parts(b.lane, WARP)
        self.g = b.memory(r["g"], "f64", b.mul(r["short"], r["long"]))
        self.w = b.memory(r["w"], "f64", b.mul(r["short"], r["short"]))
        width = b.t.convert("sitofp", r["long"], "f64")
        self.allowed = b.times(b.root(width), EPSILON)

    def lanes(
        self, count: Register, state: list[Register], body: Callable[..., list[Register]]
    ) -> list[Register]:
        """Of the warp."""
        b = self.b

        def following(k: Register, *now: Register) -> list[Register]:
            return [b.add(k, WARP), *body(k, *now)]

        start = [self.lane, *state]
        return b.t.walk(start, lambda k, *_: b.is_("slt", k, count), following)[1:]

    def products(self, p: Register, q: Register) -> list[Register]:
        """p p', q q' and p q'."""
        b, long = self.b, self.r["long"]

        def add(k: Register, *sums: Register) -> list[Register]:
            x, y = self.g.load(b.at(p, long, k)), self.g.load(b.at(q, long, k))
            pairs = ((x, x), (y, y), (x, y))
            return [b.plus(s, b.times(*pair)) for s, pair in zip(sums, pairs)]

        found = self.lanes(long, [b.f64(0.0)] * 3, add)
        for mask in (16, 8, 4, 2, 1):
            found = [b.plus(x, b.t.across(x, mask)) for x in found]
        return found

    def turn(
        self, x: Memory, width: Register, pair: tuple[Register, Register], c: Register, s: Register
    ) -> None:
        b = self.b

        def one(k: Register) -> list[Register]:
            here, there = (b.at(i, width, k) for i in pair)
            first, second = x.load(here), x.load(there)
            x.store(b.minus(b.times(c, first), b.times(s, second)), here)
            x.store(b.plus(b.times(s, first), b.times(c, second)), there)
            return []

        self.lanes(width, [], one)

    def pair(self, p: Register, q: Register) -> Register:
        """Makes two rows orthogonal; whether they were not, as i32."""
        b, t = self.b, self.b.t
        one, two, both = self.products(p, q)
        most = b.times(b.times(b.root(one), b.root(two)), self.allowed)
        apart = b.more(b.size(both), most)

        def turned() -> Register:
            ratio = b.over(b.minus(two, one), b.times(both, 2.0))
            size = b.size(ratio)
            root = b.root(b.plus(b.times(size, size), 1.0))
            root = t.select(b.more(size, 1e100), size, root)
            tangent = b.over(1.0, b.plus(size, root))
            below = t.compare("olt", ratio, b.f64(0.0))
            tangent = t.select(below, t.negate(tangent), tangent)
            c = b.over(1.0, b.root(b.plus(b.times(tangent, tangent), 1.0)))
            s = b.times(c, tangent)
            self.turn(self.g, self.r["long"], (p, q), c, s)
            self.turn(self.w, self.r["short"], (p, q), c, s)
            return b.i32(1)

        return t.only(apart, b.i32(0), turned)


def _turned(t: PtxTarget, form: Turned, r: Given) -> None:
    """Rounds of pairs as in a tournament: row `rounds` stays, the others go round."""
    b = Block(t, form.threads)
    of, rounds, short = Turns(b, r), r["rounds"], r["short"]
    warps = form.threads // WARP

    def round(number: Register, some: Register) -> list[Register]:
        def pair(i: Register, before: Register) -> list[Register]:
            ahead = b.parts(b.add(number, i), rounds)[1]
            behind = b.parts(b.add(number, b.sub(rounds, i)), rounds)[1]
            alone = b.is_("eq", i, 0)
            ahead = t.select(alone, rounds, ahead)
            less = b.is_("slt", ahead, behind)
            p, q = t.select(less, ahead, behind), t.select(less, behind, ahead)
            there = b.is_("slt", q, short)
            return [t.binary("or", before, t.only(there, b.i32(0), lambda: of.pair(p, q)))]

        def following(i: Register, before: Register) -> list[Register]:
            return [b.add(i, warps), *pair(i, before)]

        found = t.walk([of.warp, some], lambda i, _: b.is_("slt", i, r["pairs"]), following)[1]
        b.barrier()
        return [found]

    def sweep(count: Register, some: Register) -> list[Register]:
        found = t.repeat(rounds, [b.i32(0)], round)[0]
        any_ = b.joined([found], lambda x, y: [t.binary("or", x[0], y[0])])[0]
        return [b.add(count, 1), any_]

    def going(count: Register, some: Register) -> Register:
        return t.binary("and", b.is_("slt", count, SWEEPS), b.is_("ne", some, 0))

    t.walk([b.i32(0), b.i32(1)], going, sweep)


TURNED = Written(_turned, ("g", "w"), ("items", "short", "long", "rounds", "pairs"))


def orthogonal_rows(frame: Frame, g: Side, w: Side, sizes: tuple[int, int, int]) -> None:
    """Of so many matrices (short long); w (short short) is turned like them."""
    count, short, long = sizes
    pairs = -(-short // 2)
    warps = 1 if pairs < 2 else 2 if pairs < 8 else 8
    form = Turned(WARP * warps)
    launch(frame, TURNED, form, ((g, True), (w, True)), (count, short, long, 2 * pairs - 1, pairs),
           blocks=count, threads=form.threads, room=room_of(form.threads))  # fmt: skip
