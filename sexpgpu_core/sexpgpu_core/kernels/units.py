"""Units, clusters and calls, and which must come before which: kept without cycles."""

from __future__ import annotations

from ..ir import Node, Value
from .frames import Cluster, Key, base


class Units:
    """Units by number; masks are sets of units."""

    def __init__(self) -> None:
        self.units: list[Cluster | Node] = []
        self.ancestors: list[int] = []
        self.before: list[int] = []  # direct predecessors
        self.followed: list[bool] = []
        self.same: list[int] = []  # the unit that a merged one became part of
        self.maker: dict[Key, int] = {}  # mask of the units that make a value

    def _unit(self, what: Cluster | Node) -> int:
        self.units.append(what)
        self.ancestors.append(0)
        self.before.append(0)
        self.followed.append(False)
        self.same.append(len(self.same))
        return len(self.units) - 1

    def needs(self, value: Value) -> int:
        """Mask of the units that make a value."""
        source = base(value)
        return self.maker.get((source.node.id, source.result), 0)

    def members(self, mask: int) -> list[int]:
        """Units of a mask, merged ones as what they became."""
        if not mask:
            return []
        if not mask & (mask - 1):
            return [self._now(mask.bit_length() - 1)]
        found: list[int] = []
        while mask:
            low = mask & -mask
            unit = self._now(low.bit_length() - 1)
            if unit not in found:
                found.append(unit)
            mask ^= low
        return found

    def _now(self, unit: int) -> int:
        """A unit, or what it became part of."""
        same = self.same
        while same[unit] != unit:
            unit = same[unit]
        return unit

    def after(self, unit: int, mask: int) -> None:
        """Note that a unit comes after those of a mask."""
        units = self.members(mask)
        new = 0
        for x in units:
            if x != unit:
                self.before[unit] |= 1 << x
                self.followed[x] = True
                new |= 1 << x | self.ancestors[x]
        if new & ~self.ancestors[unit]:
            self.ancestors[unit] |= new
            if self.followed[unit]:
                self._spread(unit)

    def _spread(self, unit: int) -> None:
        bit, above = 1 << unit, self.ancestors[unit]
        for x, mask in enumerate(self.ancestors):
            if mask & bit:
                self.ancestors[x] = mask | above

    def cycles(self, cluster: Cluster, mask: int) -> bool:
        """Whether a node that needs a mask of outside units may not join."""
        if not mask:
            return False
        bit, ancestors = 1 << cluster.id, self.ancestors
        return any(x == cluster.id or ancestors[x] & bit for x in self.members(mask))

    def _between(self, first: int, last: int) -> bool:
        """Whether a third unit stands on a way from one unit to another."""
        bit = 1 << first
        return any(x != first and self.ancestors[x] & bit for x in self.members(self.before[last]))
