"""What the core knows of an operation: one frozen object says all of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from ..records import NamedTuple
from .graph import Node, Value
from .types import Attribute, Type

if TYPE_CHECKING:
    from .builder import Builder


class Fusion(Enum):
    """What fusion does with it."""

    ELEMENT = "element"  # a scalar expression of its broadcast operands
    REDUCE = "reduce"  # along axes, then elementwise use
    MOVE = "move"  # a change of place: a view, or a copy
    LIBRARY = "library"  # matmul, conv
    OPAQUE = "opaque"  # an irregular kernel
    LEAF = "leaf"  # input, constant, iota, step-scalar, random: no computation of operands


class Precision(Enum):
    """What the precision policy does with it (45.24)."""

    LOW = "low"
    FULL = "full"
    FOLLOW = "follow"
    EXACT = "exact"


class Cost(NamedTuple):
    flops: int
    read: int
    written: int


class Dependence(NamedTuple):
    """(result axis, operand, operand axis, relation); relation: same le ge shift all."""

    axes: tuple[tuple[int, int, int, str], ...]


Attributes = Mapping[str, Any]


class Operation(Protocol):
    """Stateless. `infer` raises Problem; `reference` borrows arrays and returns new ones."""

    name: str
    fusion: Fusion
    precision: Precision
    random: bool
    doc: str

    def infer(self, operands: tuple[Type, ...], attributes: Attributes) -> tuple[Type, ...]: ...

    def gradient(
        self, b: Builder, node: Node, out: tuple[Value | None, ...]
    ) -> tuple[Value | None, ...]: ...

    def reference(
        self, operands: tuple[Any, ...], attributes: Attributes, types: tuple[Type, ...]
    ) -> tuple[Any, ...]: ...

    def cost(self, operands: tuple[Type, ...], attributes: Attributes) -> Cost: ...

    def depends(self, operands: tuple[Type, ...], attributes: Attributes) -> Dependence: ...

    def expand(self, b: Builder, node: Node) -> tuple[Value, ...] | None: ...


Operations = Mapping[str, Operation]
"""The table, built by the registry and handed down; no phase reads it from a global."""

__all__ = [
    "Attribute",
    "Attributes",
    "Callable",
    "Cost",
    "Dependence",
    "Fusion",
    "Operation",
    "Operations",
    "Precision",
]
