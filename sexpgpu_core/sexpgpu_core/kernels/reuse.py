"""Clusters of one structure are built once: layers repeat, and so do their kernels.

A structure says all that a build depends on but for which storages and which nodes they are; the
calls of the first are the pattern for those of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..ir import Node, Value
from ..ir.types import Type
from .build import Nodes, Output
from .frames import Cluster, base
from .kernel import KernelCall, NodeCall, View
from .prepare import INDEXED, LEAVES, REDUCTIONS
from .views import MOVES

Place = Callable[[Value], "View | None"]


class Pattern(NamedTuple):
    """Calls over numbered storages: those of the structure in its order, then new ones."""

    calls: tuple[KernelCall, ...]
    fresh: tuple[Type, ...]


class Structure:
    """A cluster and its outputs. Equal `key`s: equal calls over `storages`."""

    def __init__(
        self,
        cluster: Cluster,
        outputs: list[Output],
        place: Place,
        owner: dict[int, int],
        fresh: Nodes,
    ) -> None:
        self.cluster = cluster
        self.place = place
        self.owner = owner
        self.members = {n.id for n in cluster.nodes} | fresh
        self.storages: dict[int, int] = {}
        self.nodes: set[int] = set()
        self._entries: list[Any] = []
        self._known: dict[Value, int] = {}
        ends = tuple([self._end(o) for o in outputs])
        axes = (cluster.size, cluster.inner, cluster.fold, frozenset(cluster.breaks))
        self.key = (axes, ends, tuple(self._entries))

    def _end(self, output: Output) -> Any:
        value = output.value
        frame = self.cluster.frames.get(value)
        return self._value(value), output.fold, frame, self._view(output.view)

    def _view(self, view: View) -> Any:
        storages = self.storages
        return storages.setdefault(view.storage, len(storages)), view[1:]

    def _value(self, value: Value) -> int:
        """The number of a value's entry, made if it is not there yet."""
        if value in self._known:
            return self._known[value]
        entry = self._entry(value)
        number = self._known[value] = len(self._entries)
        self._entries.append(entry)
        return number

    def _entry(self, value: Value) -> Any:
        node = value.node
        op, attributes = node.operation, node.attributes and _attributes(node)
        if op in LEAVES:
            return op, attributes, node.types
        moves = op in MOVES
        source = base(value).node if moves else node
        if source.id not in self.members:
            view = self.place(value)
            if view is not None:
                return self._view(view)
        if not moves:
            self.nodes.add(self.owner.get(node.id, node.id))
        first: Any = self.cluster.reduced.get(node.id) if op in REDUCTIONS else None
        rest = node.operands
        if op in INDEXED:
            table = self.place(rest[0])
            if table is not None:
                first, rest = self._view(table), rest[1:]
        known = self._known
        operands = tuple([known[v] if v in known else self._value(v) for v in rest])
        return op, value.result, attributes, node.types, first, operands

    def pattern(
        self, calls: Sequence[KernelCall | NodeCall], fresh: tuple[Type, ...], first: int
    ) -> Pattern:
        """What was built, to be done again. `first`: number of the first storage made for it."""
        numbers = dict(self.storages)
        for i in range(len(fresh)):
            numbers[first + i] = len(numbers)
        return Pattern(
            tuple([_moved(c, numbers.__getitem__, ()) for c in calls if isinstance(c, KernelCall)]),
            fresh,
        )

    def calls(self, pattern: Pattern, made: list[int]) -> list[KernelCall]:
        """The pattern's calls over these storages and those made anew."""
        numbers = [*self.storages, *made]
        nodes = tuple(sorted(self.nodes))
        return [_moved(c, numbers.__getitem__, nodes) for c in pattern.calls]


def _moved(call: KernelCall, number: Callable[[int], int], nodes: tuple[int, ...]) -> KernelCall:
    operands = tuple(map(number, call.operands))
    return KernelCall(
        call.kernel, operands, call.outer, call.places, call.scalars, call.commit, nodes
    )


def _attributes(node: Node) -> Any:
    """True == 1 == 1.0 and 0 == -0.0 in Python, but they are unlike constants."""
    given = node.attributes
    for _, number in given:
        if number.__class__ is float or number.__class__ is bool:
            return tuple([(k, v.__class__, repr(v)) for k, v in given])
    return given
