"""The block of a tiled product: tiles of both operands in shared memory, a part of the result in
each thread's registers.

result[b, m, n] = end(sum over k of x[b, m, k] y[b, k, n]). Each of b, m and k runs over axes of its
own, and x may lie behind windows, so a convolution is such a product. An element is summed by one
thread in the order of k: its bits depend on no tile and no grid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sexpgpu_core.ir.types import WIDTH, is_float
from sexpgpu_core.kernels import elements
from sexpgpu_core.kernels.target import BITS, Register, memory_kind, register_kind

from .target import PtxTarget

THREADS = 256
ROOT, CUBIC = 0.7978845608028654, 0.044715
"""Of the tanh form of GELU: sqrt(2 / pi), and what x^3 is scaled by."""

UNROLLED = 8
"""Elements of the sums that are written one after another; more would not stay in registers."""

Given = Mapping[str, Register]


class Tile(NamedTuple):
    """Rows and columns of a block's part of the result, elements of a step of the sums; rows and
    columns of a thread's part."""

    rows: int
    columns: int
    inner: int
    high: int
    wide: int


TILES = {
    8: Tile(32, 32, 16, 2, 2),
    4: Tile(64, 64, 16, 4, 4),
    2: Tile(64, 64, 32, 4, 4),
    1: Tile(64, 64, 32, 4, 4),
}
"""By bytes of an element: a thread brings 16 bytes of each operand a step (8 of bytes)."""


class Along(NamedTuple):
    """How an operand is read: neighbouring threads (and `lanes` of a thread) along the inner axis
    or across it."""

    inner: bool
    lanes: int


class Form(NamedTuple):
    """All that the code depends on. `batch`, `rows`, `inner`: how many axes; `windows`: how many
    of x's axes lie behind windows, which begin at axis `first` of rows and of inner; `apart`:
    places in windows are whole only at multiples; `wide`: operands have more than 2^31 elements."""

    operation: str
    dtype: str
    batch: int
    rows: int
    inner: int
    left: Along
    right: Along
    windows: int = 0
    first: tuple[int, int] = (0, 0)
    apart: bool = False
    wide: bool = False

    @property
    def tile(self) -> Tile:
        return TILES[WIDTH[self.dtype]]

    @property
    def room(self) -> int:
        """Bytes of shared memory."""
        elements = self.tile.inner * (self.tile.rows + self.tile.columns)
        return elements * BITS[register_kind(self.dtype)] // 8


def _biased(t: PtxTarget, sums: Register, bias: Register) -> list[Register]:
    return [t.binary("fadd", sums, bias)]


def _gelu(t: PtxTarget, sums: Register, bias: Register) -> list[Register]:
    given = t.binary("fadd", sums, bias)
    return [t.binary("fmul", given, _share(t, given)), given]


def _slope(t: PtxTarget, sums: Register, given: Register) -> list[Register]:
    share, one = _share(t, given), t.like(sums, 1)
    square = t.binary("fmul", given, given)
    rise = t.binary("fadd", one, t.binary("fmul", t.like(sums, 3 * CUBIC), square))
    rise = t.binary("fmul", t.like(sums, 2 * ROOT), rise)
    bend = t.binary("fmul", t.binary("fmul", given, share), t.binary("fsub", one, share))
    return [t.binary("fmul", sums, t.binary("fadd", share, t.binary("fmul", bend, rise)))]


def _share(t: PtxTarget, x: Register) -> Register:
    """(1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, as the sigmoid of twice that: where it is
    next to 0 nothing cancels."""
    cubic = t.binary("fmul", t.like(x, CUBIC), t.binary("fmul", x, x))
    cubic = t.binary("fadd", t.like(x, 1), cubic)
    twice = t.binary("fmul", t.binary("fmul", t.like(x, 2 * ROOT), x), cubic)
    return elements.element(t, "sigmoid", x.kind, x.kind, [twice])


ENDS: dict[str, Callable[..., list[Register]]] = {
    "matmul-bias": _biased,
    "matmul-gelu": _gelu,
    "matmul-gelu-slope": _slope,
}
"""Sums and the third operand to the results, before they are rounded; others give the sums."""


def results(operation: str) -> tuple[str, ...]:
    return ("result", "kept") if operation == "matmul-gelu" else ("result",)


def pointers(operation: str) -> tuple[str, ...]:
    """Of the kernel, in the order of the call's operands and results."""
    return ("x", "y", *(("third",) if operation in ENDS else ()), *results(operation))


def numbers(form: Form) -> tuple[str, ...]:
    """Names of the kernel's sizes and strides."""
    axes = {"batch": form.batch, "rows": form.rows, "inner": form.inner, "columns": 1}
    found = ["rows", "columns", "inner", "steps", "across", "down"]
    for word in ("batch", "rows", "inner"):
        found += [f"{word}_{a}" for a in range(axes[word])]
    for name in pointers(form.operation):
        for word in OF.get(name, ("batch", "rows", "columns")):
            found += [f"{name}_{word}_{a}" for a in range(axes[word])]
    for w in range(form.windows):
        found += [f"{word}_{w}" for word in WINDOW]
    return tuple(found)


