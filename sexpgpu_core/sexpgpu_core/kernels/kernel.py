"""Fused kernels as data: what the emitter prints, what the plan calls, what the dump shows.

A kernel runs rows of a grid of three outer axes (sizes are run-time arguments) and one inner axis
(a constant). Its identity is its structure: no outer sizes, strides, names, spans or literals.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from ..ir import Node, Value
from ..ir.types import Type
from ..records import NamedTuple

FOLD_ROWS = 256
"""Rows a cell of a fold takes: the fixed grid of 45.11."""


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


@dataclass(frozen=True, slots=True)
class Kernel:
    """`folded`: outer axis 0 is kept, axes 1 and 2 are folded over in cells of FOLD_ROWS rows."""

    inner: int
    folded: bool
    operands: tuple[Operand, ...]
    accesses: tuple[Access, ...]
    scalars: tuple[str, ...]  # dtype of each uniform slot
    expressions: tuple[Expr, ...]
    stores: tuple[Store, ...]

    def key(self) -> str:
        """Hex digest of the structure."""
        parts = (
            self.inner,
            self.folded,
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


@dataclass(slots=True)
class Storage:
    """A buffer before it has an address. `input` names the graph input that lives in it."""

    id: int
    type: Type
    kind: str  # input's kind (parameter optimizer state batch scalar persistent ...), "temp"
    name: str = ""
    constant: object = None  # array data of a persistent constant


class View(NamedTuple):
    """A value's place: strides and offset in elements of its storage."""

    storage: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0


Place = tuple[int, int, int, int, int]
"""(stride of outer axis 0, 1, 2, offset, stride of index), in elements."""


@dataclass(slots=True)
class KernelCall:
    """A kernel applied: storages by operand, places by access, scalars by slot."""

    kernel: Kernel
    operands: tuple[int, ...]
    outer: tuple[int, int, int]
    places: tuple[Place, ...]
    scalars: tuple[float | int | bool | str, ...] = ()  # text: name of a step scalar
    commit: bool = False
    nodes: tuple[int, ...] = ()

    def reads(self) -> set[int]:
        return {s for s, o in zip(self.operands, self.kernel.operands) if not o.written}

    def writes(self) -> set[int]:
        return {s for s, o in zip(self.operands, self.kernel.operands) if o.written}


@dataclass(slots=True)
class NodeCall:
    """A node that is not fused: matrix product, convolution, irregular kernel. By views."""

    node: Node
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    commit: bool = False

    @property
    def nodes(self) -> tuple[int, ...]:
        return (self.node.id,)

    def reads(self) -> set[int]:
        return {v.storage for v in self.inputs}

    def writes(self) -> set[int]:
        return {v.storage for v in self.outputs}


@dataclass(slots=True)
class Schedule:
    """What fusion makes of a graph: calls in an order that is legal, over storages.

    `calls[commit:]` write persistent storages, none before do. `views` has the place of every
    value that has one (inputs, results, operands of NodeCalls). `verdict`: storage of the bool
    scalar that must be true for the commit part to run, or None.
    """

    storages: list[Storage]
    calls: list[KernelCall | NodeCall]
    commit: int
    views: dict[tuple[int, int], View]
    results: dict[str, View]  # every graph result that is not a `next:` commit
    verdict: int | None = None

    def view(self, value: Value) -> View:
        return self.views[value.node.id, value.result]
