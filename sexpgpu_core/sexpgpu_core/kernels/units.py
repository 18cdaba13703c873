"""Units, clusters and calls, and which must come before which: kept without cycles."""

from __future__ import annotations

from ..ir import Node, Value
from .frames import Cluster, base
from .views import MOVES


class Units:
    """Units by number; masks are sets of units."""

    def __init__(self) -> None:
        self.units: list[Cluster | Node] = []
        self.ancestors: list[int] = []
        self.before: list[int] = []  # direct predecessors
        self.followed: list[bool] = []
        self.same: list[int] = []  # the unit that a merged one became part of
        self.maker: dict[Value, int] = {}  # mask of the units that make a value

    def _unit(self, what: Cluster | Node) -> int:
        self.units.append(what)
        self.ancestors.append(0)
        self.before.append(0)
        self.followed.append(False)
        self.same.append(len(self.same))
        return len(self.units) - 1

    def needs(self, value: Value) -> int:
        """Mask of the units that make a value."""
        return self.maker.get(base(value), 0)

    def held(self, values: tuple[Value, ...]) -> int:
        """Mask of the units that barriers in front of values wait for."""
        mask = 0
        for value in values:
            node = value.node
            while node.operation in MOVES:
                for other in node.operands[1:] if node.operation == "barrier" else ():
                    mask |= self.needs(other)
                node = node.operands[0].node
        return mask

    def members(self, mask: int) -> list[int]:
        """Units of a mask, merged ones as what they became."""
        same = self.same
        found: list[int] = []
        while mask:
            low = mask & -mask
            unit = low.bit_length() - 1
            while same[unit] != unit:
                unit = same[unit]
            if unit not in found:
                found.append(unit)
            mask ^= low
        return found

    def after(self, unit: int, mask: int) -> None:
        """Note that a unit comes after those of a mask."""
        if not mask & ~self.before[unit]:
            return
        ancestors, new = self.ancestors, 0
        for x in self.members(mask):
            if x != unit:
                self.before[unit] |= 1 << x
                self.followed[x] = True
                new |= 1 << x | ancestors[x]
        if new & ~ancestors[unit]:
            ancestors[unit] |= new
            if self.followed[unit]:
                self._spread(unit)

    def _spread(self, unit: int) -> None:
        bit, above = 1 << unit, self.ancestors[unit]
        for x, mask in enumerate(self.ancestors):
            if mask & bit:
                self.ancestors[x] = mask | above

    def cycles(self, cluster: Cluster, mask: int) -> bool:
        """Whether a node that needs a mask of outside units may not join."""
        unit = cluster.id
        bit, ancestors = 1 << unit, self.ancestors
        for x in self.members(mask):  # noqa: SIM110 - a generator costs more than the rest
            if x == unit or ancestors[x] & bit:
                return True
        return False

    def _between(self, first: int, last: int) -> bool:
        """Whether a third unit stands on a way from one unit to another."""
        bit = 1 << first
        return any(x != first and self.ancestors[x] & bit for x in self.members(self.before[last]))
