"""A kernel to LLVM text for NVPTX: threads to rows or cells, what each does, the parameters.

Without reductions a thread has a vector of its own (`group` 1); with them a group of threads has
a row. Of a fold, a thread or group has a cell of rows and takes them in order.
"""

from __future__ import annotations

from sexpgpu_core.kernels import elements
from sexpgpu_core.kernels.kernel import Kernel
from sexpgpu_core.kernels.rows import identity
from sexpgpu_core.kernels.target import Register, register_kind

from .layout import Layout
from .rows import Rows, State
from .target import GLOBAL, PtxTarget
from .values import Piece

SIZES = ("items", "n1", "n2")
"""Rows or cells; sizes of the outer axes 1 and 2."""


def emit(kernel: Kernel, layout: Layout, name: str) -> str:
    """The text of a module with one kernel; `parameters` says what it takes."""
    return Emitter(kernel, layout, PtxTarget(layout.lanes)).run(name)


def parameters(kernel: Kernel, layout: Layout) -> list[str]:
    """In order: an address an access, sizes, strides s0 s1 s2 and of the index an access, then the
    scalars' block, the error word and the gate where there are such."""
    found = [f"{GLOBAL} %a{a}" for a in range(len(kernel.accesses))]
    found += [f"i32 %{n}" for n in SIZES]
    for a in range(len(kernel.accesses)):
        found += [f"i32 %s{a}_{axis}" for axis in range(3)] + [f"i32 %x{a}"]
    found += [f"{GLOBAL} %{name}" for name, there in extras(kernel, layout) if there]
    return found


def extras(kernel: Kernel, layout: Layout) -> tuple[tuple[str, bool], ...]:
    guards = any(e.op == "guard" for e in kernel.expressions)
    return (("scalars", bool(kernel.scalars)), ("error", guards), ("gate", layout.gated))


