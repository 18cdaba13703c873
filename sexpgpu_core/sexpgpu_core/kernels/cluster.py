"""The partition of a graph's nodes into clusters and calls, grown node by node without cycles."""

from __future__ import annotations

from ..ir import Node, Value
from ..ir.graph import value_of
from .frames import (
    UNKNOWN,
    Cluster,
    Frame,
    Pieces,
    Shape,
    agreed,
    along,
    axes_in_result,
    backward,
    base,
    dense_frame,
    foldable,
    intervals,
    lifted,
    operand_frame,
    points,
    runs,
    same,
    shortened,
    size_of,
)
from .merging import LIMIT, Merging, Sources
from .prepare import INDEXED, LEAVES, REDUCTIONS
from .views import MOVES, SHIFTING


class Clusters(Merging):
    """The partition being made."""

    def __init__(self) -> None:
        super().__init__()
        self.readers: dict[Value, list[Cluster]] = {}
        self.scalars: Cluster | None = None

    # Nodes
    def call(self, node: Node, inputs: tuple[Value, ...], extra: int = 0) -> int:
        """A library call: a unit of its own, after the units of `extra`."""
        unit = self._unit(node)
        self.after(unit, extra | self.held(node.operands))
        for value in inputs:
            self.after(unit, self.needs(value))
        for i in range(len(node.types)):
            self.maker[Value(node, i)] = 1 << unit
        return unit

    def add(self, node: Node, extra: int = 0, late: bool = False) -> Cluster:
        """Put a computing node into a cluster; `extra`: units that must come before.

        `late`: only commits need it. Such nodes keep to themselves, so that their kernels can
        write where the values stay.
        """
        sources = [v if v.node.operation not in MOVES else base(v) for v in node.operands]
        makers = self._makers(sources)
        found = self._joined(makers, node, sources, extra, late)
        if found is None:
            readers = [c for c in self._readers(node, sources) if c not in makers]
            found = self._joined(readers, node, sources, extra, late)
        if found is None:
            found = self._start(node, sources, extra)
            found.late = late
        return found

    def _joined(
        self, candidates: list[Cluster], node: Node, sources: Sources, extra: int, late: bool
    ) -> Cluster | None:
        """The first cluster that takes a node in."""
        for cluster in candidates:
            fits = cluster.late == late and len(cluster.nodes) < LIMIT
            if fits and self._join(cluster, node, sources, extra):
                return cluster
        return None

    def _makers(self, sources: Sources) -> list[Cluster]:
        """Clusters of operands, latest first."""
        mask = 0
        for source in sources:
            mask |= self.maker.get(source, 0)
        units = self.members(mask)
        if len(units) > 1:
            units.sort(reverse=True)
        return [c for c in map(self.units.__getitem__, units) if isinstance(c, Cluster)]

    def _readers(self, node: Node, sources: Sources) -> list[Cluster]:
        """Clusters that read what a node reads, latest first; for one element those of one."""
        reduces = node.operation in REDUCTIONS
        size = size_of(node.operands[0].shape if reduces else node.types[0].shape)
        if size < 2:
            return [self.current(self.scalars)] if size and self.scalars is not None else []
        found: list[Cluster] = []
        for source in sources:
            readers = self.readers.get(source)
            if readers and size_of(source.node.types[source.result].shape) == size:
                found += readers[-3:]
        return list(dict.fromkeys([self.current(c) for c in reversed(found)]))

    def current(self, cluster: Cluster) -> Cluster:
        """The cluster that a merged one became part of."""
        unit = cluster.id
        while self.same[unit] != unit:
            unit = self.same[unit]
        found = self.units[unit]
        assert isinstance(found, Cluster)
        return found

    def _join(self, cluster: Cluster, node: Node, sources: Sources, extra: int) -> bool:
        if node.operation in REDUCTIONS and size_of(node.operands[0].shape) > 1:
            return self._join_reduction(cluster, node, sources[0], extra)
        known = cluster.frames
        frames = [known[v] if v in known else cluster.frame(v) for v in node.operands]
        frame = self._result_frame(cluster, node, sources, frames)
        if frame is None:
            return False
        outside = self._outside(cluster, node, sources, frames)
        if outside and cluster.size > 1 and size_of(node.types[0].shape) == 1:
            return False  # sums of what many kernels gave are no part of one of them
        outside |= extra
        if outside and self.cycles(cluster, outside):
            return False
        self._take(cluster, node, frame, outside)
        self._merge_operands(cluster, node, sources, frame)
        return True

    def _outside(
        self, cluster: Cluster, node: Node, sources: Sources, frames: list[Frame | None]
    ) -> int:
        """Units that make operands which are not made here at a known frame."""
        mask, table = 0, node.operation in INDEXED  # the first operand is read where it lies
        for source, frame in zip(sources, frames):
            if table or frame is None or source not in cluster.made:
                mask |= self.maker.get(source, 0)
            table = False
        return mask

    def _result_frame(
        self, cluster: Cluster, node: Node, sources: Sources, frames: list[Frame | None]
    ) -> Frame | None:
        """The frame of a node's result in a cluster, or None where it does not fit."""
        shape = node.types[0].shape
        known: Frame | None = None
        for k, frame in enumerate(frames):
            told = self._told(node, k, frame) if frame else None
            if told is None:
                continue
            both = told if known is None else agreed(known, told)
            if both is not None:
                known = both
            elif sources[k] in cluster.made:
                return None
        if known is None:
            if cluster.size > 1:
                return None
            known = lifted(shape, (), (), ())
        return self._settle(cluster, shape, known)

    def _told(self, node: Node, k: int, frame: Frame) -> Frame | None:
        """What the frame of operand k says of the result's; None: it is read from its storage."""
        value, shape = node.operands[k], node.types[0].shape
        own = value.node.types[value.result].shape
        if own == shape and node.operation not in INDEXED:
            return frame
        axes = axes_in_result(node, k)
        return None if axes is None else lifted(shape, own, axes, frame)

    def _settle(self, cluster: Cluster, shape: Shape, known: Frame) -> Frame | None:
        if (shape, known) in cluster.valid:
            return known
        size, inner = size_of(shape), cluster.inner
        if size == cluster.size:
            unit = 1
        elif inner is not None and size == cluster.size // inner and inner > 1:
            unit = inner
        else:
            return None
        frame = known
        if UNKNOWN in frame:
            frame = dense_frame(shape, unit)
            if not same(known, frame):
                return None
        if runs(intervals(shape, frame)) != (((unit, cluster.size),) if size > 1 else ()):
            return None
        return frame if cluster.fits(points(shape, frame)) else None

    def _take(self, cluster: Cluster, node: Node, frame: Frame, outside: int) -> None:
        """Make a node part of a cluster."""
        cluster.nodes.append(node)
        shape = node.types[0].shape
        if (shape, frame) not in cluster.valid:
            cluster.valid.add((shape, frame))
            cluster.breaks |= points(shape, frame)
        for i in range(len(node.types)):
            value = value_of((node, i))
            cluster.frames[value] = frame
            cluster.made.add(value)
            self.maker[value] = 1 << cluster.id
        for k, value in enumerate(node.operands):
            if value not in cluster.frames and value.node.operation not in LEAVES:
                below = operand_frame(node, k, frame)
                if below:
                    self._read(cluster, value, below)
        if outside:
            self.after(cluster.id, outside)
        if cluster.size == 1:
            self.scalars = cluster

    def _read(self, cluster: Cluster, value: Value, frame: Frame) -> None:
        """Note at which frame a value from elsewhere is read."""
        shape = value.node.types[value.result].shape
        while value.node.operation in MOVES and value.node.operation not in SHIFTING:
            below = backward(value.node, frame)
            if below is None:
                return
            value, frame = value.node.operands[0], below
        if value.node.operation in LEAVES or value.node.operation in MOVES:
            return
        if value not in cluster.frames and size_of(shape) > 1:
            cluster.frames[value] = frame
            self.readers.setdefault(value, []).append(cluster)

    def _start(self, node: Node, sources: Sources, extra: int) -> Cluster:
        reduction = node.operation in REDUCTIONS and size_of(node.operands[0].shape) > 1
        shape = node.operands[0].shape if reduction else node.types[0].shape
        cluster = Cluster(len(self.units), size_of(shape))
        self._unit(cluster)
        dense = dense_frame(shape)
        outside = extra
        for source in sources:
            outside |= self.maker.get(source, 0)
        if reduction:
            self._read(cluster, node.operands[0], dense)
            cluster.breaks |= points(shape, dense)
            joined = self._reduce_in(cluster, node, dense, outside)
            assert joined
        else:
            self._take(cluster, node, dense, outside)
        return cluster

    # Reductions
    def _join_reduction(self, cluster: Cluster, node: Node, source: Value, extra: int) -> bool:
        value = node.operands[0]
        frame = cluster.frame(value)
        if frame is None:
            return False
        settled = self._settle(cluster, value.shape, frame)
        if settled is None:
            return False
        outside = extra if source in cluster.made else extra | self.maker.get(source, 0)
        if outside and self.cycles(cluster, outside):
            return False
        return self._reduce_in(cluster, node, settled, outside)

    def _reduce_in(self, cluster: Cluster, node: Node, frame: Frame, outside: int) -> bool:
        """Along the innermost axes, over outer ones (a fold), or both."""
        shape, axes = node.operands[0].shape, node.get("axes")
        pieces = runs(along(shape, frame, axes))
        row = not pieces or intervals(shape, frame)[0][0] != 1
        inner, fold = cluster.inner, cluster.fold
        rest = list(pieces)
        if not row and pieces and pieces[0][0] == 1:
            inner = inner or self._inner_of(shape, frame, axes, pieces[0][1])
            if pieces[0][1] % inner or inner > pieces[0][1]:
                return False
            rest = ([(inner, pieces[0][1])] if pieces[0][1] > inner else []) + rest[1:]
        elif not row and pieces and inner is not None and inner > pieces[0][0]:
            return False
        if rest:
            if fold is not None and fold != tuple(rest):
                return False
            fold = tuple(rest)
            if not foldable(fold, cluster.size, inner):
                return False
        if inner is not None and not self._inner_fits(cluster, inner, fold):
            return False
        if cluster.inner != inner:
            cluster.valid.clear()
        cluster.inner, cluster.fold = inner, fold
        if inner is not None:
            cluster.breaks.add(inner)
        cluster.nodes.append(node)
        cluster.reduced[node.id] = frame, bool(rest)
        made = Value(node)
        self.maker[made] = 1 << cluster.id
        if not rest:
            keep = node.get("keep")
            kept = [0 if a in axes else w for a, w in enumerate(frame) if keep or a not in axes]
            cluster.frames[made] = tuple(kept)
            cluster.made.add(made)
        if outside:
            self.after(cluster.id, outside)
        return True

    def _inner_of(self, shape: Shape, frame: Frame, axes: Shape, high: int) -> int:
        """How much of a reduced run is done along j: its lowest axes, at least 64 if there are."""
        size = 1
        for low, top in along(shape, frame, axes):
            if low != size or top > high or size >= 64:
                break
            size = top
        whole = len(runs(intervals(shape, frame))) == 1 and high == size_of(shape)
        if not whole:
            return high
        return shortened(size) if sum(n > 1 for n in shape) == 1 else size

    def _inner_fits(self, cluster: Cluster, inner: int, fold: Pieces | None) -> bool:
        even = all(p % inner == 0 or inner % p == 0 for p in cluster.breaks)
        return even and (fold is None or fold[0][0] >= inner)
