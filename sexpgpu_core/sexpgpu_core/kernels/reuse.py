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
from .frames import Cluster, Key, base
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
        self._known: dict[Key, int] = {}
        ends = tuple([self._end(o) for o in outputs])
        axes = (cluster.size, cluster.inner, cluster.fold, frozenset(cluster.breaks))
        self.key = (axes, ends, tuple(self._entries))

    def _end(self, output: Output) -> Any:
        value = output.value
        frame = self.cluster.frames.get((value.node.id, value.result))
        return self._value(value), output.fold, frame, self._view(output.view)

    def _view(self, view: View) -> Any:
        storages = self.storages
        storage = storages.setdefault(view.storage, len(storages))
        return (storage, view.dtype, view.shape, view.strides, view.offset)

    def _value(self, value: Value) -> int:
        key = value.node.id, value.result
        found = self._known.get(key)
        if found is None:
            entry = self._entry(value)
            found = self._known[key] = len(self._entries)
            self._entries.append(entry)
        return found

    def _entry(self, value: Value) -> Any:
        node, op = value.node, value.node.operation
        if op in LEAVES:
            return op, _attributes(node), node.types
        source = base(value) if op in MOVES else value
        if source.node.id not in self.members:
            view = self.place(value)
            if view is not None:
                return self._view(view)
        if op not in MOVES:
            self.nodes.add(self.owner.get(node.id, node.id))
        reduced = self.cluster.reduced.get(node.id) if op in REDUCTIONS else None
        table = self.place(node.operands[0]) if op in INDEXED else None
        first = () if table is None else self._view(table)
        rest = node.operands if table is None else node.operands[1:]
        operands = tuple([self._value(v) for v in rest])
        return op, value.result, _attributes(node), node.types, reduced, first, operands

    def pattern(
        self, calls: Sequence[KernelCall | NodeCall], fresh: tuple[Type, ...], first: int
    ) -> Pattern:
        """What was built, to be done again. `first`: number of the first storage made for it."""
        numbers = dict(self.storages)
        for i in range(len(fresh)):
            numbers[first + i] = len(numbers)
        return Pattern(
            tuple([_moved(c, numbers, ()) for c in calls if isinstance(c, KernelCall)]), fresh
        )

    def calls(self, pattern: Pattern, made: list[int]) -> list[KernelCall]:
        """The pattern's calls over these storages and those made anew."""
        numbers = dict(enumerate([*self.storages, *made]))
        nodes = tuple(sorted(self.nodes))
        return [_moved(c, numbers, nodes) for c in pattern.calls]


def _moved(call: KernelCall, numbers: dict[int, int], nodes: tuple[int, ...]) -> KernelCall:
    operands = tuple([numbers[s] for s in call.operands])
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