class Emitter(Rows):
    """One kernel being printed."""

    def run(self, name: str) -> str:
        t = self.t
        t.label("entry")
        if self.layout.gated:
            self._gate()
        self._threads()
        if self.kernel.folded:
            self._cell()
        else:
            self._position(self.row_number)
            self._row([])
        t.jump("done")
        t.label("done")
        t.lines.append("  ret void")
        given = parameters(self.kernel, self.layout)
        return t.kernel(name, given, self.layout.threads, self.room)

    def _gate(self) -> None:
        """A commit does nothing where the step's gate is closed."""
        t = self.t
        shut = t.compare("eq", t.load(Register("%gate", "ptr"), "i32"), self.i32(0))
        t.branch(shut, "done", "open")
        t.label("open")

    def _threads(self) -> None:
        """Which row or cell this thread works on, and where in it."""
        t, layout = self.t, self.layout
        thread, block = t.special("tid.x"), t.special("ctaid.x")
        if layout.group == 1:
            self._alone(thread, block)
            return
        group = self.i32(layout.group)
        self.place = t.binary("udiv", thread, group)
        self.lane = t.binary("urem", thread, group)
        mine = t.binary("add", t.binary("mul", block, self.i32(layout.rows)), self.place)
        self.row_number = mine
        if layout.rows > 1:  # such groups are warps: none waits for one without a row
            t.branch(t.compare("slt", mine, Register("%items", "i32")), "work", "done")
            t.label("work")

    def _alone(self, thread: Register, block: Register) -> None:
        t, count = self.t, self.layout.vectors(self.kernel)
        number = t.binary("add", t.binary("mul", block, self.i32(self.layout.threads)), thread)
        self.lane = t.binary("urem", number, self.i32(count))
        self.row_number = t.binary("udiv", number, self.i32(count))
        inside = t.compare("slt", self.row_number, Register("%items", "i32"))
        t.branch(inside, "work", "done")
        t.label("work")

    def _position(self, row: Register) -> None:
        """i0, i1, i2 of a row."""
        t, n1, n2 = self.t, Register("%n1", "i32"), Register("%n2", "i32")
        above = t.binary("udiv", row, n2)
        i2 = t.binary("sub", row, t.binary("mul", above, n2))
        i0 = t.binary("udiv", above, n1)
        self.outer = [i0, t.binary("sub", above, t.binary("mul", i0, n1)), i2]

    # A row
    def piece(self, number: int, of: Register | None = None) -> Piece:
        if self.layout.group > 1 or self.kernel.inner == 1:
            return super().piece(number, of)
        return Piece(0, self.t.binary("mul", self.lane, self.i32(self.lanes)), None)

    def _row(self, state: State) -> State:
        """Reductions, then stores of pieces, then of what the row has one of. The answer is the
        state of the folds with this row in it."""
        self.reductions()
        running = [s for s in range(len(self.kernel.stores)) if not self.levels.is_scalar(s)]
        if running:
            for s in running:
                self._ahead(self.kernel.stores[s].value)
            self._store_running(running, state)
        single = [s for s in range(len(self.kernel.stores)) if self.levels.is_scalar(s)]
        plain = [s for s in single if self.kernel.stores[s].fold == "none"]
        values = {s: self.scalar(self.kernel.stores[s].value) for s in single}
        if plain:
            with self.only(self.first()):
                for s in plain:
                    self.store_scalar(s, values[s])
        for s in single:
            if s in self.folds:
                at = self.folds[s]
                state[at] = self._folded(s, state[at], values[s])
        return state

    def _store_running(self, running: list[int], state: State) -> None:
        held = [s for s in running if s in self.folds and not self.rolled]

        def body(piece: Piece, given: State) -> State:
            values = {s: self.value(self.kernel.stores[s].value, piece) for s in running}
            for s in held:
                at = self.folds[s] + piece.number
                state[at] = self._folded(s, state[at], values[s])
            with self.only(piece.there):
                for s in running:
                    if self.kernel.stores[s].fold == "none":
                        self.store_piece(s, piece, values[s])
                    elif s not in held:
                        before = self.load_piece(s, piece)
                        self.store_piece(s, piece, self._folded(s, before, values[s]), True)
            return given

        self.each(body, [])

    def _folded(self, s: int, before: Register, value: Register) -> Register:
        store = self.kernel.stores[s]
        dtype = self.dtype(store.access)
        return elements.rounded(self.t, dtype, self.combine(store.fold, dtype, before, value))

    # A cell of a fold
    @property
    def folds(self) -> dict[int, int]:
        """Stores that fold, and where their part of the state begins."""
        found, at = {}, 0
        for s, store in enumerate(self.kernel.stores):
            if store.fold != "none" and (self.levels.is_scalar(s) or not self.rolled):
                found[s] = at
                at += 1 if self.levels.is_scalar(s) else self.pieces
        return found

    def _cell(self) -> None:
        t, n1, n2 = self.t, Register("%n1", "i32"), Register("%n2", "i32")
        rows = t.binary("mul", n1, n2)
        size = self.i32(self.kernel.cell)
        per = t.binary("add", rows, self.i32(self.kernel.cell - 1))
        per = t.binary("udiv", per, size)
        i0 = t.binary("udiv", self.row_number, per)
        part = t.binary("sub", self.row_number, t.binary("mul", i0, per))
        first = t.binary("mul", part, size)
        last = t.binary("add", first, size)
        last = t.select(t.compare("slt", last, rows), last, rows)
        self.outer = [i0, part, part]
        if self.rolled:
            self._clear()
        state = self._over_rows(i0, first, last)
        self.outer = [i0, part, part]
        self._finish(state)

    def _start(self, s: int, lanes: int) -> Register:
        dtype = self.dtype(self.kernel.stores[s].access)
        fold = self.kernel.stores[s].fold
        return self.t.constant(register_kind(dtype), identity(fold, dtype), lanes)

    def _over_rows(self, i0: Register, first: Register, last: Register) -> State:
        t, n2 = self.t, Register("%n2", "i32")
        start: State = []
        for s in self.folds:
            single = self.levels.is_scalar(s)
            one = self._start(s, 1 if single else self.lanes)
            start += [one] * (1 if single else self.pieces)
        origin = t.block
        t.jump("rows")
        t.label("rows")
        q, line = t.phi(first, origin)
        phis = [t.phi(x, origin) for x in start]
        with self.scope():
            i1 = t.binary("udiv", q, n2)
            self.outer = [i0, i1, t.binary("sub", q, t.binary("mul", i1, n2))]
            self.row_number = q
            state = self._row([p for p, _ in phis])
            if self.room:
                t.barrier()  # the next row uses the room again
        following = t.binary("add", q, self.i32(1))
        t.close(line, following)
        for (_, number), value in zip(phis, state):
            t.close(number, value)
        t.branch(t.compare("slt", following, last), "rows", "summed")
        t.label("summed")
        return state

    def _clear(self) -> None:
        """Partial rows in memory start as what changes nothing."""
        stores = [
            s for s, store in enumerate(self.kernel.stores)
            if store.fold != "none" and not self.levels.is_scalar(s)
        ]  # fmt: skip
        starts = {s: self._start(s, self.lanes) for s in stores}

        def body(piece: Piece, state: State) -> State:
            with self.only(piece.there):
                for s in stores:
                    self.store_piece(s, piece, starts[s], True)
            return state

        with self.scope():
            self.each(body, [])

    def _finish(self, state: State) -> None:
        for s, at in self.folds.items():
            if self.levels.is_scalar(s):
                with self.only(self.first()):
                    self.store_scalar(s, state[at], True)
                continue
            for number in range(self.pieces):
                with self.scope():
                    piece = self.piece(number)
                    with self.only(piece.there):
                        self.store_piece(s, piece, state[at + number], True)
