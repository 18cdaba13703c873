"""A cluster to a KernelCall: its expressions, its accesses, and its axes.

The linear index is cut at every breakpoint of an access into atoms; neighbouring atoms that every
access walks evenly are one axis again, the lowest of them the inner one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..ir import Node, Value
from ..ir.types import WIDTH
from .cluster import Cluster, Frame, Key, backward, base, intervals, operand_frame
from .kernel import FOLD_ROWS, Access, Expr, Kernel, KernelCall, Operand, Place, Store, View
from .prepare import INDEXED, RANDOM, REDUCTIONS
from .views import MOVES, SHIFTING, THROUGH

LITERALS = (0, 1, -1, 2, 0.5)
"""Numbers that are part of a kernel; others are slots, so changing them compiles nothing."""
WIDE = 64
"""An inner axis of an elementwise kernel has at least so many elements, if it can."""
LONG = 4096
"""A longer one is cut, so that there are rows to share."""


class Unfit(Exception):
    """A value that this kernel cannot read as it lies: it needs a dense copy."""

    def __init__(self, value: Value) -> None:
        super().__init__(value)
        self.value = value


@dataclass(slots=True)
class Walk:
    """An access in the making: steps over pieces of the linear index."""

    operand: int
    pieces: tuple[tuple[int, int, int], ...]  # low, high, stride of the lowest step
    offset: int
    index: int | None = None
    index_stride: int = 0
    value: Value | None = None


@dataclass(slots=True)
class Output:
    """A value to store, at a place; a fold is stored as partials by whoever calls."""

    value: Value
    view: View
    fold: str = ""


class Build:
    """One kernel being put together."""

    def __init__(
        self,
        cluster: Cluster,
        place: Callable[[Value], View | None],
        owner: dict[int, int],
    ) -> None:
        self.cluster = cluster
        self.place = place
        self.owner = owner
        self.members = {n.id for n in cluster.nodes}
        self.expressions: list[Expr] = []
        self.known: dict[Any, int] = {}
        self.operands: list[tuple[int, str, bool]] = []
        self.walks: list[Walk] = []
        self.scalars: dict[tuple[str, str], int] = {}
        self.values: list[tuple[str, Any]] = []
        self.indices: dict[int, tuple[int, int]] = {}  # expression -> (size, weight)
        self.outputs: list[tuple[Output, int, int]] = []  # output, walk, expression
        self.nodes: set[int] = set()

    # Expressions
    def add(self, op: str, args: tuple[int, ...], dtype: str, node: int = -1, **more: Any) -> int:
        key = (op, args, dtype, tuple(sorted(more.items())))
        if op == "literal":
            key = (*key, repr(more["literal"]))
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = len(self.expressions)
            self.expressions.append(Expr(op, args, dtype, node=node, **more))
        return found

    def number(self, value: Any, dtype: str) -> int:
        """A literal, or a slot that holds the number."""
        if value in LITERALS or dtype == "bool":
            return self.add("literal", (), dtype, literal=value)
        key = dtype, repr(value)
        slot = self.scalars.setdefault(key, len(self.scalars))
        if slot == len(self.values):
            self.values.append((dtype, value))
        return self.add("uniform", (), dtype, slot=slot)

    def index(self, size: int, weight: int, dtype: str) -> int:
        """(L div weight) mod size."""
        if size == 1:
            return self.number(0, dtype)
        plain = self.add("index", (), "i32", slot=weight, attributes=(("size", size),))
        self.indices[plain] = (size, weight)
        return plain if dtype == "i32" else self.add("cast", (plain,), dtype)

    def value(self, value: Value, frame: Frame) -> int:
        """The expression of a value at a frame."""
        node = value.node
        key = ("value", node.id, value.result, frame)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self._value(value, frame)
        return found

    def _value(self, value: Value, frame: Frame) -> int:
        node, op = value.node, value.node.operation
        if op == "constant":
            return self.number(node.get("value"), node.types[0].dtype)
        if op == "iota":
            axis = node.get("axis")
            return self.index(node.types[0].shape[axis], frame[axis], node.types[0].dtype)
        view = None if base(value).node.id in self.members else self.place(value)
        if view is not None:
            return self.load(value, view, frame)
        if op in MOVES:
            return self._moved(value, frame)
        self.nodes.add(self.owner.get(node.id, node.id))
        if op in REDUCTIONS:
            return self._reduction(node)
        if op in INDEXED:
            return self._indexed(node, frame)
        if op in RANDOM:
            return self._random(node, frame)
        return self._element(node, frame)

    def _moved(self, value: Value, frame: Frame) -> int:
        node = value.node
        source = node.operands[0]
        if node.operation in SHIFTING and source.node.operation != "constant":
            raise Unfit(value)
        below = frame
        if node.operation not in SHIFTING and node.operation not in THROUGH:
            found = backward(node, frame)
            if found is None:
                raise Unfit(value)
            below = found
        return self.value(source, below)

    def _element(self, node: Node, frame: Frame) -> int:
        op, dtype = node.operation, node.types[0].dtype
        arguments = []
        for k, operand in enumerate(node.operands):
            below = operand_frame(node, k, frame)
            assert below is not None
            arguments.append(self.value(operand, below))
        if op == "copy":
            return arguments[0]
        if op == "fill":
            return self.number(node.get("value"), dtype)
        if len(arguments) == 2 and op != "shift":
            arguments = self._same_integers(arguments)
        return self.add(op, tuple(arguments), dtype, self.owner.get(node.id, node.id))

    def _same_integers(self, arguments: list[int]) -> list[int]:
        """Integers of unlike dtype compare by value: as i64."""
        a, b = (self.expressions[e].dtype for e in arguments)
        if a == b:
            return arguments
        return [self.add("cast", (e,), "i64") for e in arguments]

    def _reduction(self, node: Node) -> int:
        frame, _fold = self.cluster.reduced[node.id] if node.id in self.members else (None, False)
        value = node.operands[0]
        if frame is None:
            assert value.type.size == 1, node
            return self.value(value, tuple(0 for _ in value.shape))
        argument = self.value(value, frame)
        axes = node.get("axes")
        touched = any(value.shape[a] > 1 and frame[a] < (self.cluster.inner or 0) for a in axes)
        if not touched:
            return argument
        mine = self.owner.get(node.id, node.id)
        return self.add(node.operation, (argument,), node.types[0].dtype, mine)

    def _indexed(self, node: Node, frame: Frame) -> int:
        """A load whose address has an index that is computed."""
        x, index = node.operands
        view = self.place(x)
        assert view is not None, node
        axis, mine = node.get("axis"), self.owner.get(node.id, node.id)
        below = operand_frame(node, 1, frame)
        assert below is not None
        raw = self.value(index, below)
        wide = self.add("cast", (raw,), "i64") if self.expressions[raw].dtype != "i64" else raw
        limit = self.number(x.shape[axis], "i64")
        drop = node.get("out") == "drop"
        if drop:
            inside = self.add("less", tuple(self._unsigned(wide, limit)), "bool")
            wide = self.add("where", (inside, wide, self.number(0, "i64")), "i64")
            safe = wide
        else:
            safe = self.add("guard", (wide, limit), "i64", mine)
        strides, weights, shape = self._table_axes(node, view, frame)
        walk = self._walk(view, strides, weights, shape, x, safe, view.strides[axis])
        loaded = self.add("load", (), view.dtype, mine, access=walk)
        if not drop:
            return loaded
        return self.add("where", (inside, loaded, self.number(0, view.dtype)), view.dtype)

    def _unsigned(self, index: int, limit: int) -> list[int]:
        return [self.add("bitcast", (e,), "u64") for e in (index, limit)]

    def _table_axes(
        self, node: Node, view: View, frame: Frame
    ) -> tuple[list[int], list[int], list[int]]:
        """Strides of the table's axes but the indexed one, with weights of the result's axes."""
        axis, rank = node.get("axis"), len(view.shape)
        grown = len(node.types[0].shape) - rank
        strides, weights, shape = [], [], []
        for a in range(rank):
            if a != axis:
                strides.append(view.strides[a])
                weights.append(frame[a if a < axis else a + grown])
                shape.append(view.shape[a])
        return strides, weights, shape

    def _random(self, node: Node, frame: Frame) -> int:
        from .random import number

        return number(self, node, frame)

    # Accesses
    def load(self, value: Value, view: View, frame: Frame) -> int:
        walk = self._walk(view, view.strides, frame, view.shape, value)
        return self.add("load", (), view.dtype, access=walk)

    def _operand(self, storage: int, dtype: str, written: bool) -> int:
        key = storage, dtype, written
        if key not in self.operands:
            self.operands.append(key)
        return self.operands.index(key)

    def _walk(
        self,
        view: View,
        strides: Any,
        weights: Any,
        shape: Any,
        value: Value | None,
        index: int | None = None,
        index_stride: int = 0,
        written: bool = False,
    ) -> int:
        operand = self._operand(view.storage, view.dtype, written)
        pieces = tuple(
            sorted((w, w * n, s) for n, w, s in zip(shape, weights, strides) if n > 1 and s)
        )
        key = ("walk", operand, pieces, view.offset, index, index_stride)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = len(self.walks)
            self.walks.append(Walk(operand, pieces, view.offset, index, index_stride, value))
        return found

    def store(self, output: Output) -> None:
        """A value made here, written to its place."""
        node = output.value.node
        if output.fold:
            frame, _ = self.cluster.reduced[node.id]
            axes, keep = node.get("axes"), node.get("keep")
            expression = self._reduction(node)
            self.nodes.add(self.owner.get(node.id, node.id))
            kept = [0 if a in axes else w for a, w in enumerate(frame) if keep or a not in axes]
        else:
            kept = list(self.cluster.frames[node.id, output.value.result])
            expression = self.value(output.value, tuple(kept))
        view = output.view
        walk = self._walk(view, view.strides, kept, view.shape, output.value, written=True)
        self.outputs.append((output, walk, expression))

    # Axes
    def finish(self) -> Shaped:
        """Axes chosen, expressions final."""
        return Shaped(self)


@dataclass(slots=True)
class Axis:
    low: int
    high: int

    @property
    def size(self) -> int:
        return self.high // self.low


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
        self.kept, self.folded = self._outer(rest)

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
        for a, b in itertools.pairwise(ordered):
            if b % a:
                raise Unfit(self._culprit(a, b))
        return [Axis(a, b) for a, b in itertools.pairwise(ordered)]

    def _culprit(self, a: int, b: int) -> Value:
        for walk in self.walks:
            for low, high, _ in walk.pieces:
                if {low, high} & {a, b} and walk.value is not None:
                    return walk.value
        raise AssertionError((a, b))

    def stride(self, walk: Walk, axis: Axis) -> int:
        for low, high, stride in walk.pieces:
            if low <= axis.low < high:
                return stride * (axis.low // low)
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
                    assert walk.value is not None
                    raise Unfit(walk.value)
                inner = Axis(inner.low, rest.pop(0).high)
            return inner, rest
        limit = self.cluster.fold[0][0] if self.cluster.fold else self.cluster.size
        if inner.low != 1 or inner.high > limit:
            return Axis(1, 1), atoms
        while inner.size < WIDE and rest and rest[0].high <= limit:
            if self.even(inner, rest[0]) is not None or self._crosses(inner, rest[0]):
                break
            inner = Axis(inner.low, rest.pop(0).high)
        return self._shortened(inner, rest)

    def _shortened(self, inner: Axis, rest: list[Axis]) -> tuple[Axis, list[Axis]]:
        if inner.size <= LONG or self.build.indices:
            return inner, rest
        for size in range(1024, 63, -1):
            if inner.size % size == 0 and size % 16 == 0:
                return Axis(1, size), [Axis(size, inner.high), *rest]
        return inner, rest

    def _outer(self, rest: list[Axis]) -> tuple[list[Axis], list[Axis]]:
        """Kept and folded axes, from high to low."""
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
                and not self._crosses(last, axis)
            )
            if joins and last is not None:
                into[-1] = Axis(last.low, axis.high)
            else:
                into.append(axis)
        return kept[::-1], folded[::-1]

    # The calls
    def calls(self) -> list[KernelCall]:
        """One call, or several where there are more outer axes than a kernel has."""
        folds = self.cluster.fold is not None and any(o.fold for o, _, _ in self.build.outputs)
        kept, folded = self.kept, self.folded
        if not folds:
            kept = sorted(kept + folded, key=lambda a: -a.low)
            folded = []
        room = 1 if folds else 3
        extra, kept = kept[: max(0, len(kept) - room)], kept[max(0, len(kept) - room) :]
        if folds and len(folded) > 2:
            uneven = self.even(folded[1], folded[0]) or self.even(folded[2], folded[1])
            assert uneven is not None
            assert uneven.value is not None
            raise Unfit(uneven.value)
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
            s0, s1, s2 = (0 if a is None else self.stride(walk, a) for a in axes)
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
            if inner not in (0, 1) and index is not None and walk.value is not None:
                raise Unfit(walk.value)
            accesses.append(Access(walk.operand, inner if inner in (0, 1) else 2, index))
        stores = tuple(
            Store(w, moved[e], o.fold or "none")
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


@dataclass(slots=True)
class Position:
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
            args = tuple(self.went[a] for a in x.args)
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
        terms: list[int] = []
        for number, axis in enumerate(self.axes):
            if axis is not None and low <= axis.low and axis.high <= high:
                found = self._add(Expr("outer-index", (), "i32", slot=number))
                terms.append(self._scaled(found, axis.low // low))
        fixed = [(a.low, a.low // low) for a in self.extra if low <= a.low and a.high <= high]
        if fixed:
            self.scalars.append(("i32", Position(fixed)))
            terms.append(self._add(Expr("uniform", (), "i32", slot=len(self.scalars) - 1)))
        if self.shaped.inner.size > 1 and low < self.shaped.inner.high:
            terms.append(self._inner(size, weight))
        total = terms[0] if terms else self._number(0)
        for term in terms[1:]:
            total = self._add(Expr("add", (total, term), "i32"))
        return total

    def _scaled(self, e: int, factor: int) -> int:
        if factor == 1:
            return e
        return self._add(Expr("multiply", (e, self._number(factor)), "i32"))

    def _inner(self, size: int, weight: int) -> int:
        """The part of an index that j tells: (j div weight) mod size."""
        inner = self.shaped.inner
        j = self._add(Expr("inner-index", (), "i32"))
        if weight > 1:
            j = self._add(Expr("quotient", (j, self._number(weight)), "i32"))
        if weight * size < inner.high:
            j = self._add(Expr("rem", (j, self._number(size)), "i32"))
        return j


__all__ = ["FOLD_ROWS", "WIDTH", "Build", "Key", "Output", "Place", "Shaped", "Unfit", "intervals"]
