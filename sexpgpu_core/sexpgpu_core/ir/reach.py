"""Which positions of one axis of a source a value may depend on, by the value's own axes.

At index i of an axis it may read positions pace i + low to pace i + high of the source; several
axes are a union, and EVERYWHERE is all positions. The pace is 1 but for what was turned round (-1),
cut by steps (2, 3, ...) or spread (1/2, 1/3, ...).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..records import NamedTuple

FAR = 1 << 60
"""An offset beyond every axis."""
TRIP = -1
"""In the body of a loop: the number of the trip, an axis that no value has."""
Place = Any
"""A number: an int, or a Fraction where something was spread."""
Interval = tuple[Place, Place]


class Reach(NamedTuple):
    """`axes`: axis -> (low, high) of the value; `everywhere`: any position; `paces`: axis -> pace,
    where it is not 1."""

    axes: Mapping[int, Interval]
    everywhere: bool = False
    paces: Mapping[int, Place] = {}

    @property
    def empty(self) -> bool:
        return not self.axes and not self.everywhere

    def upto(self, axis: int) -> bool:
        """Whether at index i of the axis no position after i is read."""
        return not ahead(self) and all(a == axis for a in self.axes)

    def pace(self, axis: int) -> Place:
        return self.paces.get(axis, 1)

    def only(self, axis: int) -> Reach:
        """What of it lies on one axis."""
        return self.renumbered({axis: axis})

    def without(self, axis: int) -> Reach:
        """What of it lies on the others."""
        return self.renumbered({a: a for a in self.axes if a != axis})

    def renumbered(self, to: Mapping[int, int]) -> Reach:
        """By the new number of each axis; what lies on others is left out."""
        if self.everywhere:
            return self
        axes = {to[a]: i for a, i in self.axes.items() if a in to}
        return Reach(axes, False, {to[a]: p for a, p in self.paces.items() if a in to})

    def moved(self, by: Mapping[int, Interval]) -> Reach:
        """Where index i of an axis is what index step i + offset was before: axis -> (step,
        offset)."""
        axes, paces = dict(self.axes), dict(self.paces)
        for axis in axes.keys() & by.keys():
            (step, offset), pace = by[axis], self.pace(axis)
            axes[axis] = shifted(axes[axis], pace * offset, pace * offset)
            paces[axis] = pace * step
        return Reach(axes, self.everywhere, {a: p for a, p in paces.items() if p != 1})

    def seen_from(self, axis: int, first: Place, last: Place, at: int | None = None) -> Reach:
        """Of one axis: where index i reads what indices i + first to i + last did before. `at`: the
        axis that i stands on then."""
        pace = self.pace(axis)
        low, high = (first, last) if pace > 0 else (last, first)
        interval = shifted(self.axes[axis], scaled(pace, low), scaled(pace, high))
        place = axis if at is None else at
        return Reach({place: interval}, False, {place: pace} if pace != 1 else {})


NOWHERE = Reach({})
EVERYWHERE = Reach({}, True)


def shifted(interval: Interval, low: Place, high: Place) -> Interval:
    """Both ends moved; what is beyond every axis stays there."""
    return (
        -FAR if -FAR in (interval[0], low) else interval[0] + low,
        FAR if FAR in (interval[1], high) else interval[1] + high,
    )


def scaled(pace: Place, offset: Place) -> Place:
    if abs(offset) == FAR:
        return offset if pace > 0 else -offset
    return pace * offset


def joined(reaches: Collection[Reach]) -> Reach:
    """The union. Of unlike paces on one axis, none above 1: up to the later end; else anything."""
    found: dict[int, Interval] = {}
    paces: dict[int, Place] = {}
    for reach in reaches:
        if reach.everywhere:
            return EVERYWHERE
        for axis, interval in reach.axes.items():
            pace = reach.pace(axis)
            if axis not in found:
                found[axis], paces[axis] = interval, pace
                continue
            before = found[axis]
            low, high = min(before[0], interval[0]), max(before[1], interval[1])
            if pace != paces[axis]:
                if not (0 < pace <= 1 and 0 < paces[axis] <= 1):
                    return EVERYWHERE
                low, paces[axis] = -FAR, 1
            found[axis] = low, high
    return Reach(found, False, {a: p for a, p in paces.items() if p != 1})


def at_own_pace(reach: Reach) -> Reach:
    """What bounds it with paces of 1."""
    slow = {a: Reach({a: (-FAR, i[1])}) for a, i in reach.axes.items() if 0 < reach.pace(a) < 1}
    if any(reach.pace(a) != 1 and a not in slow for a in reach.axes):
        return EVERYWHERE
    return joined([reach.without(a) for a in slow] + list(slow.values())) if slow else reach


def ahead(reach: Reach) -> bool:
    """Whether an index may read a later position."""
    return reach.everywhere or any(
        high > 0 or not 0 < reach.pace(a) <= 1 for a, (_, high) in reach.axes.items()
    )
