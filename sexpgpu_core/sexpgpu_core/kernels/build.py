"""A cluster to expressions and accesses: from the values to store down to what is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir import Node, Value
from ..records import Record
from .frames import Cluster, Frame, backward, base, operand_frame, points
from .kernel import Expr, Fold, View
from .prepare import INDEXED, RANDOM, REDUCTIONS, Prepared
from .views import MOVES, SHIFTING, THROUGH

LITERALS = (0, 1, -1, 2, 0.5)
"""Numbers that are part of a kernel; others are slots, so changing them compiles nothing."""


class Unfit(Exception):
    """A value that a kernel cannot read as it lies at a frame: it needs a dense copy that is also
    spread over [low, high) of the linear index. Instead of a frame a table has the axis that is
    indexed."""

    def __init__(self, value: Value, frame: Frame | int, low: int = 1, high: int = 1):
        super().__init__(value)
        self.value = value
        self.frame = frame
        self.low = low
        self.high = high


class UnfitStore(Exception):
    """A place that a kernel cannot write in its order: it writes a copy that is moved there."""

    def __init__(self, output: Output, frame: Frame):
        super().__init__(output)
        self.output = output
        self.frame = frame


Instead = dict[tuple[Value, "Frame | int"], tuple[View, Frame]]
"""Dense copies with their own frames, by value and frame (a table: its indexed axis)."""


Nodes = frozenset[int]
"""Ids of nodes whose values are computed even if they have places: nothing is there yet."""


class Walk(Record):
    """An access in the making: steps over pieces (low, high, stride of the lowest step) of the
    linear index. `table`: what is read by index; `output`: what is written."""

    __slots__ = (
        *("operand", "pieces", "offset", "index", "index_stride"),
        *("value", "frame", "table", "output"),
    )

    def __init__(
        self,
        operand: int,
        pieces: tuple[tuple[int, int, int], ...],
        offset: int,
        index: int | None = None,
        index_stride: int = 0,
        value: Value | None = None,
        frame: Frame | None = None,
        table: Value | None = None,
        output: Output | None = None,
    ) -> None:
        self.operand = operand
        self.pieces = pieces
        self.offset = offset
        self.index = index
        self.index_stride = index_stride
        self.value = value
        self.frame = frame
        self.table = table
        self.output = output

    def unfit(self, low: int, high: int) -> Exception:
        if self.output is not None:
            assert self.frame is not None
            return UnfitStore(self.output, self.frame)
        assert self.value is not None
        assert self.frame is not None
        return Unfit(self.value, self.frame, low, high)


class Output(Record):
    """A value to store, at a place; a fold is stored as partials by whoever calls."""

    __slots__ = ("fold", "value", "view")

    def __init__(self, value: Value, view: View, fold: Fold = "none") -> None:
        self.value = value
        self.view = view
        self.fold = fold


class Build:
    """One kernel being put together."""

    def __init__(
        self,
        cluster: Cluster,
        place: Callable[[Value], View | None],
        prepared: Prepared,
        instead: Instead,
        fresh: Nodes = frozenset(),
    ) -> None:
        self.cluster = cluster
        self.instead = instead
        self.place = place
        self.owner = prepared.owner
        self.results_of = prepared.results_of
        self.members = {n.id for n in cluster.nodes} | fresh
        self.points = set(cluster.breaks)
        self.expressions: list[Expr] = []
        self.known: dict[Any, int] = {}  # expressions and walks by what they are
        self.made: dict[tuple[Value, Frame], int] = {}  # expressions by their values
        self.operands: list[tuple[int, str, bool]] = []
        self.walks: list[Walk] = []
        self.scalars: dict[tuple[str, str], int] = {}
        self.values: list[tuple[str, Any]] = []
        self.indices: dict[int, tuple[int, int]] = {}  # expression -> (size, weight)
        self.outputs: list[tuple[Output, int, int]] = []  # output, walk, expression
        self.nodes: set[int] = set()

    # Expressions
    def add(
        self,
        op: str,
        args: tuple[int, ...],
        dtype: str,
        node: int = -1,
        access: int | None = None,
        slot: int | None = None,
        literal: Any = None,
        attributes: tuple[tuple[str, object], ...] = (),
    ) -> int:
        """The expression, made if it is not there yet."""
        text = repr(literal) if op == "literal" else None
        key = (op, args, dtype, access, slot, text, attributes)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = len(self.expressions)
            self.expressions.append(Expr(op, args, dtype, access, slot, literal, attributes, node))
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
        key = value, frame
        found = self.made.get(key)
        if found is None:
            found = self.made[key] = self._value(value, frame)
        return found

    def _value(self, value: Value, frame: Frame) -> int:
        node, op = value.node, value.node.operation
        if op == "constant":
            return self.number(node.get("value"), node.types[0].dtype)
        if op == "iota":
            axis = node.get("axis")
            return self.index(node.types[0].shape[axis], frame[axis], node.types[0].dtype)
        copy = self.instead.get((value, frame))
        if copy is not None:
            return self.load(value, copy[0], copy[1])
        source = base(value).node if op in MOVES else node
        if source.id not in self.members:
            view = self.place(value)
            if view is not None:
                return self.load(value, view, frame)
        if op in MOVES:
            return self._moved(value, frame)
        if op == "update":
            return self.value(self.results_of(node)[value.result], frame)
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
            raise Unfit(value, frame)
        below = frame
        if node.operation not in SHIFTING and node.operation not in THROUGH:
            found = backward(node, frame)
            if found is None or not self._fits(source, found):
                raise Unfit(value, frame)
            below = found
        return self.value(source, below)

    def _fits(self, value: Value, frame: Frame) -> bool:
        """Whether breakpoints of a value divide one another with those met so far."""
        new = points(value.shape, frame) - self.points
        fits = all(a % b == 0 or b % a == 0 for a in new for b in self.points)
        self.points |= new
        return fits

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
        if op == "index-guard":
            return self._guarded(node, arguments[0])
        if len(arguments) == 2 and op != "shift":
            arguments = self._same_integers(arguments)
        return self.add(op, tuple(arguments), dtype, self.owner.get(node.id, node.id))

    def _guarded(self, node: Node, index: int) -> int:
        """The index, checked."""
        dtype, mine = node.types[0].dtype, self.owner.get(node.id, node.id)
        wide = index if dtype == "i64" else self.add("cast", (index,), "i64")
        safe = self.add("guard", (wide, self.number(node.get("limit"), "i64")), "i64", mine)
        return safe if dtype == "i64" else self.add("cast", (safe,), dtype, mine)

    def _same_integers(self, arguments: list[int]) -> list[int]:
        """Integers of unlike dtype compare by value: as i64."""
        a, b = arguments
        if self.expressions[a].dtype == self.expressions[b].dtype:
            return arguments
        return [self.add("cast", (e,), "i64") for e in arguments]

    def _reduction(self, node: Node) -> int:
        frame, _ = self.cluster.reduced[node.id]
        value = node.operands[0]
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
        axis, mine = node.get("axis"), self.owner.get(node.id, node.id)
        copy = self.instead.get((x, axis))
        view = copy[0] if copy is not None else self.place(x)
        if view is None:
            raise Unfit(x, axis)
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
        walk = self._walk(view, strides, weights, shape, safe, view.strides[axis])
        made = self.walks[walk]
        made.value, made.frame, made.table = Value(node), frame, x
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
        walk = self._walk(view, view.strides, frame, view.shape)
        made = self.walks[walk]
        made.value, made.frame = value, frame
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
        index: int | None = None,
        index_stride: int = 0,
        written: bool = False,
    ) -> int:
        operand = self._operand(view.storage, view.dtype, written)
        pieces = tuple(
            sorted([(w, w * n, s) for n, w, s in zip(shape, weights, strides) if n > 1 and s])
        )
        key = ("walk", operand, pieces, view.offset, index, index_stride)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = len(self.walks)
            self.walks.append(Walk(operand, pieces, view.offset, index, index_stride))
        return found

    def store(self, output: Output) -> None:
        """A value made here, written to its place."""
        node = output.value.node
        if output.fold != "none":
            frame, _ = self.cluster.reduced[node.id]
            axes, keep = node.get("axes"), node.get("keep")
            expression = self._reduction(node)
            self.nodes.add(self.owner.get(node.id, node.id))
            kept = [0 if a in axes else w for a, w in enumerate(frame) if keep or a not in axes]
        else:
            kept = list(self.cluster.frames[output.value])
            expression = self.value(output.value, tuple(kept))
        view = output.view
        walk = self._walk(view, view.strides, kept, view.shape, written=True)
        made = self.walks[walk]
        made.output, made.frame = output, tuple(kept)
        self.outputs.append((output, walk, expression))
