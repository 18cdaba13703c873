"""A row in a group of threads: pieces, reductions across the group, stores of what is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sexpgpu_core.kernels import elements
from sexpgpu_core.kernels.kernel import Kernel
from sexpgpu_core.kernels.rows import identity
from sexpgpu_core.kernels.target import Register, register_kind

from .layout import WARP, Layout
from .target import PtxTarget
from .values import Piece, Values

State = list[Register]


class Rows(Values):
    """One kernel being printed: what is done with a row. `lane`: the thread's number in its
    group."""

    def __init__(self, kernel: Kernel, layout: Layout, target: PtxTarget) -> None:
        super().__init__(kernel, layout, target)
        self.lane = self.i32(0)
        self.place = self.i32(0)  # the group's number in its block
        self.pieces = layout.pieces(kernel) if kernel.inner > 1 else 1
        self.rolled = self.pieces > layout.kept(kernel)

    # Pieces
    def piece(self, number: int, of: Register | None = None) -> Piece:
        """Piece `number` of a thread (`of`: known when the kernel runs)."""
        t, inner = self.t, self.kernel.inner
        if inner == 1:
            return Piece(0, self.i32(0), None)
        at = self.i32(number) if of is None else of
        step = t.binary("mul", at, self.i32(self.layout.group))
        first = t.binary("mul", t.binary("add", step, self.lane), self.i32(self.lanes))
        whole = inner % (self.lanes * self.layout.group) == 0
        if whole or (of is None and (number + 1) * self.lanes * self.layout.group <= inner):
            return Piece(number, first, None)
        inside = t.compare("slt", first, self.i32(inner))
        first = t.select(inside, first, self.i32(inner - self.lanes))
        return Piece(number, first, inside)

    def each(self, body: Callable[[Piece, State], State], state: State) -> State:
        """Over the thread's pieces in order, with what goes from one to the next."""
        if not self.rolled:
            for number in range(self.pieces):
                state = body(self.piece(number), state)
            return state
        t = self.t
        head, after, origin = t.label_name(), t.label_name(), t.block
        t.jump(head)
        t.label(head)
        k, line = t.phi(self.i32(0), origin)
        phis = [t.phi(s, origin) for s in state]
        with self.scope():
            state = body(self.piece(0, k), [p for p, _ in phis])
            following = t.binary("add", k, self.i32(1))
            t.close(line, following)
            for (_, number), value in zip(phis, state):
                t.close(number, value)
            t.branch(t.compare("slt", following, self.i32(self.pieces)), head, after)
        t.label(after)
        return state

    # Reductions
    def reductions(self) -> None:
        """All of the row, level by level."""
        if self.kernel.inner == 1:
            return
        slot = 0
        for level in self.levels.reductions:
            if not level:
                continue
            for e in level:
                self._ahead(self.kernel.expressions[e].args[0])
            start = [self._identity(e, self.lanes) for e in level]
            for e, found in zip(level, self.each(self._accumulate(level), start)):
                self.reduced[e] = self._across(e, found, slot)
                slot += 1

    def _ahead(self, e: int) -> None:
        """Uniform values are made before a loop, not in it."""
        if self.levels.uniform[e]:
            self.scalar(e)
            return
        for a in self.levels.arguments(e):
            self._ahead(a)

    def _accumulate(self, level: list[int]) -> Callable[[Piece, State], State]:
        def body(piece: Piece, state: State) -> State:
            found = []
            for e, before in zip(level, state):
                x = self.kernel.expressions[e]
                value = self.value(x.args[0], piece)
                if piece.there is not None:
                    test = self.t.splat(piece.there, self.lanes)
                    value = self.t.select(test, value, self._identity(e, self.lanes))
                found.append(self.combine(x.op[7:], x.dtype, before, value))
            return found

        return body

    def _identity(self, e: int, lanes: int) -> Register:
        x = self.kernel.expressions[e]
        return self.t.constant(register_kind(x.dtype), identity(x.op[7:], x.dtype), lanes)

    def _across(self, e: int, found: Register, slot: int) -> Register:
        """Lanes of the thread, threads of the warp, warps of the group: a fixed order."""
        t, x = self.t, self.kernel.expressions[e]
        kind = x.op[7:]
        parts = [t.extract(found, i) for i in range(self.lanes)] if self.lanes > 1 else [found]
        while len(parts) > 1:
            half = len(parts) // 2
            parts = [self.combine(kind, x.dtype, a, b) for a, b in zip(parts[:half], parts[half:])]
        value, mask = parts[0], WARP // 2
        while mask:
            value = self.combine(kind, x.dtype, value, t.across(value, mask))
            mask //= 2
        if self.layout.group > WARP:
            value = self._over_warps(kind, x.dtype, value, slot)
        return elements.rounded(t, x.dtype, value)

    def _over_warps(self, kind: str, dtype: str, value: Register, slot: int) -> Register:
        t, warps = self.t, self.layout.group // WARP
        held = "i8" if value.kind == "i1" else value.kind
        base = t.binary("mul", self.place, self.i32(warps))
        base = t.binary("add", base, self.i32(slot * warps * self.layout.rows))
        own = t.binary("lshr", self.lane, self.i32(5))
        leader = t.compare("eq", t.binary("and", self.lane, self.i32(31)), self.i32(0))
        with self.only(leader):
            given = t.convert("zext", value, "i8") if held == "i8" else value
            t.put(given, t.shared("i64", t.binary("add", base, own)))
        t.barrier()
        found = None
        for warp in range(warps):
            one = t.take(t.shared("i64", t.binary("add", base, self.i32(warp))), held)
            one = t.compare("ne", one, t.like(one, 0)) if held != value.kind else one
            found = one if found is None else self.combine(kind, dtype, found, one)
        assert found is not None
        return found

    @property
    def room(self) -> int:
        """Bytes of shared memory: a word for each warp and reduction."""
        if self.layout.group <= WARP or self.kernel.inner == 1:
            return 0
        count = sum(len(level) for level in self.levels.reductions)
        return 8 * count * (self.layout.group // WARP) * self.layout.rows

    # Stores
    @contextmanager
    def only(self, test: Register | None) -> Iterator[None]:
        """What is printed inside is done where the test holds."""
        if test is None:
            yield
            return
        t = self.t
        yes, after = t.label_name(), t.label_name()
        t.branch(test, yes, after)
        t.label(yes)
        with self.scope():
            yield
        t.jump(after)
        t.label(after)

    def store_piece(self, s: int, piece: Piece, value: Register, fold: bool = False) -> None:
        """A vector to its places."""
        t, access = self.t, self.kernel.stores[s].access
        base = self._row_address(access, fold)
        raw = elements.to_memory(t, self.dtype(access), value)
        if self.side_by_side(access):
            t.store(raw, t.address(base, piece.first, self.kind(access)))
            return
        for lane, offset in enumerate(self.lane_offsets(access, piece)):
            one = t.extract(raw, lane) if self.lanes > 1 else raw
            t.store(one, t.address(base, offset, self.kind(access)))

    def load_piece(self, s: int, piece: Piece) -> Register:
        """What a fold left at a piece's places, so far."""
        t, access = self.t, self.kernel.stores[s].access
        base, kind = self._row_address(access, True), self.kind(access)
        if self.side_by_side(access):
            raw = t.load(t.address(base, piece.first, kind), kind, self.lanes)
            return elements.from_memory(t, self.dtype(access), raw)
        found = t.constant(kind, 0, self.lanes)
        for lane, offset in enumerate(self.lane_offsets(access, piece)):
            one = t.load(t.address(base, offset, kind), kind)
            found = t.insert(found, one, lane) if self.lanes > 1 else one
        return elements.from_memory(t, self.dtype(access), found)

    def store_scalar(self, s: int, value: Register, fold: bool = False) -> None:
        t, access = self.t, self.kernel.stores[s].access
        at = self._row_address(access, fold)
        t.store(elements.to_memory(t, self.dtype(access), value), at)

    def first(self) -> Register | None:
        """Whether the thread stores what a row has one of."""
        if self.kernel.inner == 1:
            return None
        return self.t.compare("eq", self.lane, self.i32(0))