OF = {"x": ("batch", "rows", "inner"), "y": ("batch", "inner", "columns")}
"""Axes of an operand; of others those of the result."""
WINDOW = ("by_row", "by_inner", "start", "limit", "divisor", "step")
"""A place on an axis of x: (row by_row + inner by_inner + start) / divisor, below limit; `step`:
the stride of x there."""


class Block:
    """One block's work being printed."""

    def __init__(self, t: PtxTarget, form: Form, r: Given) -> None:
        self.t, self.form, self.r, self.tile = t, form, r, form.tile
        self.kind = register_kind(form.dtype)
        self.thread, block = t.special("tid.x"), t.special("ctaid.x")
        above, column = self.t.parted(block, r["across"])
        batch, row = self.t.parted(above, r["down"])
        self.row = self._times(row, self.tile.rows)
        self.column = self._times(column, self.tile.columns)
        self.batch = self._split(batch, "batch")

    # Numbers
    def _i32(self, number: int) -> Register:
        return self.t.constant("i32", number)

    def _plus(self, a: Register, b: Register | int) -> Register:
        return self.t.binary("add", a, self._i32(b) if isinstance(b, int) else b)

    def _times(self, a: Register, b: int) -> Register:
        return self.t.binary("mul", a, self._i32(b))

    def _split(self, flat: Register, word: str) -> list[Register]:
        """Places on axes, the last one the fastest."""
        count = {"batch": self.form.batch, "rows": self.form.rows, "inner": self.form.inner}[word]
        found: list[Register] = []
        for axis in reversed(range(1, count)):
            flat, rest = self.t.parted(flat, self.r[f"{word}_{axis}"])
            found.insert(0, rest)
        return [flat, *found] if count else []

    def _offset(self, name: str, **at: list[Register]) -> Register:
        found = self.t.constant("i64" if self.form.wide else "i32", 0)
        for word, places in at.items():
            for axis, place in enumerate(places):
                found = self._moved(found, place, self.r[f"{name}_{word}_{axis}"])
        return found

    def _moved(self, offset: Register, place: Register, stride: Register) -> Register:
        pair = (place, stride)
        if self.form.wide:
            pair = tuple(self.t.convert("sext", p, "i64") for p in pair)  # type: ignore[assignment]
        return self.t.binary("add", offset, self.t.binary("mul", *pair))

    def _below(self, *pairs: tuple[Register, Register]) -> Register:
        tests = [self.t.compare("ult", a, b) for a, b in pairs]
        found = tests[0]
        for test in tests[1:]:
            found = self.t.binary("and", found, test)
        return found

    # Operands to shared memory
    def _bring(self, left: bool, first: Register) -> None:
        """The tile of an operand for the step of the sums that begins at `first`."""
        form, tile = self.form, self.tile
        along, side = (form.left, tile.rows) if left else (form.right, tile.columns)
        start = self.row if left else self.column
        fast = (tile.inner if along.inner else side) // along.lanes
        read = self._left if left else self._right

        def one(slot: Register) -> list[Register]:
            number = self._plus(self.thread, self._times(slot, THREADS))
            slow, quick = self.t.parted(number, self._i32(fast))
            quick = self._times(quick, along.lanes)
            k, across = (quick, slow) if along.inner else (slow, quick)
            value = read(self._plus(start, across), self._plus(first, k), along.lanes)
            self._put(left, value, k, across, along)
            return []

        slots = side * tile.inner // along.lanes // THREADS
        if slots == 1:
            one(self._i32(0))
        else:
            self.t.repeat(self._i32(slots), [], one)

    def _put(self, left: bool, value: Register, k: Register, across: Register, a: Along) -> None:
        side = self.tile.rows if left else self.tile.columns
        base = 0 if left else self.tile.inner * self.tile.rows
        at = self._plus(self._plus(self._times(k, side), across), base)
        for lane in range(a.lanes):
            one = self.t.extract(value, lane) if a.lanes > 1 else value
            spot = self._plus(at, lane * (side if a.inner else 1))
            self.t.put(one, self.t.shared(self.kind, spot))

    def _left(self, row: Register, k: Register, lanes: int) -> Register:
        t, r = self.t, self.r
        rows, inner = self._split(row, "rows"), self._split(k, "inner")
        at = self._offset("x", batch=self.batch, rows=rows, inner=inner)
        inside = self._below((row, r["rows"]), (k, r["inner"]))
        for w in range(self.form.windows):
            place, there = self._place(w, rows, inner)
            at = self._moved(at, place, r[f"step_{w}"])
            inside = t.binary("and", inside, there)
        return self._read("x", at, inside, lanes)

    def _place(
        self, w: int, rows: list[Register], inner: list[Register]
    ) -> tuple[Register, Register]:
        """On x's axis, and whether it is there: before the start it is a great number."""
        t, r, (row, k) = self.t, self.r, self.form.first
        place = t.binary("mul", rows[row + w], r[f"by_row_{w}"])
        place = self._plus(place, t.binary("mul", inner[k + w], r[f"by_inner_{w}"]))
        place = self._plus(place, r[f"start_{w}"])
        if not self.form.apart:
            return place, self._below((place, r[f"limit_{w}"]))
        place, rest = self.t.parted(place, r[f"divisor_{w}"])
        whole = t.compare("eq", rest, self._i32(0))
        return place, t.binary("and", whole, self._below((place, r[f"limit_{w}"])))

    def _right(self, column: Register, k: Register, lanes: int) -> Register:
        inner = self._split(k, "inner")
        at = self._offset("y", batch=self.batch, inner=inner, columns=[column])
        inside = self._below((column, self.r["columns"]), (k, self.r["inner"]))
        return self._read("y", at, inside, lanes)

    def _read(self, name: str, at: Register, inside: Register, lanes: int) -> Register:
        """Zeros where nothing is; then the operand's first elements are read instead."""
        t = self.t
        near = t.select(inside, at, t.like(at, 0))
        place = t.address(self.r[name], near, memory_kind(self.form.dtype))
        value = elements.load(t, place, self.form.dtype, lanes)
        return t.select(inside, value, t.like(value, 0))

    # Sums
    def _step(self, number: Register, *sums: Register) -> list[Register]:
        first = self._times(number, self.tile.inner)
        self._bring(True, first)
        self._bring(False, first)
        self.t.barrier()

        def some(part: Register, *before: Register) -> list[Register]:
            found = list(before)
            for k in range(UNROLLED):
                found = self._added(part, k, found)
            return found

        found = self.t.repeat(self._i32(self.tile.inner // UNROLLED), list(sums), some)
        self.t.barrier()
        return found

    def _added(self, part: Register, k: int, sums: list[Register]) -> list[Register]:
        t, tile = self.t, self.tile
        down, across = self._part()
        down = self._plus(down, self._times(part, UNROLLED * tile.rows))
        across = self._plus(across, self._times(part, UNROLLED * tile.columns))
        base = tile.inner * tile.rows + k * tile.columns
        left = [self._take(down, k * tile.rows + i) for i in range(tile.high)]
        right = [self._take(across, base + j) for j in range(tile.wide)]
        pairs = [(a, b) for a in left for b in right]
        if is_float(self.form.dtype):
            return [t.fma(a, b, s) for (a, b), s in zip(pairs, sums)]
        return [t.binary("add", s, t.binary("mul", a, b)) for (a, b), s in zip(pairs, sums)]

    def _part(self) -> tuple[Register, Register]:
        """Where in the tile the thread's rows and columns begin."""
        above, rest = self.t.parted(self.thread, self._i32(self.tile.columns // self.tile.wide))
        return self._times(above, self.tile.high), self._times(rest, self.tile.wide)

    def _take(self, part: Register, index: int) -> Register:
        return self.t.take(self.t.shared(self.kind, self._plus(part, index)), self.kind)

    # Results
    def run(self) -> None:
        tile, t = self.tile, self.t
        start = [t.constant(self.kind, 0)] * (tile.high * tile.wide)
        sums = t.repeat(self.r["steps"], start, self._step)
        down, across = self._part()
        down, across = self._plus(self.row, down), self._plus(self.column, across)
        for i in range(tile.high):
            row = self._plus(down, i)
            for j in range(tile.wide):
                self._finish(row, self._plus(across, j), sums[i * tile.wide + j])

    def _finish(self, row: Register, column: Register, sums: Register) -> None:
        t, form, r = self.t, self.form, self.r
        inside = self._below((row, r["rows"]), (column, r["columns"]))
        yes, after = t.label_name(), t.label_name()
        t.branch(inside, yes, after)
        t.label(yes)
        at = {"batch": self.batch, "rows": self._split(row, "rows"), "columns": [column]}
        kind, made = memory_kind(form.dtype), [sums]
        if form.operation in ENDS:
            place = t.address(r["third"], self._offset("third", **at), kind)
            made = ENDS[form.operation](t, sums, elements.load(t, place, form.dtype, 1))
        for name, value in zip(results(form.operation), made):
            value = elements.to_memory(t, form.dtype, elements.rounded(t, form.dtype, value))
            t.store(value, t.address(r[name], self._offset(name, **at), kind))
        t.jump(after)
        t.label(after)


def tiled(t: PtxTarget, form: Form, r: Given) -> None:
    """What a block prints (written.Written)."""
    Block(t, form, r).run()
