"""ctc-alignment: sums over the alignments of label sequences, in logarithms (Graves and others,
2006). A warp has an example, its threads the states of a step; then a thread has a share.

Prefixes go ahead, suffixes back; a share adds its states in their order. An example with a length
or label that is not there is reported, and counts as empty.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from sexpgpu_core.ir.ops.alignment import UNIT
from sexpgpu_core.kernels import elements
from sexpgpu_core.kernels.target import Register, memory_kind

from .frame import Frame
from .layout import WARP
from .target import PtxTarget
from .written import Written, items, launch

Given = Mapping[str, Register]
NOTHING = -math.inf


class Form(NamedTuple):
    """Dtypes of labels, of their numbers and of the steps' numbers; `bare`: there is no place for
    a label."""

    labels: str
    steps: str
    counts: str
    bare: bool


def _read(t: PtxTarget, r: Given, name: str, at: Register, dtype: str) -> Register:
    """An integer as i32."""
    kind = memory_kind(dtype)
    return elements.resize(t, t.load(t.address(r[name], at, kind), kind), dtype, "i32")


def _i32(t: PtxTarget, number: int) -> Register:
    return t.constant("i32", number)


def _both(t: PtxTarget, a: Register, b: Register) -> Register:
    return t.binary("and", a, b)


def _check(t: PtxTarget, form: Form, r: Given) -> None:
    """A thread an example: how many steps and labels it has, 0 of both where one is wrong."""
    mine, zero = items(t, r["items"]), _i32(t, 0)
    steps = _read(t, r, "lengths", mine, form.steps)
    count = _read(t, r, "counts", mine, form.counts)
    good = _both(t, t.compare("sge", steps, zero), t.compare("sle", steps, r["steps"]))
    good = _both(t, good, t.compare("sge", count, zero))
    good = _both(t, good, t.compare("sle", count, r["width"]))
    first = t.binary("mul", mine, r["width"])
    one, walked = t.constant("i32", 1), t.select(good, count, zero)

    def known(k: Register, so_far: Register) -> list[Register]:
        label = _read(t, r, "labels", t.binary("add", first, k), form.labels)
        inside = t.compare("ult", label, r["classes"])
        return [t.binary("and", so_far, t.convert("zext", inside, "i32"))]

    if not form.bare:
        labels = t.repeat(walked, [one], known)[0]
        good = _both(t, good, t.compare("ne", labels, zero))
    for name, value in (("n", steps), ("k", count)):
        t.store(t.select(good, value, zero), t.address(r[name], mine, "i32"))
    t.branch(good, "done", "told")
    t.label("told")
    t.least(r["error"], t.convert("zext", mine, "i64"))


class Example:
    """The states of one example: blanks stand around every label."""

    def __init__(self, t: PtxTarget, form: Form, r: Given, mine: Register) -> None:
        self.t, self.form, self.r = t, form, r
        self.nothing = t.constant("f64", NOTHING)
        self.one, self.two = _i32(t, 1), _i32(t, 2)
        self.steps = t.load(t.address(r["n"], mine, "i32"), "i32")
        labels = t.load(t.address(r["k"], mine, "i32"), "i32")
        self.last = t.binary("mul", labels, self.two)
        self.first_label = t.binary("mul", mine, r["width"])
        self.first_step = t.binary("mul", mine, r["steps"])
        width = t.binary("mul", r["width"], self.two)
        self.states = t.binary("add", width, self.one)

    def _label(self, s: Register) -> Register:
        at = self.t.binary("lshr", s, self.one)
        at = self.t.binary("add", self.first_label, at)
        return _read(self.t, self.r, "labels", at, self.form.labels)

    def symbol(self, s: Register) -> Register:
        """Of a state."""
        t = self.t
        if self.form.bare:
            return self.r["blank"]
        odd = t.compare("ne", t.binary("and", s, self.one), _i32(t, 0))
        at = t.select(odd, s, self.one)
        return t.select(odd, self._label(at), self.r["blank"])

    def jumps(self, s: Register) -> Register:
        """Whether a state may follow the last but one before it: a label unlike the one before."""
        t = self.t
        if self.form.bare:
            return t.compare("ne", s, s)
        odd = t.compare("ne", t.binary("and", s, self.one), _i32(t, 0))
        may = _both(t, odd, t.compare("sge", s, _i32(t, 3)))
        at = t.select(may, s, _i32(t, 1))
        before = t.select(may, t.binary("sub", s, self.two), at)
        return _both(t, may, t.compare("ne", self._label(at), self._label(before)))

    def log(self, step: Register, s: Register) -> Register:
        """Of a step's probability of a state's class."""
        t = self.t
        row = t.binary("mul", t.binary("add", self.first_step, step), self.r["classes"])
        at = t.address(self.r["p"], t.binary("add", row, self.symbol(s)), "f64")
        return t.libm("log", t.load(at, "f64"))

    def place(self, name: str, step: Register, s: Register) -> Register:
        t = self.t
        row = t.binary("mul", t.binary("add", self.first_step, step), self.states)
        return t.address(self.r[name], t.binary("add", row, s), "f64")

    def there(self, name: str, step: Register, s: Register, test: Register) -> Register:
        """An element of a table, or the logarithm of 0 without a look at it."""
        return self.t.only(
            test, self.nothing, lambda: self.t.load(self.place(name, step, s), "f64")
        )

    def added(self, terms: list[Register]) -> Register:
        """The logarithm of the sum of some numbers' exponentials."""
        t = self.t
        most = terms[0]
        for x in terms[1:]:
            most = t.select(t.compare("ogt", x, most), x, most)
        none = t.compare("oeq", most, self.nothing)
        base = t.select(none, t.like(most, 0.0), most)
        total = None
        for x in terms:
            part = t.libm("exp", t.binary("fsub", x, base))
            total = part if total is None else t.binary("fadd", total, part)
        assert total is not None
        return t.select(none, self.nothing, t.binary("fadd", base, t.libm("log", total)))


