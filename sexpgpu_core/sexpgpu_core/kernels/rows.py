"""Rows in memory: addresses, vectors loaded and stored whole or lane by lane, partial rows."""

from __future__ import annotations

from . import elements
from .kernel import Expr, Kernel
from .levels import Levels
from .target import Register, Target, memory_kind, register_kind

IDENTITY = {"sum": 0.0, "product": 1, "any": 0, "all": 1}
COMBINE = {"sum": "add", "product": "multiply", "any": "logical-or", "all": "logical-and"}
COMBINE.update(max="maximum", min="minimum")


def identity(kind: str, dtype: str) -> float:
    """What changes nothing: kind is sum max min product any all."""
    if kind in IDENTITY:
        return IDENTITY[kind]
    if dtype in elements.FLOATS:
        return float("-inf") if kind == "max" else float("inf")
    bits = 8 * elements.WIDTH[dtype]
    if dtype[0] == "u" or dtype == "bool":
        return 0 if kind == "max" else (1 if dtype == "bool" else 2**bits - 1)
    return -(1 << (bits - 1)) if kind == "max" else (1 << (bits - 1)) - 1


class Rows:
    """One kernel being printed: its block, and the memory its rows are in."""

    def __init__(self, kernel: Kernel, target: Target) -> None:
        self.kernel = kernel
        self.t = target
        self.levels = Levels(kernel)
        self.lanes = target.width if kernel.inner > 1 else 1
        self.scalars: dict[int, Register] = {}  # uniform values of the row (or of the kernel)
        self.splats: dict[int, Register] = {}
        self.rows: dict[int, Register] = {}  # address of an access's row
        self.buffers: dict[int, Register] = {}
        self.outer: list[Register] = []
        self.bases: list[Register] = []  # operands' addresses
        self.dummy = Register("null", "ptr")  # where a guard that holds writes
        self.row_number = target.constant("i64", 0)
        self.chunks: dict[tuple[int, int], Register] = {}  # values along j by vector
        p, a = len(kernel.operands), len(kernel.accesses)
        self.size_slot, self.place_slot, self.scalar_slot = p, p + 3, p + 3 + 5 * a
        self.error_slot = self.scalar_slot + len(kernel.scalars)

    def i64(self, number: int) -> Register:
        return self.t.constant("i64", number)

    def _slot(self, number: int, kind: str) -> Register:
        t = self.t
        at = t.address(Register("%block", "ptr"), t.constant("i64", number), "i64")
        return t.load(at, kind)

    def _wide(self, index: Register, e: int) -> Register:
        return elements.resize(self.t, index, self.kernel.expressions[e].dtype, "i64")

    def _row_address(self, access: int, fold: bool = False) -> Register:
        """base + offset + i0 s0 + i1 s1 + i2 s2 (a fold: i0 s0 + part s1) + index si."""
        t = self.t
        place = self.place_slot + 5 * access
        at = self._slot(place + 3, "i64")
        for axis in range(2 if fold else 3):
            step = t.binary("mul", self.outer[axis], self._slot(place + axis, "i64"))
            at = t.binary("add", at, step)
        row = self.kernel.accesses[access]
        if row.index is not None and self.levels.uniform[row.index]:
            index = self._wide(self._scalar(row.index), row.index)
            at = t.binary("add", at, t.binary("mul", index, self._slot(place + 4, "i64")))
        kind = memory_kind(self.kernel.operands[row.operand].dtype)
        return t.address(self.bases[row.operand], at, kind)

    def _load_vector(self, x: Expr, j: Register, number: int, valid: int) -> Register:
        assert x.access is not None
        access = self.kernel.accesses[x.access]
        dtype = self.kernel.operands[access.operand].dtype
        kind = memory_kind(dtype)
        base = self._address(x.access)
        scattered = access.index is not None and not self.levels.uniform[access.index]
        if scattered or access.inner == 2:
            raw = self._load_lanes(x.access, base, kind, j, number, valid)
            return elements.from_memory(self.t, dtype, raw)
        raw = self.t.load(self.t.address(base, j, kind), kind, valid)
        if valid < self.lanes:
            raw = self._widen(raw, valid)
        return elements.from_memory(self.t, dtype, raw)

    def _widen(self, raw: Register, valid: int) -> Register:
        """The lanes that are missing are 1: nothing computed of them traps, and LLVM, which takes
        0 / 0 for 0 there and drops the select of a reduction, finds no zeros."""
        vector = raw
        if valid == 1:
            vector = self.t.constant(raw.kind, 1, self.lanes)
            return self.t.insert(vector, raw, 0)
        one = self.t.constant(raw.kind, 1, valid)
        order = [i if i < valid else valid for i in range(self.lanes)]
        return self.t.shuffle(vector, order, one)

    def _lane_offsets(self, number: int, access: int, j: Register, valid: int) -> list[Register]:
        """Elements from the row's address to each lane."""
        t, row = self.t, self.kernel.accesses[access]
        step = self._slot(self.place_slot + 5 * access + 4, "i64")
        if row.index is None:
            first = t.binary("mul", j, step)
            found = [first]
            for _ in range(valid - 1):
                found.append(t.binary("add", found[-1], step))
            return found
        index = self._wide(self._value(row.index, number), row.index)
        offsets = t.binary("mul", index, t.splat(step, self.lanes))
        if row.inner:
            along = t.binary("add", t.splat(j, self.lanes), t.lane_numbers("i64", self.lanes))
            offsets = t.binary("add", offsets, along)
        return [t.extract(offsets, i) for i in range(valid)]

    def _load_lanes(
        self, access: int, base: Register, kind: str, j: Register, number: int, valid: int
    ) -> Register:
        result = self.t.constant(kind, 1, self.lanes)
        for i, offset in enumerate(self._lane_offsets(number, access, j, valid)):
            at = self.t.address(base, offset, kind)
            result = self.t.insert(result, self.t.load(at, kind), i)
        return result

    def _narrow(self, raw: Register, valid: int) -> Register:
        if valid == raw.lanes:
            return raw
        if valid == 1:
            return self.t.extract(raw, 0)
        return self.t.shuffle(raw, list(range(valid)))

    def _store_vector(self, s: int, j: Register, number: int, valid: int) -> None:
        t, store = self.t, self.kernel.stores[s]
        access = self.kernel.accesses[store.access]
        dtype = self.kernel.operands[access.operand].dtype
        kind = memory_kind(dtype)
        base, value = self._address(store.access), self._value(store.value, number)
        if access.inner == 2:
            self._store_lanes(s, j, number, valid, value)
            return
        at = t.address(base, j, kind)
        if store.fold != "none":
            old = t.load(at, kind, valid)
            before = elements.from_memory(
                t, dtype, self._widen(old, valid) if valid < self.lanes else old
            )
            value = self._combine(store.fold, dtype, before, value)
            value = elements.rounded(t, dtype, value)
        t.store(self._narrow(elements.to_memory(t, dtype, value), valid), at)

    def _store_lanes(self, s: int, j: Register, number: int, valid: int, value: Register) -> None:
        """A store whose places are not side by side, a lane at a time."""
        t, store = self.t, self.kernel.stores[s]
        access = self.kernel.accesses[store.access]
        dtype = self.kernel.operands[access.operand].dtype
        kind, base = memory_kind(dtype), self._address(store.access)
        for i, offset in enumerate(self._lane_offsets(number, store.access, j, valid)):
            at, lane = t.address(base, offset, kind), t.extract(value, i)
            if store.fold != "none":
                before = elements.load(t, at, dtype, 1)
                lane = elements.rounded(t, dtype, self._combine(store.fold, dtype, before, lane))
            t.store(elements.to_memory(t, dtype, lane), at)

    def _store_scalar(self, s: int) -> None:
        t, store = self.t, self.kernel.stores[s]
        dtype = self.kernel.operands[self.kernel.accesses[store.access].operand].dtype
        at, value = self._address(store.access), self._scalar(store.value)
        if store.fold != "none":
            before = elements.load(t, at, dtype, 1)
            value = elements.rounded(t, dtype, self._combine(store.fold, dtype, before, value))
        t.store(elements.to_memory(t, dtype, value), at)

    def _clear(self, s: int) -> None:
        """A cell's partial row starts as what changes nothing."""
        t, store = self.t, self.kernel.stores[s]
        dtype = self.kernel.operands[self.kernel.accesses[store.access].operand].dtype
        base, kind = self.rows[store.access], memory_kind(dtype)
        start = t.constant(register_kind(dtype), identity(store.fold, dtype))
        raw = elements.to_memory(t, dtype, start)
        if self.levels.is_scalar(s):
            t.store(raw, base)
            return
        access = self.kernel.accesses[store.access]
        if access.inner == 2:
            step = self._slot(self.place_slot + 5 * store.access + 4, "i64")
            self._fill(base, kind, raw, step, self.kernel.inner, 1)
            return
        whole, tail = divmod(self.kernel.inner, self.lanes)
        wide, one = t.splat(raw, self.lanes), self.i64(1)
        if whole:
            self._fill(base, kind, wide, one, whole, self.lanes)
        if tail:
            at = t.address(base, self.i64(whole * self.lanes), kind)
            t.store(self._narrow(wide, tail), at)

    def _fill(
        self, base: Register, kind: str, value: Register, step: Register, count: int, lanes: int
    ) -> None:
        """A loop that stores one value at 0, lanes step, 2 lanes step, ..."""
        t = self.t
        head, after, origin = t.label_name(), t.label_name(), t.block
        t.jump(head)
        t.label(head)
        j, line = t.phi(self.i64(0), origin)
        t.store(value, t.address(base, t.binary("mul", j, step), kind))
        following = t.binary("add", j, self.i64(lanes))
        t.close(line, following)
        t.branch(t.compare("slt", following, self.i64(count * lanes)), head, after)
        t.label(after)

    def _address(self, access: int) -> Register:
        if access not in self.rows:
            self.rows[access] = self._row_address(access)
        return self.rows[access]

    def _combine(self, kind: str, dtype: str, a: Register, b: Register) -> Register:
        dtype = "f32" if dtype in ("bf16", "f16") else dtype
        return elements.element(self.t, COMBINE[kind], dtype, dtype, [a, b])

    # What the loops give
    def _value(self, e: int, number: int) -> Register:
        raise NotImplementedError

    def _scalar(self, e: int) -> Register:
        raise NotImplementedError
