"""The axes of a kernel, and its calls.

The linear index is cut at every breakpoint of an access into atoms; neighbouring atoms that every
access walks evenly are one axis again, the lowest of them the inner one.
"""

from __future__ import annotations

import itertools
from typing import Any, Literal

from ..records import NamedTuple
from .build import LITERALS, Build, Unfit, Walk
from .frames import shortened
from .kernel import Access, Expr, Kernel, KernelCall, Operand, Store
from .short_rows import LONG

TILED = 8
"""Least rows and quarter of the columns that a turned operand must have to be walked in tiles."""


class Axis(NamedTuple):
    low: int
    high: int

    @property
    def size(self) -> int:
        return self.high // self.low


def cluster_folds(build: Build) -> bool:
    """Whether a fold is among what is stored."""
    return any(o.fold != "none" for o, _, _ in build.outputs)


class Shaped:
    """The axes of a build: `inner`, `outer` (from high to low), strides of every walk on them."""

    def __init__(self, build: Build) -> None:
        self.build = build
        self.cluster = build.cluster
        used = {e.access for e in build.expressions if e.access is not None}
        used |= {w for _, w, _ in build.outputs}
        self.walks = [build.walks[w] for w in sorted(used)]
        atoms = self._atoms()
        self.inner, rest = self._inner(atoms)
        self.kept, self.folded = self._outer(rest, True)
        folds = bool(cluster_folds(build))
        if len(self.folded) > 2 or len(self.kept) > (1 if folds else 3):
            self.kept, self.folded = self._outer(rest, False)
        if not folds:
            self.kept = sorted(self.kept + self.folded, key=lambda a: -a.low)
            self.folded = []
            if self.cluster.inner is None:
                self._tile()

    def _atoms(self) -> list[Axis]:
        points = {1, self.cluster.size}
        for walk in self.walks:
            for low, high, _ in walk.pieces:
                points |= {low, high}
        for size, weight in self.build.indices.values():
            points |= {weight, weight * size}
        if self.cluster.inner is not None:
            points.add(self.cluster.inner)
        for low, high in self.cluster.fold or ():
            points |= {low, high}
        ordered = sorted(points)
        pairs = list(itertools.pairwise(ordered))
        assert all(b % a == 0 for a, b in pairs), ordered
        return [Axis(a, b) for a, b in pairs]

    def stride(self, walk: Walk, axis: Axis) -> int:
        """Elements from one index of an axis to the next. An axis may begin inside of a piece, also
        where the piece's own does not divide it: the walk is even there."""
        for low, high, stride in walk.pieces:
            if low <= axis.low < high:
                step, rest = divmod(stride * axis.low, low)
                assert rest == 0, (walk.pieces, axis)
                return step
        return 0

    def even(self, low: Axis, high: Axis) -> Walk | None:
        """A walk that does not go evenly from one axis to the next, if there is one."""
        for walk in self.walks:
            if self.stride(walk, high) != self.stride(walk, low) * low.size:
                return walk
        return None

    def _crosses(self, low: Axis, high: Axis) -> bool:
        """Whether an index ends between two axes."""
        edge = low.high
        return any(edge in (weight, weight * size) for size, weight in self.build.indices.values())

    def _inner(self, atoms: list[Axis]) -> tuple[Axis, list[Axis]]:
        if not atoms:
            return Axis(1, 1), []
        wanted = self.cluster.inner
        inner, rest = atoms[0], atoms[1:]
        if wanted is not None:
            if inner.high > wanted:
                return Axis(1, 1), atoms
            while inner.high < wanted:
                walk = self.even(inner, rest[0])
                if walk is not None:
                    raise walk.unfit(1, wanted)
                inner = Axis(inner.low, rest.pop(0).high)
            return inner, rest
        limit = self.cluster.fold[0][0] if self.cluster.fold else self.cluster.size
        if inner.low != 1 or inner.high > limit:
            return Axis(1, 1), atoms
        while inner.size < LONG and rest and rest[0].high <= limit:
            if self.even(inner, rest[0]) is not None or self._crosses(inner, rest[0]):
                break
            inner = Axis(inner.low, rest.pop(0).high)
        return self._shortened(inner, rest)

    def _shortened(self, inner: Axis, rest: list[Axis]) -> tuple[Axis, list[Axis]]:
        size = shortened(inner.size)
        if size == inner.size:
            return inner, rest
        return Axis(1, size), [Axis(size, inner.high), *rest]

    def _tile(self) -> None:
        """Where j goes across the rows of an operand: a few columns at a time, row after row, so
        that the lines read are used up before they are gone."""
        size = self.inner.size
        tile = next((n for n in (16, 8) if size % n == 0), 0)
        if size < 4 * TILED or not tile or len(self.kept) > 2:
            return
        for walk in self.walks:
            if walk.index is None and self.stride(walk, self.inner) not in (0, 1):
                along = [a for a in self.kept if a.size >= TILED and self.stride(walk, a) == 1]
                if along:
                    others = [a for a in self.kept if a is not along[0]]
                    self.kept = [*others, Axis(tile, self.inner.high), along[0]]
                    self.inner = Axis(1, tile)
                    return

    def _outer(self, rest: list[Axis], apart: bool) -> tuple[list[Axis], list[Axis]]:
        """Kept and folded axes, from high to low; `apart`: none with a part of an index in it."""
        kept: list[Axis] = []
        folded: list[Axis] = []
        for axis in rest:
            inside = any(a <= axis.low < b for a, b in self.cluster.fold or ())
            into = folded if inside else kept
            last = into[-1] if into else None
            joins = (
                last is not None
                and last.high == axis.low
                and self.even(last, axis) is None
                and not (apart and self._crosses(last, axis))
            )
            if joins and last is not None:
                into[-1] = Axis(last.low, axis.high)
            else:
                into.append(axis)
        return kept[::-1], folded[::-1]

    # The calls
    def calls(self) -> list[KernelCall]:
        """One call, or several where there are more outer axes than a kernel has."""
        folds = cluster_folds(self.build)
        kept, folded = self.kept, self.folded
        room = 1 if folds else 3
        extra, kept = kept[: max(0, len(kept) - room)], kept[max(0, len(kept) - room) :]
        if folds and len(folded) > 2:
            uneven = self.even(folded[1], folded[0]) or self.even(folded[2], folded[1])
            assert uneven is not None
            raise uneven.unfit(1, self.cluster.size)
        axes: list[Axis | None] = [None] * (room - len(kept)) + list(kept)
        if folds:
            axes += [None] * (2 - len(folded)) + list(folded)
        kernel, scalars = self._kernel(axes, extra, folds)
        return [self._call(kernel, scalars, axes, at) for at in self._positions(extra)]

    def _positions(self, extra: list[Axis]) -> list[list[tuple[Axis, int]]]:
        found: list[list[tuple[Axis, int]]] = [[]]
        for axis in extra:
            found = [[*at, (axis, i)] for at in found for i in range(axis.size)]
        return found

    def _call(
        self,
        kernel: Kernel,
        scalars: list[Any],
        axes: list[Axis | None],
        at: list[tuple[Axis, int]],
    ) -> KernelCall:
        build = self.build
        places = []
        for walk in build.walks:
            s0, s1, s2 = [0 if a is None else self.stride(walk, a) for a in axes]
            offset = walk.offset + sum(i * self.stride(walk, a) for a, i in at)
            step = walk.index_stride
            if walk.index is None:
                step = self.stride(walk, self.inner) if self.inner.size > 1 else 0
            places.append((s0, s1, s2, offset, step))
        sizes = tuple(1 if a is None else a.size for a in axes)
        number = [v if not isinstance(v, Position) else v.at(at) for v in scalars]
        return KernelCall(
            kernel,
            tuple(storage for storage, _, _ in build.operands),
            sizes,  # type: ignore[arg-type]
            tuple(places),
            tuple(number),
            nodes=tuple(sorted(build.nodes)),
        )

    def _kernel(
        self, axes: list[Axis | None], extra: list[Axis], folds: bool
    ) -> tuple[Kernel, list[Any]]:
        build = self.build
        final = Final(self, axes, extra)
        moved = [final.place(e) for e in range(len(build.expressions))]
        accesses = []
        for walk in build.walks:
            inner = self.stride(walk, self.inner) if self.inner.size > 1 else 0
            index = None if walk.index is None else moved[walk.index]
            if inner not in (0, 1) and index is not None:
                assert walk.table is not None
                assert walk.value is not None
                table, axis = walk.table, walk.value.node.get("axis")
                known = (table, axis) in build.instead
                raise walk.unfit(1, self.inner.high) if known else Unfit(table, axis)
            kind: Literal[0, 1, 2] = 0 if inner == 0 else 1 if inner == 1 else 2
            accesses.append(Access(walk.operand, kind, index))
        stores = tuple(
            Store(w, moved[e], o.fold)
            for o, w, e in build.outputs  # type: ignore[arg-type]
        )
        kernel = Kernel(
            self.inner.size,
            folds,
            self._operands(),
            tuple(accesses),
            tuple(d for d, _ in final.scalars),
            tuple(final.expressions),
            stores,
        )
        return kernel, [v for _, v in final.scalars]

    def _operands(self) -> tuple[Operand, ...]:
        found = []
        reads = {s: i for i, (s, _, written) in enumerate(self.build.operands) if not written}
        for storage, dtype, written in self.build.operands:
            found.append(Operand(dtype, written, reads.get(storage) if written else None))
        return tuple(found)


