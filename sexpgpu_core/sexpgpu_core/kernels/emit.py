"""A kernel to LLVM text: rows, cells of folds, and what no row changes.

The grid of work and the order of every sum depend on the kernel and its sizes alone: never on the
vector width, on how rows are split between calls, or on addresses.
"""

from __future__ import annotations

from . import elements
from .kernel import Expr, Kernel
from .loops import Loops
from .target import LANES, Register, Target, register_kind


def emit(kernel: Kernel, name: str, target: Target) -> str:
    """The text of a module with `void NAME(ptr block, i64 begin, i64 end)`."""
    return Emitter(kernel, target).run(name)


class Emitter(Loops):
    """One kernel being printed: the function around its rows."""

    # The function
    def run(self, name: str) -> str:
        t = self.t
        t.label("entry")
        self.bases = [self._slot(i, "ptr") for i in range(len(self.kernel.operands))]
        self.sizes = [self._slot(self.size_slot + i, "i64") for i in range(3)]
        self._constants()
        for e in self.levels.kept:
            if not self.unrolled:
                kind = register_kind(self.kernel.expressions[e].dtype)
                kind = "i8" if kind == "i1" else kind
                self.buffers[e] = t.buffer(kind, -(-self.kernel.inner // LANES) * LANES)
        self.dummy = t.buffer("i64", 2)
        begin, end = Register("%begin", "i64"), Register("%end", "i64")
        if self.kernel.folded:
            self._cells(begin, end)
        else:
            self._plain_rows(begin, end)
        t.lines.append("  ret void")
        return t.module(name)

    def _constants(self) -> None:
        """What no row changes: literals and scalar slots."""
        for e, expression in enumerate(self.kernel.expressions):
            if expression.op == "literal":
                kind = register_kind(expression.dtype)
                value = expression.literal
                assert value is not None
                self.scalars[e] = self.t.constant(kind, value)
            elif expression.op == "uniform":
                self.scalars[e] = self._uniform(expression)
        self.fixed = set(self.scalars)
        for e in self.fixed:
            if self.lanes > 1:
                self.splats[e] = self.t.splat(self.scalars[e], self.lanes)

    def _uniform(self, expression: Expr) -> Register:
        assert expression.slot is not None
        at = self.t.address(
            Register("%block", "ptr"), self.i64(self.scalar_slot + expression.slot), "i64"
        )
        return elements.load(self.t, at, expression.dtype, 1)

    # Rows
    def _plain_rows(self, begin: Register, end: Register) -> None:
        t = self.t
        n1, n2 = self.sizes[1], self.sizes[2]
        work = t.compare("slt", begin, end)
        start, done = "rows", "done"
        t.branch(work, "setup", done)
        t.label("setup")
        above = t.binary("sdiv", begin, n2)
        i2 = t.binary("sub", begin, t.binary("mul", above, n2))
        i0 = t.binary("sdiv", above, n1)
        i1 = t.binary("sub", above, t.binary("mul", i0, n1))
        t.jump(start)
        t.label(start)
        r, rl = t.phi(begin, "setup")
        a, al = t.phi(i0, "setup")
        b, bl = t.phi(i1, "setup")
        c, cl = t.phi(i2, "setup")
        self.outer = [a, b, c]
        self.row_number = r
        self._row()
        one, zero = self.i64(1), self.i64(0)
        c1 = t.binary("add", c, one)
        wrap2 = t.compare("eq", c1, n2)
        b1 = t.select(wrap2, t.binary("add", b, one), b)
        wrap1 = t.compare("eq", b1, n1)
        t.close(cl, t.select(wrap2, zero, c1))
        t.close(bl, t.select(wrap1, zero, b1))
        t.close(al, t.select(wrap1, t.binary("add", a, one), a))
        r1 = t.binary("add", r, one)
        t.close(rl, r1)
        t.branch(t.compare("slt", r1, end), start, done)
        t.label(done)

    def _cells(self, begin: Register, end: Register) -> None:
        """Cell by cell: what is kept, and a part of its rows to fold."""
        t = self.t
        n1, n2 = self.sizes[1], self.sizes[2]
        one = self.i64(1)
        rows = t.binary("mul", n1, n2)
        size = self.i64(self.kernel.cell)
        per = t.binary("sdiv", t.binary("add", rows, self.i64(self.kernel.cell - 1)), size)
        t.branch(t.compare("slt", begin, end), "cells", "done")
        t.label("cells")
        cell, cl = t.phi(begin, "entry")
        i0 = t.binary("sdiv", cell, per)
        part = t.binary("sub", cell, t.binary("mul", i0, per))
        first = t.binary("mul", part, size)
        last = t.binary("add", first, size)
        last = t.select(t.compare("slt", last, rows), last, rows)
        self.outer = [i0, part, part]
        self.rows = {}
        for s, store in enumerate(self.kernel.stores):
            if store.fold != "none":
                self.rows[store.access] = self._row_address(store.access, fold=True)
                self._clear(s)
        kept = dict(self.rows)
        i1s = t.binary("sdiv", first, n2)
        i2s = t.binary("sub", first, t.binary("mul", i1s, n2))
        origin = t.block
        t.jump("rows")
        t.label("rows")
        q, ql = t.phi(first, origin)
        b, bl = t.phi(i1s, origin)
        c, c_line = t.phi(i2s, origin)
        self.outer = [i0, b, c]
        self.row_number = q
        self._row(kept)
        c1 = t.binary("add", c, one)
        wrap = t.compare("eq", c1, n2)
        t.close(c_line, t.select(wrap, self.i64(0), c1))
        t.close(bl, t.select(wrap, t.binary("add", b, one), b))
        q1 = t.binary("add", q, one)
        t.close(ql, q1)
        t.branch(t.compare("slt", q1, last), "rows", "next")
        t.label("next")
        cell1 = t.binary("add", cell, one)
        t.close(cl, cell1)
        t.branch(t.compare("slt", cell1, end), "cells", "done")
        t.label("done")

    def _row(self, kept: dict[int, Register] | None = None) -> None:
        self.scalars = {e: r for e, r in self.scalars.items() if e in self.fixed}
        self.splats = {e: r for e, r in self.splats.items() if e in self.fixed}
        self.rows = dict(kept or {})
        self.chunks = {}
        self._early_loads()
        if self.kernel.inner > 1:
            for loop in range(len(self.levels.loops)):
                self._loop(loop)
        for s in range(len(self.kernel.stores)):
            if self.levels.is_scalar(s):
                self._store_scalar(s)

    def _early_loads(self) -> None:
        """Uniform loads of a row come before any store into it."""
        for e, expression in enumerate(self.kernel.expressions):
            if expression.op == "load" and self.levels.uniform[e] and self.levels.level[e] == 0:
                self._scalar(e)
