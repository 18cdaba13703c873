"""Fused kernels as data: what the emitter prints, what the plan calls, what the dump shows.

A kernel runs rows of a grid of three outer axes (sizes are run-time arguments) and one inner axis
(a constant). Its identity is its structure: no outer sizes, strides, names, spans or literals.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal, Union

from ..ir import Node
from ..ir.types import Type
from ..records import NamedTuple, Record

FOLD_ROWS = 256
"""Rows a cell of a fold takes, unless a device says otherwise: the fixed grid of 45.11."""


class Operand(NamedTuple):
    """A buffer a kernel reads or writes; bool is a byte 0 or 1.

    `alias`: a written operand may be the same buffer as that read operand, at the same places.
    """

    dtype: str
    written: bool = False
    alias: int | None = None


class Access(NamedTuple):
    """How an operand is addressed: base + offset + i0 s0 + i1 s1 + i2 s2 + index si + j inner.

    Strides and offset (in elements) are run-time places of the call. `index` is an integer
    expression, uniform in a row or not: a gather. inner 2: the stride of j is si (no index then).
    """

    operand: int
    inner: Literal[0, 1, 2]
    index: int | None = None  # type: ignore[assignment]  # hides tuple.index


class Expr(NamedTuple):
    """One value, rounded to `dtype` here and nowhere else.

    op: load, uniform, literal, outer-index (slot = axis), inner-index, guard (index, limit), philox
    (column, row, step, iteration, key, key), an element operation (`add exp where cast fma ...`),
    reduce-sum reduce-max reduce-min reduce-product reduce-any reduce-all (along the inner axis).
    """

    op: str
    args: tuple[int, ...]
    dtype: str
    access: int | None = None  # load: index in Kernel.accesses
    slot: int | None = None  # uniform: scalar slot; outer-index: axis
    literal: float | int | bool | None = None
    attributes: tuple[tuple[str, object], ...] = ()
    node: int = -1  # not part of the key


Fold = Literal["none", "sum", "max", "min", "product", "any", "all"]


class Store(NamedTuple):
    """Write an expression. fold: over the folded outer axes, a partial a cell, in row order."""

    access: int
    value: int
    fold: Fold = "none"


class Kernel(NamedTuple):
    """`folded`: outer axis 0 is kept, axes 1 and 2 are folded over in cells of `cell` rows."""

    inner: int
    folded: bool
    operands: tuple[Operand, ...]
    accesses: tuple[Access, ...]
    scalars: tuple[str, ...]  # dtype of each uniform slot
    expressions: tuple[Expr, ...]
    stores: tuple[Store, ...]
    cell: int = FOLD_ROWS

    def key(self) -> str:
        """Hex digest of the structure."""
        parts = (
            self.inner,
            self.folded,
            self.cell,
            tuple((o.dtype, o.written, o.alias) for o in self.operands),
            tuple((a.operand, a.inner, a.index) for a in self.accesses),
            self.scalars,
            tuple(
                (e.op, e.args, e.dtype, e.access, e.slot, repr(e.literal), e.attributes)
                for e in self.expressions
            ),
            tuple((s.access, s.value, s.fold) for s in self.stores),
        )
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


class Storage(Record):
    """A buffer before it has an address.

    `kind`: the kind of the graph input that lives in it (parameter optimizer state batch scalar
    persistent ...) and `name` its name; else "temp". `constant`: array data of a constant.
    """

    __slots__ = ("constant", "id", "kind", "name", "type")

    def __init__(
        self, id: int, type: Type, kind: str, name: str = "", constant: object = None
    ) -> None:
        self.id = id
        self.type = type
        self.kind = kind
        self.name = name
        self.constant = constant


class View(NamedTuple):
    """A value's place: strides and offset in elements of its storage."""

    storage: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0


Place = tuple[int, int, int, int, int]
"""(stride of outer axis 0, 1, 2, offset, stride of index), in elements."""


class KernelCall(Record):
    """A kernel applied: storages by operand, places by access, scalars by slot (a text is the name
    of a step scalar)."""

    __slots__ = ("commit", "kernel", "nodes", "operands", "outer", "places", "scalars")

    def __init__(
        self,
        kernel: Kernel,
        operands: tuple[int, ...],
        outer: tuple[int, int, int],
        places: tuple[Place, ...],
        scalars: tuple[float | int | bool | str, ...] = (),
        commit: bool = False,
        nodes: tuple[int, ...] = (),
    ) -> None:
        self.kernel = kernel
        self.operands = operands
        self.outer = outer
        self.places = places
        self.scalars = scalars
        self.commit = commit
        self.nodes = nodes

    def reads(self) -> set[int]:
        return {s for s, o in zip(self.operands, self.kernel.operands) if not o.written}

    def writes(self) -> set[int]:
        return {s for s, o in zip(self.operands, self.kernel.operands) if o.written}


class NodeCall(Record):
    """A node that is not fused: matrix product, convolution, irregular kernel. By views."""

    __slots__ = ("commit", "inputs", "node", "outputs")

    def __init__(
        self, node: Node, inputs: tuple[View, ...], outputs: tuple[View, ...], commit: bool = False
    ) -> None:
        self.node = node
        self.inputs = inputs
        self.outputs = outputs
        self.commit = commit

    @property
    def nodes(self) -> tuple[int, ...]:
        return (self.node.id,)

    def reads(self) -> set[int]:
        return {v.storage for v in self.inputs}

    def writes(self) -> set[int]:
        return {v.storage for v in self.outputs}


class Bound(NamedTuple):
    """Where an input or result "body:NAME" of a loop's body lies: from `offset` on in a storage
    around it, `step` further each trip, in elements."""

    name: str
    storage: int
    offset: int
    step: int
    written: bool


class Repeat(Record):
    """A body run trip by trip (45.27): what a trip commits are its carries, in place, and its part
    of what is stacked. `room`: storage that the body's own storages share; the plan says its
    size, and puts the body's plan here. `test`: the storage of a bool that each trip begins by
    asking, or None."""

    __slots__ = ("body", "bound", "commit", "limit", "node", "plan", "room", "test")

    def __init__(
        self, node: Node, body: Schedule, bound: tuple[Bound, ...], limit: int, room: int,
        test: int | None = None,
    ) -> None:  # fmt: skip
        self.node = node
        self.body = body
        self.bound = bound
        self.limit = limit
        self.room = room
        self.test = test
        self.commit = False
        self.plan: Any = None  # plan.Plan

    @property
    def nodes(self) -> tuple[int, ...]:
        return (self.node.id,)

    def reads(self) -> set[int]:
        return {b.storage for b in self.bound}

    def writes(self) -> set[int]:
        return {b.storage for b in self.bound if b.written} | {self.room}


Call = Union[KernelCall, NodeCall, Repeat]  # noqa: UP007


class Schedule(Record):
    """What fusion makes of a graph: calls in an order that is legal, over storages.

    `calls[commit:]` write persistent storages, none before do. `verdict`: storage of the bool
    scalar that must be true for the commit part to run, or None. `results`: the place of every
    graph result that is no `next:` commit.
    """

    __slots__ = ("calls", "commit", "results", "storages", "verdict")

    def __init__(
        self,
        storages: list[Storage],
        calls: list[Call],
        commit: int,
        results: dict[str, View],
        verdict: int | None = None,
    ) -> None:
        self.storages = storages
        self.calls = calls
        self.commit = commit
        self.results = results
        self.verdict = verdict
