"""Values of a kernel in one thread: uniform ones of the row, vectors of pieces, made when asked.

What is made in a scope (a loop's body) is forgotten when the scope is left, for code after it is
not reached from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from sexpgpu_core.kernels import elements
from sexpgpu_core.kernels.kernel import Expr, Kernel
from sexpgpu_core.kernels.levels import Levels
from sexpgpu_core.kernels.philox import philox
from sexpgpu_core.kernels.rows import COMBINE, identity
from sexpgpu_core.kernels.target import Register, memory_kind, register_kind

from .layout import Layout
from .target import PtxTarget


class Piece(NamedTuple):
    """A vector of a row: its first element, and whether it is there (None: always)."""

    number: int
    first: Register
    there: Register | None


class Values:
    """One kernel being printed for one layout."""

    def __init__(self, kernel: Kernel, layout: Layout, target: PtxTarget) -> None:
        self.kernel = kernel
        self.layout = layout
        self.t = target
        self.levels = Levels(kernel)
        self.lanes = layout.lanes
        self.outer: list[Register] = []  # i32
        self.row_number = self.i32(0)
        self.known: list[dict[object, Register]] = [{}]
        self.reduced: dict[int, Register] = {}

    def i32(self, number: int) -> Register:
        return self.t.constant("i32", number)

    @contextmanager
    def scope(self) -> Iterator[None]:
        self.known.append({})
        yield
        self.known.pop()

    def _once(self, key: object) -> Register | None:
        for found in reversed(self.known):
            if key in found:
                return found[key]
        return None

    # Uniform values
    def scalar(self, e: int) -> Register:
        """A value that is the same along the row."""
        found = self._once(e)
        if found is None:
            found = self.known[-1][e] = self._make_scalar(e)
        return found

    def _make_scalar(self, e: int) -> Register:
        x = self.kernel.expressions[e]
        kind = register_kind(x.dtype)
        if x.op == "literal":
            assert x.literal is not None
            return self.t.constant(kind, x.literal)
        if x.op == "uniform":
            at = self.t.address(Register("%scalars", "ptr"), self.i32(x.slot or 0), "i64")
            return elements.from_memory(self.t, x.dtype, self.t.load(at, memory_kind(x.dtype)))
        if x.op == "load":
            return self._loaded(x, self._row_address(x.access or 0), 1)
        if x.op == "outer-index":
            return elements.resize(self.t, self.outer[x.slot or 0], "i32", kind)
        if x.op == "inner-index":
            return self.t.constant(kind, 0)
        if x.op.startswith("reduce-"):
            return self._reduced(e, x)
        return self._apply(e, [self.scalar(a) for a in x.args], None)

    def _reduced(self, e: int, x: Expr) -> Register:
        if self.kernel.inner > 1:
            return self.reduced[e]
        start = self.t.constant(register_kind(x.dtype), identity(x.op[7:], x.dtype))
        return self.combine(x.op[7:], x.dtype, start, self.scalar(x.args[0]))

    def combine(self, kind: str, dtype: str, a: Register, b: Register) -> Register:
        """Two partial results of a reduction or fold, 16-bit floats in f32."""
        dtype = "f32" if dtype in ("bf16", "f16") else dtype
        return elements.element(self.t, COMBINE[kind], dtype, dtype, [a, b])

    # Values along the row
    def value(self, e: int, piece: Piece) -> Register:
        """A value at a piece, a vector of all lanes."""
        key: object
        if self.levels.uniform[e]:
            key = (e, "splat")
            found = self._once(key)
            if found is None:
                found = self.known[-1][key] = self.t.splat(self.scalar(e), self.lanes)
            return found
        key = (e, piece.number)
        found = self._once(key)
        if found is None:
            found = self.known[-1][key] = self._make(e, piece)
        return found

    def _make(self, e: int, piece: Piece) -> Register:
        x = self.kernel.expressions[e]
        if x.op == "load":
            return self._load(x, piece)
        if x.op == "inner-index":
            kind = register_kind(x.dtype)
            first = self.t.splat(elements.resize(self.t, piece.first, "i32", kind), self.lanes)
            if self.lanes == 1:
                return first
            return self.t.binary("add", first, self.t.lane_numbers(kind, self.lanes))
        return self._apply(e, [self.value(a, piece) for a in x.args], piece)

    def _apply(self, e: int, arguments: list[Register], piece: Piece | None) -> Register:
        x = self.kernel.expressions[e]
        if x.op == "guard":
            return self._guard(e, arguments[0], arguments[1])
        if x.op == "philox":
            return philox(self.t, arguments)
        given = self.kernel.expressions[x.args[-1 if x.op == "where" else 0]].dtype
        return elements.element(self.t, x.op, given, x.dtype, arguments)

    def _guard(self, e: int, index: Register, limit: Register) -> Register:
        """The index, or 0 where it is outside; the call's word then takes the least such row."""
        t = self.t
        x = self.kernel.expressions[e]
        wide = elements.resize(t, index, self.kernel.expressions[x.args[0]].dtype, "i64")
        bad = t.compare("uge", wide, elements.resize(t, limit, "i64", "i64"))
        cold, join = t.label_name(), t.label_name()
        t.branch(t.any(bad), cold, join)
        t.label(cold)
        t.least(Register("%error", "ptr"), t.convert("zext", self.row_number, "i64"))
        t.jump(join)
        t.label(join)
        return t.select(bad, t.like(wide, 0), wide)

    # Memory
    def row_offset(self, access: int, fold: bool = False) -> Register:
        """i0 s0 + i1 s1 + i2 s2 (a fold: i0 s0 + part s1), and what a uniform index adds."""
        t, found = self.t, self._far(self.i32(0))
        for axis in range(2 if fold else 3):
            stride = self._far(Register(f"%s{access}_{axis}", "i32"))
            step = t.binary("mul", self._far(self.outer[axis]), stride)
            found = t.binary("add", found, step)
        index = self.kernel.accesses[access].index
        if index is not None and self.levels.uniform[index]:
            found = t.binary("add", found, self._indexed(access, self.scalar(index), index))
        return found

    def _far(self, number: Register) -> Register:
        """As wide as a row's start is counted."""
        return self.t.convert("sext", number, "i64") if self.layout.wide else number

    def _indexed(self, access: int, index: Register, e: int) -> Register:
        kind = "i64" if self.layout.wide else "i32"
        number = elements.resize(self.t, index, self.kernel.expressions[e].dtype, kind)
        step = self.t.splat(self._far(Register(f"%x{access}", "i32")), number.lanes)
        return self.t.binary("mul", number, step)

    def kind(self, access: int) -> str:
        return memory_kind(self.dtype(access))

    def dtype(self, access: int) -> str:
        return self.kernel.operands[self.kernel.accesses[access].operand].dtype

    def _row_address(self, access: int, fold: bool = False) -> Register:
        key = (access, "row", fold)
        found = self._once(key)
        if found is None:
            offset = self.row_offset(access, fold)
            found = self.t.address(Register(f"%a{access}", "ptr"), offset, self.kind(access))
            self.known[-1][key] = found
        return found

    def _constant(self, x: Expr) -> bool:
        return self.layout.constant[self.kernel.accesses[x.access or 0].operand]

    def _loaded(self, x: Expr, at: Register, lanes: int) -> Register:
        access = x.access or 0
        raw = self.t.load(at, self.kind(access), lanes, self._constant(x))
        return elements.from_memory(self.t, self.dtype(access), raw)

    def _load(self, x: Expr, piece: Piece) -> Register:
        """A thread without a piece takes another's, but not where that one may write it."""
        base = self._row_address(x.access or 0)
        if piece.there is None or self._constant(x):
            return self._load_piece(x, piece, base)
        zero = self.t.constant(register_kind(self.dtype(x.access or 0)), 0, self.lanes)
        with self.scope():
            return self.t.only(piece.there, zero, lambda: self._load_piece(x, piece, base))

    def _load_piece(self, x: Expr, piece: Piece, base: Register) -> Register:
        access = x.access or 0
        if self.side_by_side(access):
            at = self.t.address(base, piece.first, self.kind(access))
            return self._loaded(x, at, self.lanes)
        found = None
        for lane, offset in enumerate(self.lane_offsets(access, piece)):
            one = self._loaded(x, self.t.address(base, offset, self.kind(access)), 1)
            if self.lanes == 1:
                return one
            start = found or self.t.constant(one.kind, 0, self.lanes)
            found = self.t.insert(start, one, lane)
        assert found is not None
        return found

    def side_by_side(self, access: int) -> bool:
        """Whether the elements of a piece are neighbours in memory."""
        row = self.kernel.accesses[access]
        return row.inner == 1 and (row.index is None or self.levels.uniform[row.index])

    def lane_offsets(self, access: int, piece: Piece) -> list[Register]:
        """Elements from the row's address to each lane of a piece."""
        t, row = self.t, self.kernel.accesses[access]
        numbers = t.splat(piece.first, self.lanes)
        if self.lanes > 1:
            numbers = t.binary("add", numbers, t.lane_numbers("i32", self.lanes))
        if row.index is None or self.levels.uniform[row.index]:
            step = t.splat(Register(f"%x{access}", "i32"), self.lanes)
            offsets = t.binary("mul", numbers, step)
        else:
            offsets = self._indexed(access, self.value(row.index, piece), row.index)
            offsets = t.binary("add", offsets, self._far(numbers)) if row.inner else offsets
        if self.lanes == 1:
            return [offsets]
        return [t.extract(offsets, lane) for lane in range(self.lanes)]
