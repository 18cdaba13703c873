"""A block's threads at work on one matrix, in f64: loops over its elements, folds, barriers.

How many threads there are depends on sizes alone, so the order of every sum does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sexpgpu_core.kernels import elements, maths
from sexpgpu_core.kernels.target import Register, memory_kind

from .layout import WARP
from .target import PtxTarget

Number = "Register | int"
SLOTS = 2
"""Values that are folded together, at most."""


def threads_of(size: int) -> int:
    """Of a block whose loops go over so many elements, mostly: whole warps."""
    return WARP if size <= WARP else 64 if size <= 4 * WARP else 256


def room_of(threads: int) -> int:
    """Bytes of a block's own memory, for folds."""
    return 8 * SLOTS * (threads // WARP)


class Memory(NamedTuple):
    """Elements of a matrix, as f64 whatever is stored. `base`: the first."""

    t: PtxTarget
    pointer: Register
    dtype: str
    base: Register

    def _at(self, place: Register) -> Register:
        where = self.t.binary("add", self.base, place)
        return self.t.address(self.pointer, where, memory_kind(self.dtype))

    def load(self, place: Register) -> Register:
        x = elements.load(self.t, self._at(place), self.dtype, 1)
        return self.t.convert("fpext", x, "f64") if self.dtype == "f32" else x

    def store(self, value: Register, place: Register) -> None:
        if self.dtype == "f32":
            value = self.t.convert("fptrunc", value, "f32")
        self.t.store(value, self._at(place))


class Block:
    """`cell`: the matrix; `lane`: the thread's number."""

    def __init__(self, t: PtxTarget, threads: int) -> None:
        self.t, self.threads = t, threads
        self.lane, self.cell = t.special("tid.x"), t.special("ctaid.x")

    # Numbers
    def i32(self, number: Register | int) -> Register:
        return self.t.constant("i32", number) if isinstance(number, int) else number

    def f64(self, number: Register | float) -> Register:
        return number if isinstance(number, Register) else self.t.constant("f64", number)

    def _index(self, name: str, a: Register | int, b: Register | int) -> Register:
        return self.t.binary(name, self.i32(a), self.i32(b))

    def add(self, a: Register | int, b: Register | int) -> Register:
        return self._index("add", a, b)

    def sub(self, a: Register | int, b: Register | int) -> Register:
        return self._index("sub", a, b)

    def mul(self, a: Register | int, b: Register | int) -> Register:
        return self._index("mul", a, b)

    def parts(self, a: Register, b: Register | int) -> tuple[Register, Register]:
        """Quotient and rest."""
        return self._index("udiv", a, b), self._index("urem", a, b)

    def at(self, i: Register, width: Register, j: Register) -> Register:
        return self.add(self.mul(i, width), j)

    def is_(self, test: str, a: Register, b: Register | int) -> Register:
        return self.t.compare(test, a, self.i32(b))

    def plus(self, a: Register, b: Register | float) -> Register:
        return self.t.binary("fadd", a, self.f64(b))

    def minus(self, a: Register, b: Register | float) -> Register:
        return self.t.binary("fsub", a, self.f64(b))

    def times(self, a: Register, b: Register | float) -> Register:
        return self.t.binary("fmul", a, self.f64(b))

    def over(self, a: Register | float, b: Register) -> Register:
        return self.t.binary("fdiv", self.f64(a), b)

    def root(self, a: Register) -> Register:
        return maths.sqrt(self.t, a)

    def size(self, a: Register) -> Register:
        return maths.magnitude(self.t, a)

    def more(self, a: Register, b: Register | float) -> Register:
        return self.t.compare("ogt", a, self.f64(b))

    # Memory
    def memory(self, pointer: Register, dtype: str, size: Register | int) -> Memory:
        """The cell's own, of matrices of so many elements."""
        return Memory(self.t, pointer, dtype, self.mul(self.cell, size))

    # Control
    def fold(
        self,
        count: Register | int,
        state: list[Register],
        body: Callable[..., list[Register]],
        first: Register | int = 0,
    ) -> list[Register]:
        """`body(k, *state)` of every k from `first` below `count` that is the thread's."""
        stop = self.i32(count)

        def following(k: Register, *now: Register) -> list[Register]:
            found = body(k, *now)
            return [self.add(k, self.threads), *found]

        start = [self.add(self.lane, first), *state]
        return self.t.walk(start, lambda k, *_: self.t.compare("slt", k, stop), following)[1:]

    def each(
        self,
        count: Register | int,
        body: Callable[[Register], None],
        first: Register | int = 0,
    ) -> None:
        def one(k: Register) -> list[Register]:
            body(k)
            return []

        self.fold(count, [], one, first)

    def over_all(self, count: Register, state: list[Register], body: Callable[..., list[Register]],
                 first: Register | int = 0) -> list[Register]:  # fmt: skip
        """Every thread goes over all k from `first` below `count`."""

        def following(k: Register, *now: Register) -> list[Register]:
            return body(self.add(k, first), *now)

        return self.t.repeat(self.sub(count, first), state, following)

    def alone(self, make: Callable[[], None]) -> None:
        """By the first thread."""
        self.each(1, lambda _: make())

    def barrier(self) -> None:
        self.t.barrier()

    # Folds over all threads
    def sum(self, x: Register) -> Register:
        return self.joined([x], lambda a, b: [self.plus(a[0], b[0])])[0]

    def joined(
        self,
        values: list[Register],
        join: Callable[[list[Register], list[Register]], list[Register]],
    ) -> list[Register]:
        """One value of all threads, which all have; `join` takes its operands in either order."""
        for mask in (16, 8, 4, 2, 1):
            values = join(values, [self.t.across(v, mask) for v in values])
        warps = self.threads // WARP
        if warps == 1:
            return values
        warp, rest = self.parts(self.lane, WARP)
        yes, after = self.t.label_name(), self.t.label_name()
        self.t.branch(self.is_("eq", rest, 0), yes, after)
        self.t.label(yes)
        for k, value in enumerate(values):
            self.t.put(value, self._slot(value, self.add(warp, k * warps)))
        self.t.jump(after)
        self.t.label(after)
        self.barrier()
        found: list[Register] = []
        for w in range(warps):
            slots = [self._slot(v, self.i32(k * warps + w)) for k, v in enumerate(values)]
            taken = [self.t.take(s, v.kind) for s, v in zip(slots, values)]
            found = join(found, taken) if found else taken
        self.barrier()
        return found

    def _slot(self, value: Register, number: Register) -> Register:
        width = 1 if value.kind == "f64" else 2
        return self.t.shared(value.kind, self.mul(number, width))

    def best(self, size: Register, place: Register) -> Register:
        """The first place of the greatest size."""

        def join(a: list[Register], b: list[Register]) -> list[Register]:
            ahead = self.t.binary(
                "and", self.t.compare("oeq", b[0], a[0]), self.t.compare("slt", b[1], a[1])
            )
            better = self.t.binary("or", self.more(b[0], a[0]), ahead)
            return [self.t.select(better, y, x) for x, y in zip(a, b)]

        return self.joined([size, place], join)[1]