def _by_steps(
    t: PtxTarget, form: Form, r: Given, make: Callable[[Example, Register, Register], None]
) -> None:
    """`make(example, k, state)` for each step k, all states of one before those of the next."""
    of = Example(t, form, r, t.special("ctaid.x"))
    lane, warp = t.special("tid.x"), _i32(t, WARP)
    rounds = t.binary("add", of.last, _i32(t, WARP))
    rounds = t.binary("udiv", rounds, warp)

    def step(k: Register) -> list[Register]:
        def some(round: Register) -> list[Register]:
            s = t.binary("add", t.binary("mul", round, warp), lane)
            inside, after = t.label_name(), t.label_name()
            t.branch(t.compare("sle", s, of.last), inside, after)
            t.label(inside)
            make(of, k, s)
            t.jump(after)
            t.label(after)
            return []

        t.repeat(rounds, [], some)
        t.barrier()
        return []

    t.repeat(of.steps, [], step)


def _ahead(t: PtxTarget, form: Form, r: Given) -> None:
    def make(of: Example, k: Register, s: Register) -> None:
        first = t.compare("eq", k, _i32(t, 0))
        before = t.select(first, k, t.binary("sub", k, of.one))
        later = t.compare("ne", k, _i32(t, 0))
        terms = [
            of.there("ahead", before, s, later),
            of.there("ahead", before, t.binary("sub", s, of.one),
                     _both(t, later, t.compare("sgt", s, _i32(t, 0)))),
            of.there("ahead", before, t.binary("sub", s, of.two), _both(t, later, of.jumps(s))),
        ]  # fmt: skip
        start = t.select(t.compare("slt", s, of.two), t.constant("f64", 0.0), of.nothing)
        value = t.select(first, start, of.added(terms))
        t.store(t.binary("fadd", value, of.log(k, s)), of.place("ahead", k, s))

    _by_steps(t, form, r, make)


def _behind(t: PtxTarget, form: Form, r: Given) -> None:
    """Of what follows a step; the own one is not in it."""

    def make(of: Example, k: Register, s: Register) -> None:
        end = t.binary("sub", of.steps, of.one)
        step, first = t.binary("sub", end, k), t.compare("eq", k, _i32(t, 0))
        following = t.select(first, step, t.binary("add", step, of.one))
        later = t.compare("ne", k, _i32(t, 0))

        def term(further: int, test: Register) -> Register:
            after = t.binary("add", s, _i32(t, further))
            found = of.there("behind", following, after, test)
            seen = t.select(test, after, s)
            return t.binary("fadd", found, of.log(following, seen))

        two = t.binary("add", s, of.two)
        near = t.compare("slt", s, of.last)
        far = t.compare("sle", two, of.last)
        far = _both(t, far, of.jumps(t.select(far, two, of.one)))
        terms = [term(0, later), term(1, _both(t, later, near)), term(2, _both(t, later, far))]
        ends = t.compare("sge", s, t.binary("sub", of.last, of.one))
        start = t.select(ends, t.constant("f64", 0.0), of.nothing)
        t.store(t.select(first, start, of.added(terms)), of.place("behind", step, s))

    _by_steps(t, form, r, make)


