"""argsort and top-k: bitonic sorting of (key, place), where equal keys stand by their places.

A key is the number that an element's bits make of it, so that order is that of unsigned integers;
NaN has the greatest. Rows of at most MOST elements are sorted in a block's own memory by one
launch, longer ones a stage a launch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sexpgpu_core.ir.types import UNSIGNED, WIDTH, is_float
from sexpgpu_core.kernels import elements
from sexpgpu_core.kernels.target import BITS, Register, memory_kind

from .frame import Frame, Side
from .indexing import around
from .target import PtxTarget
from .written import THREADS, Written, items, launch

MOST = 2048
"""Elements of a row that a block sorts: 12 bytes each of its 48 KB, two a thread."""


class Form(NamedTuple):
    """`length`: elements of a row, filled up to a power of two, where a block has it (else 0)."""

    dtype: str
    descending: bool
    values: bool
    length: int

    @property
    def key(self) -> str:
        """The kind of a key."""
        return "i64" if WIDTH[self.dtype] == 8 else "i32"

    @property
    def rows(self) -> int:
        """Of a block."""
        return max(THREADS // (self.length // 2), 1)


Given = Mapping[str, Register]
Pair = tuple[Register, Register]


def number(t: PtxTarget, form: Form, x: Register) -> Register:
    """An element's key."""
    if is_float(form.dtype):
        x = t.binary("fadd", x, t.like(x, 0.0))  # -0 is 0
        bits = t.convert("bitcast", x, form.key)
        negative = t.compare("slt", bits, t.like(bits, 0))
        key = t.select(negative, t.like(bits, -1), t.like(bits, 1 << (BITS[form.key] - 1)))
        key = t.binary("xor", bits, key)
    else:
        key = elements.resize(t, x, form.dtype, form.key)
        if form.dtype not in UNSIGNED:
            key = t.binary("xor", key, t.like(key, 1 << (BITS[form.key] - 1)))
    if form.descending:
        key = t.binary("xor", key, t.like(key, -1))
    if is_float(form.dtype):
        key = t.select(t.compare("uno", x, x), t.like(key, -1), key)
    return key


class Line:
    """Where the keys and places of a row lie. `begin`: the row's first element."""

    def __init__(
        self, t: PtxTarget, form: Form, begin: Register, at: Callable[[str, Register], Register]
    ) -> None:
        self.t, self.form, self.begin, self._at = t, form, begin, at

    def take(self, place: Register) -> Pair:
        spot = self.t.binary("add", self.begin, place)
        key, index = self._at(self.form.key, spot), self._at("place", spot)
        return self._load(key, self.form.key), self._load(index, "i32")

    def put(self, place: Register, pair: Pair) -> None:
        spot = self.t.binary("add", self.begin, place)
        self._store(pair[0], self._at(self.form.key, spot))
        self._store(pair[1], self._at("place", spot))

    def _load(self, at: Register, kind: str) -> Register:
        return self.t.take(at, kind) if at.kind == "shared" else self.t.load(at, kind)

    def _store(self, value: Register, at: Register) -> None:
        (self.t.put if at.kind == "shared" else self.t.store)(value, at)


def shared_line(t: PtxTarget, form: Form, begin: Register) -> Line:
    """In the block's memory: keys of all its rows, then places."""
    keys = form.rows * form.length * BITS[form.key] // 32

    def at(kind: str, spot: Register) -> Register:
        if kind == "place":
            return t.shared("i32", t.binary("add", spot, t.constant("i32", keys)))
        return t.shared(kind, spot)

    return Line(t, form, begin, at)


def global_line(t: PtxTarget, form: Form, r: Given, begin: Register) -> Line:
    def at(kind: str, spot: Register) -> Register:
        name, kind = ("places", "i32") if kind == "place" else ("keys", kind)
        return t.address(r[name], spot, kind)

    return Line(t, form, begin, at)


def source(t: PtxTarget, r: Given, row: Register) -> Register:
    """The first element of a row of x (O N I)."""
    o, i = t.binary("udiv", row, r["inner"]), t.binary("urem", row, r["inner"])
    first = t.binary("mul", t.binary("mul", o, r["size"]), r["inner"])
    return t.binary("add", first, i)


