"""Which positions of one axis of a source a value may depend on, by the value's own axes.

At index i of an axis it may read positions i + low to i + high of the source; several axes are a
union, and EVERYWHERE is all positions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..records import NamedTuple

FAR = 1 << 60
"""An offset beyond every axis."""
TRIP = -1
"""In the body of a loop: the number of the trip, an axis that no value has."""
Interval = tuple[int, int]


class Reach(NamedTuple):
    """`axes`: axis -> (low, high) of the value; `everywhere`: any position."""

    axes: Mapping[int, Interval]
    everywhere: bool = False

    @property
    def empty(self) -> bool:
        return not self.axes and not self.everywhere

    def upto(self, axis: int) -> bool:
        """Whether at index i of the axis no position after i is read."""
        return not self.everywhere and all(
            a == axis and high <= 0 for a, (_, high) in self.axes.items()
        )


NOWHERE = Reach({})
EVERYWHERE = Reach({}, True)


def joined(reaches: Collection[Reach]) -> Reach:
    """The union."""
    found: dict[int, Interval] = {}
    for reach in reaches:
        if reach.everywhere:
            return EVERYWHERE
        for axis, (low, high) in reach.axes.items():
            before = found.get(axis, (low, high))
            found[axis] = min(before[0], low), max(before[1], high)
    return Reach(found)


def ahead(reach: Reach) -> bool:
    """Whether an index may read a later position."""
    return reach.everywhere or any(high > 0 for _, high in reach.axes.values())