class Position(NamedTuple):
    """A number that depends on which of several calls it is: an index on an unrolled axis."""

    terms: list[tuple[int, int]]  # low of the axis, factor

    def at(self, position: list[tuple[Axis, int]]) -> int:
        where = {axis.low: i for axis, i in position}
        return sum(where[low] * factor for low, factor in self.terms)


class Final:
    """Expressions with indices written out over the axes."""

    def __init__(self, shaped: Shaped, axes: list[Axis | None], extra: list[Axis]) -> None:
        self.shaped = shaped
        self.axes = axes
        self.extra = extra
        self.expressions: list[Expr] = []
        self.scalars: list[tuple[str, Any]] = list(shaped.build.values)
        self.went: dict[int, int] = {}

    def place(self, e: int) -> int:
        x = self.shaped.build.expressions[e]
        if x.op == "index":
            self.went[e] = self._index(*self.shaped.build.indices[e])
        else:
            args = tuple([self.went[a] for a in x.args])
            moved = x
            if args != x.args:
                moved = Expr(x.op, args, x.dtype, x.access, x.slot, x.literal, x.attributes, x.node)
            self.went[e] = self._add(moved)
        return self.went[e]

    def _add(self, x: Expr) -> int:
        self.expressions.append(x)
        return len(self.expressions) - 1

    def _number(self, value: int) -> int:
        if value in LITERALS:
            return self._add(Expr("literal", (), "i32", literal=value))
        self.scalars.append(("i32", value))
        return self._add(Expr("uniform", (), "i32", slot=len(self.scalars) - 1))

    def _index(self, size: int, weight: int) -> int:
        low, high = weight, weight * size
        terms = [
            self._term(axis, low, high, "outer-index", number)
            for number, axis in enumerate(self.axes)
            if axis is not None and axis.low < high and low < axis.high
        ]
        fixed = [(a.low, a.low // low) for a in self.extra if low <= a.low and a.high <= high]
        if fixed:
            self.scalars.append(("i32", Position(fixed)))
            terms.append(self._add(Expr("uniform", (), "i32", slot=len(self.scalars) - 1)))
        inner = self.shaped.inner
        if inner.size > 1 and low < inner.high:
            terms.append(self._term(inner, low, high, "inner-index", None))
        total = terms[0] if terms else self._number(0)
        for term in terms[1:]:
            total = self._add(Expr("add", (total, term), "i32"))
        return total

    def _term(self, axis: Axis, low: int, high: int, op: str, slot: int | None) -> int:
        """What an axis's counter adds to the index that takes [low, high)."""
        found = self._add(Expr(op, (), "i32", slot=slot))
        start, stop = max(low, axis.low), min(high, axis.high)
        if start > axis.low:
            by = self._number(start // axis.low)
            found = self._add(Expr("quotient", (found, by), "i32"))
        if stop < axis.high:
            found = self._add(Expr("rem", (found, self._number(stop // start)), "i32"))
        if start > low:
            by = self._number(start // low)
            found = self._add(Expr("multiply", (found, by), "i32"))
        return found
