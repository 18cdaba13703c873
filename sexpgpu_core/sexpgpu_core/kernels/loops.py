"""What a row of a kernel does: uniform values, loops along j in vectors, reductions in 32 lanes."""

from __future__ import annotations

from . import elements
from .kernel import Expr
from .philox import philox
from .rows import Rows, identity
from .target import LANES, Register, register_kind

UNROLLED = 8
"""A row of at most so many vectors is written out, its values kept in registers."""


class Loops(Rows):
    """One kernel being printed: the inside of a row. Slots are numbered as in the ABI."""

    # Uniform values
    def _scalar(self, e: int) -> Register:
        found = self.scalars.get(e)
        if found is None:
            found = self.scalars[e] = self._make_scalar(e)
        return found

    def _make_scalar(self, e: int) -> Register:
        x = self.kernel.expressions[e]
        if x.op == "load":
            assert x.access is not None
            operand = self.kernel.accesses[x.access].operand
            at = self._address(x.access)
            return elements.load(self.t, at, self.kernel.operands[operand].dtype, 1)
        if x.op == "outer-index":
            assert x.slot is not None
            return elements.resize(self.t, self.outer[x.slot], "i64", register_kind(x.dtype))
        if x.op == "inner-index":
            return self.t.constant(register_kind(x.dtype), 0)
        if x.op.startswith("reduce-"):
            # inner is 1: a sum of one, which the lanes that hold 0 do not change but for its sign
            value = self._scalar(x.args[0])
            return self._combine(x.op[7:], x.dtype, self._identity(x, 1), value)
        return self._apply(e, [self._scalar(a) for a in x.args], 1)

    def _apply(self, e: int, arguments: list[Register], valid: int) -> Register:
        x = self.kernel.expressions[e]
        if x.op == "guard":
            return self._guard(e, arguments[0], arguments[1], valid)
        if x.op == "philox":
            return philox(self.t, arguments)
        given = self.kernel.expressions[x.args[-1 if x.op == "where" else 0]].dtype
        return elements.element(self.t, x.op, given, x.dtype, arguments)

    def _guard(self, e: int, index: Register, limit: Register, valid: int) -> Register:
        """The index as i64, or 0 with a word in the error slot if it is outside."""
        t = self.t
        wide = self._wide(index, self.kernel.expressions[e].args[0])
        bad = t.compare("uge", wide, limit)
        if 1 < bad.lanes != valid:
            bad = t.select(self._mask(valid), bad, t.like(bad, 0))
        error = self._slot(self.error_slot, "ptr")
        where = t.select(t.any(bad), error, self.dummy)
        t.store(self.i64(1 + e), where)
        t.store(self.row_number, t.address(where, self.i64(1), "i64"))
        return t.select(bad, t.like(wide, 0), wide)

    def _mask(self, valid: int) -> Register:
        bits = ", ".join(f"i1 {int(i < valid)}" for i in range(self.lanes))
        return Register(f"<{bits}>", "i1", self.lanes)

    def _identity(self, x: Expr, lanes: int) -> Register:
        kind = register_kind(x.dtype)
        return self.t.constant(kind, identity(x.op[7:], x.dtype), lanes)

    # Loops along j
    @property
    def unrolled(self) -> bool:
        vectors = -(-self.kernel.inner // self.lanes)
        work = sum(len(loop) for loop in self.levels.loops)
        return len(self.levels.loops) > 1 and vectors <= UNROLLED and vectors * work <= 200

    def _loop(self, loop: int) -> None:
        reductions = self.levels.reductions[loop]
        self._before(loop)
        group = LANES // self.lanes if reductions else 1
        whole, tail = divmod(self.kernel.inner, self.lanes)
        rounds = 0 if self.unrolled else whole // group
        state = {
            e: [self._identity(self.kernel.expressions[e], self.lanes)] * group for e in reductions
        }
        if rounds > 1:
            state = self._rounds(loop, rounds, group, state)
        else:
            rounds = 0
        for c in range(rounds * group, whole):
            self._chunk(loop, self.i64(c * self.lanes), c, self.lanes, c % group, state)
        if tail:
            self._chunk(loop, self.i64(whole * self.lanes), whole, tail, whole % group, state)
        for e in reductions:
            self.scalars[e] = self._fold_lanes(e, state[e])

    def _before(self, loop: int) -> None:
        """Scalars, splats and addresses a loop needs are made ahead of it."""
        for e in self.levels.loops[loop]:
            x = self.kernel.expressions[e]
            if e in self.levels.kept and self.levels.kept[e] < loop:
                continue
            if x.access is not None:
                self._address(x.access)
            for a in self.levels.arguments(e):
                if self.levels.uniform[a]:
                    self._splat(a)
        for root in self.levels.roots(loop):
            if self.levels.uniform[root]:
                self._splat(root)
        for s in self.levels.stores[loop]:
            self._address(self.kernel.stores[s].access)

    def _splat(self, e: int) -> Register:
        found = self.splats.get(e)
        if found is None:
            found = self.splats[e] = self.t.splat(self._scalar(e), self.lanes)
        return found

    def _rounds(
        self, loop: int, rounds: int, group: int, state: dict[int, list[Register]]
    ) -> dict[int, list[Register]]:
        t = self.t
        head, after, origin = t.label_name(), t.label_name(), t.block
        t.jump(head)
        t.label(head)
        j, line = t.phi(self.i64(0), origin)
        phis = {e: [t.phi(v, origin) for v in values] for e, values in state.items()}
        inside = {e: [p[0] for p in pairs] for e, pairs in phis.items()}
        for k in range(group):
            at = t.binary("add", j, self.i64(k * self.lanes)) if k else j
            self.chunks = {}
            self._chunk(loop, at, 0, self.lanes, k, inside)
        following = t.binary("add", j, self.i64(group * self.lanes))
        t.close(line, following)
        for e, pairs in phis.items():
            for (_, number), value in zip(pairs, inside[e]):
                t.close(number, value)
        self.chunks = {}
        limit = self.i64(rounds * group * self.lanes)
        t.branch(t.compare("slt", following, limit), head, after)
        t.label(after)
        return inside

    def _chunk(
        self,
        loop: int,
        j: Register,
        number: int,
        valid: int,
        lane_group: int,
        state: dict[int, list[Register]],
    ) -> None:
        """One vector of a row: its values, reductions, then stores."""
        if not self.unrolled:
            self.chunks = {}
        values = self.chunks
        for e in self.levels.loops[loop]:
            if (e, number) not in values:
                values[e, number] = self._vector(e, loop, j, number, valid)
        for e in self.levels.reductions[loop]:
            x = self.kernel.expressions[e]
            value = self._value(x.args[0], number)
            if valid < self.lanes:
                value = self.t.select(self._mask(valid), value, self._identity(x, self.lanes))
            into = state[e]
            into[lane_group] = self._combine(x.op[7:], x.dtype, into[lane_group], value)
        for s in self.levels.stores[loop]:
            self._store_vector(s, j, number, valid)

    def _value(self, e: int, number: int) -> Register:
        return self._splat(e) if self.levels.uniform[e] else self.chunks[e, number]

    def _vector(self, e: int, loop: int, j: Register, number: int, valid: int) -> Register:
        x = self.kernel.expressions[e]
        kept = self.levels.kept.get(e)
        if kept is not None and kept < loop and e in self.buffers:
            return self._reload(e, j)
        if x.op == "load":
            result = self._load_vector(x, j, number, valid)
        elif x.op == "inner-index":
            kind = register_kind(x.dtype)
            first = self.t.splat(elements.resize(self.t, j, "i64", kind), self.lanes)
            result = self.t.binary("add", first, self.t.lane_numbers(kind, self.lanes))
        else:
            result = self._apply(e, [self._value(a, number) for a in x.args], valid)
        if kept == loop and e in self.buffers:
            self._keep(e, j, result)
        return result

    def _keep(self, e: int, j: Register, value: Register) -> None:
        if value.kind == "i1":
            value = self.t.convert("zext", value, "i8")
        self.t.store(value, self.t.address(self.buffers[e], j, value.kind))

    def _reload(self, e: int, j: Register) -> Register:
        kind = register_kind(self.kernel.expressions[e].dtype)
        memory = "i8" if kind == "i1" else kind
        at = self.t.address(self.buffers[e], j, memory)
        value = self.t.load(at, memory, self.lanes)
        return self.t.compare("ne", value, self.t.like(value, 0)) if kind == "i1" else value

    def _fold_lanes(self, e: int, groups: list[Register]) -> Register:
        """32 lanes to one: halves are added until one is left, the same for every width."""
        x = self.kernel.expressions[e]
        kind = x.op[7:]
        while len(groups) > 1:
            half = len(groups) // 2
            pairs = zip(groups[:half], groups[half:])
            groups = [self._combine(kind, x.dtype, a, b) for a, b in pairs]
        vector = groups[0]
        while vector.lanes > 1:
            half = vector.lanes // 2
            if half == 1:
                a, b = self.t.extract(vector, 0), self.t.extract(vector, 1)
            else:
                a = self.t.shuffle(vector, list(range(half)))
                b = self.t.shuffle(vector, list(range(half, 2 * half)))
            vector = self._combine(kind, x.dtype, a, b)
        return elements.rounded(self.t, x.dtype, vector)