def _totals(t: PtxTarget, form: Form, r: Given) -> None:
    """A thread an example: m and k of m 2^(256 k), and the logarithm itself."""
    mine = items(t, r["items"])
    of, zero = Example(t, form, r, mine), _i32(t, 0)
    some = t.compare("sgt", of.steps, zero)
    end = t.select(some, t.binary("sub", of.steps, of.one), zero)
    two = _both(t, some, t.compare("sgt", of.last, zero))
    terms = [
        of.there("ahead", end, of.last, some),
        of.there("ahead", end, t.binary("sub", of.last, of.one), two),
    ]
    sure = t.select(t.compare("eq", of.last, zero), t.constant("f64", 0.0), of.nothing)
    total = t.select(some, of.added(terms), sure)
    t.store(total, t.address(r["total"], mine, "f64"))
    none = t.compare("oeq", total, of.nothing)
    unit = t.constant("f64", UNIT * math.log(2))
    high = t.call("llvm.floor.f64", "f64", 1, (t.binary("fdiv", total, unit),))
    high = t.binary("fadd", high, t.constant("f64", 1.0))
    high = t.select(none, t.like(high, 0.0), high)
    low = t.libm("exp", t.binary("fsub", total, t.binary("fmul", high, unit)))
    t.store(t.select(none, t.like(low, 0.0), low), t.address(r["mantissa"], mine, "f64"))
    t.store(high, t.address(r["exponent"], mine, "f64"))


def _shares(t: PtxTarget, form: Form, r: Given) -> None:
    """A thread a share: the states of its class, in their order."""
    mine = items(t, r["items"])
    row = t.binary("udiv", mine, r["classes"])
    class_ = t.binary("urem", mine, r["classes"])
    example = t.binary("udiv", row, r["steps"])
    step = t.binary("urem", row, r["steps"])
    of, zero = Example(t, form, r, example), t.constant("f64", 0.0)
    total = t.load(t.address(r["total"], example, "f64"), "f64")
    good = _both(t, t.compare("slt", step, of.steps), t.compare("one", total, of.nothing))
    count = t.select(good, t.binary("add", of.last, of.one), _i32(t, 0))

    def add(s: Register, so_far: Register) -> list[Register]:
        both = t.binary(
            "fadd", t.load(of.place("ahead", step, s), "f64"),
            t.load(of.place("behind", step, s), "f64"),
        )  # fmt: skip
        share = t.libm("exp", t.binary("fsub", both, total))
        mine_too = t.compare("eq", of.symbol(s), class_)
        return [t.binary("fadd", so_far, t.select(mine_too, share, zero))]

    t.store(t.repeat(count, [zero], add)[0], t.address(r["shares"], mine, "f64"))


SIZES = ("items", "steps", "classes", "width", "blank")
CHECK = Written(_check, ("labels", "lengths", "counts", "n", "k", "error"), SIZES)
READ = ("p", "labels", "n", "k")
AHEAD = Written(_ahead, (*READ, "ahead"), SIZES)
BEHIND = Written(_behind, (*READ, "behind"), SIZES)
TOTALS = Written(_totals, (*READ, "ahead", "total", "mantissa", "exponent"), SIZES)
SHARES = Written(_shares, (*READ, "ahead", "behind", "total", "shares"), SIZES)


def alignment(frame: Frame) -> None:
    p, labels, lengths, counts = frame.call.inputs
    rows, steps, classes = p.shape
    width = labels.shape[1]
    if not rows:
        return
    form = Form(labels.dtype, lengths.dtype, counts.dtype, width == 0)
    sizes = (steps, classes, width, int(frame.attribute("blank", 0)))
    read = [(frame.dense(k), False) for k in range(4)]
    n, k = frame.room("i32", (rows,)), frame.room("i32", (rows,))
    launch(frame, CHECK, form, (*read[1:], (n, True), (k, True)), (rows, *sizes))
    given = (*read[:2], (n, False), (k, False))
    ahead, behind = (frame.room("f64", (rows, max(steps, 1), 2 * width + 1)) for _ in range(2))
    for kernel, table in ((AHEAD, ahead), (BEHIND, behind)):
        sides = (*given, (table, True))
        launch(frame, kernel, form, sides, (rows, *sizes), blocks=rows, threads=WARP)
    total = frame.room("f64", (rows,))
    written = ((total, True), (frame.output(0), True), (frame.output(1), True))
    launch(frame, TOTALS, form, (*given, (ahead, False), *written), (rows, *sizes))
    if steps:
        tables = ((ahead, False), (behind, False), (total, False), (frame.output(2), True))
        launch(frame, SHARES, form, (*given, *tables), (rows * steps * classes, *sizes))


ROWS: dict[str, Callable[[Frame], None]] = {"ctc-alignment": alignment}
