"""Clusters to calls, with dense copies of what a kernel cannot read or write as it lies."""

from __future__ import annotations

from typing import Any

from ..ir import Value
from ..ir.types import Type
from .axes import Shaped
from .build import Build, Instead, Nodes, Output, Unfit, UnfitStore
from .cluster import Clusters
from .folding import Cells, fixed, fold_calls
from .frames import Cluster, Frame
from .kernel import KernelCall, NodeCall, View
from .places import Places
from .prepare import Prepared
from .reuse import Pattern, Structure
from .views import MOVES, dense_strides, moved


class Copies(Places):
    """Builds clusters, adding copies until they fit."""

    def __init__(self, prepared: Prepared, cells: Cells = fixed) -> None:
        super().__init__(prepared)
        self.cells = cells
        self.patterns: dict[Any, Pattern] = {}  # by structure, of what needed no copies
        self.copies = 0

    def built(
        self,
        cluster: Cluster,
        outputs: list[Output],
        fresh: Nodes = frozenset(),
        copied: Value | None = None,
    ) -> list[KernelCall | NodeCall]:
        """The cluster's calls, those of an equal one again if there was one. `fresh`: what those
        who wait for it make later; `copied`: what it is there to copy."""
        structure = Structure(cluster, outputs, self.place, self.prepared.owner, fresh)
        pattern = self.patterns.get(structure.key)
        if pattern is not None:
            return list(structure.calls(pattern, [self.storage(t, "temp") for t in pattern.fresh]))
        first, copies = len(self.storages), self.copies
        calls = self._built(cluster, outputs, fresh, copied)
        if self.copies == copies:
            made = tuple([s.type for s in self.storages[first:]])
            self.patterns[structure.key] = structure.pattern(calls, made, first)
        return calls

    def _built(
        self, cluster: Cluster, outputs: list[Output], fresh: Nodes, copied: Value | None
    ) -> list[KernelCall | NodeCall]:
        """What the cluster cannot read as it lies is copied ahead."""
        ahead: list[KernelCall | NodeCall] = []
        behind: list[KernelCall | NodeCall] = []
        instead: Instead = {}
        while True:
            try:
                return [*ahead, *self._attempt(cluster, outputs, instead, fresh), *behind]
            except UnfitStore as unfit:
                self.copies += 1
                behind += self._moved_store(unfit)
            except Unfit as unfit:
                key = unfit.value, unfit.frame
                if key in instead:
                    raise
                self.copies += 1
                around = self._beneath if unfit.value == copied else self._spread
                calls, view, frame = around(unfit, fresh.union([n.id for n in cluster.nodes]))
                instead[key] = view, frame
                ahead += calls

    def _attempt(
        self, cluster: Cluster, outputs: list[Output], instead: Instead, fresh: Nodes
    ) -> list[KernelCall | NodeCall]:
        build = Build(cluster, self.place, self.prepared, instead, fresh)
        folds, plain = (
            [o for o in outputs if o.fold != "none"],
            [o for o in outputs if o.fold == "none"],
        )
        for output in (*plain, *folds):
            build.store(output)
        return list(fold_calls(Shaped(build), folds, self.dense, self.cells))

    def _moved_store(self, unfit: UnfitStore) -> list[KernelCall | NodeCall]:
        """Write in the order of the linear index first, and move that to its place."""
        output, type = unfit.output, unfit.output.value.type
        held = self.dense(type)
        strides, step = [0] * len(type.shape), 1
        for axis in sorted(range(len(type.shape)), key=lambda a: unfit.frame[a]):
            strides[axis] = step
            step *= type.shape[axis]
        view = View(held.storage, type.dtype, type.shape, tuple(strides))
        source = Value(self.prepared.node("held", (), (type,)))
        self.bases[source] = view
        target, output.view = output.view, view
        return self.copy_calls(source, target)

    def _spread(
        self, unfit: Unfit, fresh: Nodes
    ) -> tuple[list[KernelCall | NodeCall], View, Frame]:
        """A dense copy of a value in the order of the linear index, with its frame."""
        if isinstance(unfit.frame, int):
            view = self._table(unfit.value.type, unfit.frame)
            return self.copy_calls(unfit.value, view, fresh, unfit.value), view, ()
        value, frame = self._ordered(unfit.value, unfit.frame, unfit.low, unfit.high)
        view = self.dense(value.type)
        return self.copy_calls(value, view, fresh, unfit.value), view, frame

    def _table(self, type: Type, axis: int) -> View:
        """A place whose indexed axis is the outermost, so that rows go evenly along the others."""
        shape = (type.shape[axis], *type.shape[:axis], *type.shape[axis + 1 :])
        first, *rest = dense_strides(shape)
        strides = (*rest[:axis], first, *rest[axis:])
        return View(self.dense(type).storage, type.dtype, type.shape, strides)

    def _beneath(
        self, unfit: Unfit, fresh: Nodes
    ) -> tuple[list[KernelCall | NodeCall], View, Frame]:
        """A move that not even the kernel that copies it can follow: what it moves is stored by
        a kernel of its own, densely, where every move is a matter of strides. What is asked for
        lies nearer to the inputs each time, so this ends."""
        node = unfit.value.node
        assert node.operation in MOVES, node
        assert not isinstance(unfit.frame, int), node
        source = node.operands[0]
        held = self.dense(source.type)
        view = moved(node, held)
        assert view is not None, node
        return self.copy_calls(source, held, fresh, source), view, unfit.frame

    def _ordered(self, value: Value, frame: Frame, low: int, high: int) -> tuple[Value, Frame]:
        """The value with its axes from high to low, and broadcast over what of [low, high) it
        does not run along."""
        axes = sorted((w, n, a) for a, (n, w) in enumerate(zip(value.shape, frame)) if n > 1)
        dims: list[tuple[int, int, bool]] = []
        at = low
        for weight, size, _ in axes:
            if at < min(weight, high):
                dims.append((at, min(weight, high) // at, False))
            dims.append((weight, size, True))
            at = max(at, weight * size)
        if at < high:
            dims.append((at, high // at, False))
        dims.reverse()
        order = [a for a, n in enumerate(value.shape) if n == 1] + [a for _, _, a in axes[::-1]]
        kept = tuple(n if own else 1 for _, n, own in dims)
        value = self._view(
            "permute", value, tuple(value.shape[a] for a in order), axes=tuple(order)
        )
        value = self._view("reshape", value, kept, shape=kept)
        shape = tuple(n for _, n, _ in dims)
        return self._view("broadcast-to", value, shape, shape=shape), tuple(w for w, _, _ in dims)

    def _view(self, operation: str, value: Value, to: tuple[int, ...], **given: Any) -> Value:
        return Value(self.prepared.node(operation, (value,), (Type(value.dtype, to),), **given))

    def copy_calls(
        self,
        value: Value,
        view: View,
        fresh: Nodes = frozenset(),
        copied: Value | None = None,
    ) -> list[KernelCall | NodeCall]:
        """A kernel of its own that writes a value to a place."""
        made = self.prepared.node("copy", (value,), (value.type,))
        alone = Clusters()
        cluster = alone.add(made)
        cluster.id = -1
        return self.built(cluster, [Output(Value(made), view)], fresh, copied)