def fill(t: PtxTarget, form: Form, r: Given, line: Line, row: Register, place: Register) -> None:
    """A place of the line: its element's key, or the last of all where there is none."""
    inside = t.compare("slt", place, r["size"])
    near = t.select(inside, place, t.constant("i32", 0))
    at = t.binary("add", source(t, r, row), t.binary("mul", near, r["inner"]))
    x = elements.load(t, t.address(r["x"], at, memory_kind(form.dtype)), form.dtype, 1)
    key = number(t, form, x)
    line.put(place, (t.select(inside, key, t.like(key, -1)), place))


def exchange(t: PtxTarget, line: Line, pair: Register, block: Register, step: Register) -> None:
    """Two places, `step` apart, in the order that the bitonic blocks of 2 `block` ask for."""
    low = t.binary("and", pair, t.binary("sub", step, t.constant("i32", 1)))
    first = t.binary("sub", t.binary("shl", pair, t.constant("i32", 1)), low)
    second = t.binary("add", first, step)
    (a, i), (b, j) = line.take(first), line.take(second)
    tie = t.binary("and", t.compare("eq", a, b), t.compare("sgt", i, j))
    after = t.binary("or", t.compare("ugt", a, b), tie)
    down = t.compare("ne", t.binary("and", first, block), t.constant("i32", 0))
    swap = t.binary("xor", after, down)
    line.put(first, (t.select(swap, b, a), t.select(swap, j, i)))
    line.put(second, (t.select(swap, a, b), t.select(swap, i, j)))


def give(t: PtxTarget, form: Form, r: Given, line: Line, row: Register, place: Register) -> None:
    """The index (and element) that stands at a place, where it is wanted."""
    yes, after = t.label_name(), t.label_name()
    t.branch(t.compare("slt", place, r["wanted"]), yes, after)
    t.label(yes)
    o, i = t.binary("udiv", row, r["inner"]), t.binary("urem", row, r["inner"])
    line_of = t.binary("add", t.binary("mul", o, r["wanted"]), place)
    at = t.binary("add", t.binary("mul", line_of, r["inner"]), i)
    _, index = line.take(place)
    t.store(index, t.address(r["result"], at, "i32"))
    if form.values:
        kind = memory_kind(form.dtype)
        from_ = t.binary("add", source(t, r, row), t.binary("mul", index, r["inner"]))
        t.store(t.load(t.address(r["x"], from_, kind), kind), t.address(r["values"], at, kind))
    t.jump(after)
    t.label(after)


