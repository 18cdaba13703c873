"""Clusters of one space that a node brings together become one, where no unit stands between."""

from __future__ import annotations

from ..ir import Node, Value
from .frames import Cluster, Frame, Pieces, base, operand_frame, same
from .prepare import INDEXED
from .units import Units
from .views import MOVES, SHIFTING

LIMIT = 250
"""Most nodes of a cluster."""

Sources = list[Value]
"""By operand of a node: the value whose elements those are."""


class Merging(Units):
    """Units that may become one."""

    def _merge_operands(self, cluster: Cluster, node: Node, sources: Sources, frame: Frame) -> None:
        for k, source in enumerate(sources):
            mask = 0 if source in cluster.made else self.maker.get(source, 0)
            below = operand_frame(node, k, frame) if mask else None
            if below is None:
                continue
            for unit in self.members(mask):
                other = self.units[unit]
                if isinstance(other, Cluster) and other is not cluster and source in other.made:
                    theirs = other.frame(node.operands[k])
                    if theirs is not None and same(theirs, below):
                        self._merge(cluster, other)

    def _merge(self, cluster: Cluster, other: Cluster) -> bool:
        """Take in another cluster of the same space, if no third unit stands between."""
        if (
            other.late != cluster.late
            or other.size != cluster.size
            or len(cluster.nodes) + len(other.nodes) > LIMIT
        ):
            return False
        inner = cluster.inner or other.inner
        fold = cluster.fold or other.fold
        if (other.inner or inner) != inner or (other.fold or fold) != fold:
            return False
        if not cluster.fits(other.breaks):
            return False
        both = cluster.breaks | other.breaks
        if inner is not None and not all(p % inner == 0 or inner % p == 0 for p in both):
            return False
        if fold is not None and inner is not None and fold[0][0] < inner:
            return False
        for key, frame in other.frames.items():
            differs = key in cluster.frames and not same(cluster.frames[key], frame)
            if differs and (key in other.made or key in cluster.made):
                return False
        if self._between(cluster.id, other.id) or self._between(other.id, cluster.id):
            return False
        if _waits(cluster, other) or _waits(other, cluster):
            return False
        self._absorb(cluster, other, inner, fold)
        return True

    def _absorb(
        self,
        cluster: Cluster,
        other: Cluster,
        inner: int | None,
        fold: Pieces | None,
    ) -> None:
        cluster.inner, cluster.fold = inner, fold
        cluster.breaks |= other.breaks
        cluster.valid &= other.valid
        cluster.nodes += other.nodes
        cluster.made |= other.made
        cluster.reduced.update(other.reduced)
        for key, frame in other.frames.items():
            if key not in cluster.frames or key in other.made:
                cluster.frames[key] = frame
        for node in other.nodes:
            for i in range(len(node.types)):
                self.maker[Value(node, i)] = 1 << cluster.id
        self.same[other.id] = cluster.id
        mine, theirs = 1 << cluster.id, 1 << other.id
        above = (self.ancestors[cluster.id] | self.ancestors[other.id]) & ~(mine | theirs)
        self.ancestors[cluster.id] = above
        before = (self.before[cluster.id] | self.before[other.id]) & ~(mine | theirs)
        self.before[cluster.id] = before
        for x, mask in enumerate(self.ancestors):
            if mask & (mine | theirs):
                self.ancestors[x] = mask | above | mine
        self.followed[cluster.id] = self.followed[cluster.id] or self.followed[other.id]
        self.units[other.id] = cluster


def _waits(reader: Cluster, maker: Cluster) -> bool:
    """Whether one cluster reads what the other has only after its last row: the result of a fold,
    a table that an index reads at any place, or what a move shifts to other places."""
    folds = {node for node, (_, over_rows) in maker.reduced.items() if over_rows}
    for node in reader.nodes:
        if folds and any(base(v).node.id in folds for v in node.operands):
            return True
        if any(_shifted(v) and _makes(maker, base(v)) for v in node.operands):
            return True
        if node.operation in INDEXED and _makes(maker, base(node.operands[0])):
            return True
    return False


def _makes(maker: Cluster, value: Value) -> bool:
    return value in maker.made or value.node.id in maker.reduced


def _shifted(value: Value) -> bool:
    """Whether an element of a value lies at another place of what it is a view of."""
    while value.node.operation in MOVES:
        if value.node.operation in SHIFTING:
            return True
        value = value.node.operands[0]
    return False