def _block(t: PtxTarget, form: Form, r: Given) -> None:
    """Whole rows of a block; threads without a row work on the last one, and give nothing."""
    half, one = t.constant("i32", form.length // 2), t.constant("i32", 1)
    thread = t.special("tid.x")
    slot, pair = t.binary("udiv", thread, half), t.binary("urem", thread, half)
    mine = t.binary("mul", t.special("ctaid.x"), t.constant("i32", form.rows))
    mine = t.binary("add", mine, slot)
    there = t.compare("slt", mine, r["items"])
    row = t.select(there, mine, t.binary("sub", r["items"], one))
    line = shared_line(t, form, t.binary("mul", slot, t.constant("i32", form.length)))
    both = (pair, t.binary("add", pair, half))
    for place in both:
        fill(t, form, r, line, row, place)

    def stage(k: Register) -> list[Register]:
        def pass_(j: Register) -> list[Register]:
            t.barrier()
            step = t.binary("shl", one, t.binary("sub", k, j))
            exchange(t, line, pair, t.binary("shl", t.constant("i32", 2), k), step)
            return []

        return t.repeat(t.binary("add", k, one), [], pass_)

    t.repeat(t.constant("i32", form.length.bit_length() - 1), [], stage)
    t.barrier()
    t.branch(there, "give", "done")
    t.label("give")
    for place in both:
        give(t, form, r, line, row, place)


def _spread(t: PtxTarget, form: Form, r: Given) -> None:
    mine = items(t, r["items"])
    row, place = t.binary("udiv", mine, r["length"]), t.binary("urem", mine, r["length"])
    line = global_line(t, form, r, t.binary("mul", row, r["length"]))
    fill(t, form, r, line, row, place)


def _exchange(t: PtxTarget, form: Form, r: Given) -> None:
    mine = items(t, r["items"])
    row, pair = t.binary("udiv", mine, r["half"]), t.binary("urem", mine, r["half"])
    length = t.binary("shl", r["half"], t.constant("i32", 1))
    line = global_line(t, form, r, t.binary("mul", row, length))
    exchange(t, line, pair, r["block"], r["step"])


def _give(t: PtxTarget, form: Form, r: Given) -> None:
    mine = items(t, r["items"])
    row, place = t.binary("udiv", mine, r["wanted"]), t.binary("urem", mine, r["wanted"])
    line = global_line(t, form, r, t.binary("mul", row, r["length"]))
    give(t, form, r, line, row, place)


BLOCK = Written(_block, ("x", "result", "values"), ("items", "size", "inner", "wanted"))
SPREAD = Written(_spread, ("x", "keys", "places"), ("items", "size", "inner", "length"))
EXCHANGE = Written(_exchange, ("keys", "places"), ("items", "half", "block", "step"))
GIVE = Written(
    _give,
    ("x", "result", "values", "keys", "places"),
    ("items", "size", "inner", "wanted", "length"),
)


def ordered(
    frame: Frame, x: Side, shape: tuple[int, int, int], result: Side, wanted: int,
    values: Side | None = None, descending: bool = False,
) -> None:  # fmt: skip
    """The first `wanted` indices in order of every row of x (O N I), and those elements."""
    outer, size, inner = shape
    rows, length = outer * inner, max(1 << max(size - 1, 0).bit_length(), 2)
    if not rows or not wanted:
        return None
    kept = (result, True), (values or result, values is not None)
    if length > MOST:
        form = Form(x.dtype, descending, values is not None, 0)
        return _long(frame, form, x, kept, (rows, size, inner, wanted, length))
    form = Form(x.dtype, descending, values is not None, length)
    threads = form.rows * length // 2
    launch(
        frame, BLOCK, form, ((x, False), *kept), (rows, size, inner, wanted),
        blocks=-(-rows // form.rows), threads=threads,
        room=form.rows * length * (BITS[form.key] // 8 + 4),
    )  # fmt: skip
    return None


def _long(
    frame: Frame, form: Form, x: Side, kept: tuple[tuple[Side, bool], tuple[Side, bool]],
    sizes: tuple[int, int, int, int, int],
) -> None:  # fmt: skip
    rows, size, inner, wanted, length = sizes
    keys = frame.room("i64" if form.key == "i64" else "i32", (rows * length,))
    places = frame.room("i32", (rows * length,))
    both = ((keys, True), (places, True))
    launch(frame, SPREAD, form, ((x, False), *both), (rows * length, size, inner, length))
    for k in range(length.bit_length() - 1):
        for j in range(k, -1, -1):
            numbers = (rows * length // 2, length // 2, 2 << k, 1 << j)
            launch(frame, EXCHANGE, form._replace(dtype=form.key, values=False), both, numbers)
    read = ((keys, False), (places, False))
    given = ((x, False), *kept, *read)
    launch(frame, GIVE, form, given, (rows * wanted, size, inner, wanted, length))


def argsort(frame: Frame) -> None:
    shape = around(frame.call.inputs[0].shape, frame.attribute("axis"))
    down = bool(frame.attribute("descending"))
    ordered(frame, frame.dense(0), shape, frame.output(0), shape[1], descending=down)


def top_k(frame: Frame) -> None:
    shape = around(frame.call.inputs[0].shape, frame.attribute("axis"))
    wanted, down = frame.attribute("k"), not frame.attribute("smallest")
    ordered(frame, frame.dense(0), shape, frame.output(1), wanted, frame.output(0), descending=down)


ROWS: dict[str, Callable[[Frame], None]] = {"argsort": argsort, "top-k": top_k}
