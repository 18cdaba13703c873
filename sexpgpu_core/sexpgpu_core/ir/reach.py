"""Which positions of one axis of a source a value may depend on, by the value's own axes.

A reach is a union of terms. A term is a sum of digits of the value's indices, each times its pace,
and an interval beside it: the value may read positions sum + low to sum + high. EVERYWHERE is all
positions. What a function here does not know how to say is said by a wider term, never a less one.

A digit (axis, stride, size) is floor(index / stride) mod size; size 0: the axis' rest, without a
mod. An axis as a whole is (axis, 1, 0), so a reshape only writes the same digits on other axes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ..records import NamedTuple

FAR = 1 << 60
"""An offset beyond every axis."""
TRIP = -1
"""In the body of a loop: the number of the trip, an axis that no value has. -2: of the loop around
it, and so on."""
MOST_TERMS = 12
Place = Any
"""A number: an int, or a Fraction where something was spread."""
Interval = tuple[Place, Place]
Digit = tuple[int, int, int]
Paces = tuple[tuple[Digit, Place], ...]
"""Sorted, none of them 0."""
Change = Callable[[dict[Digit, Place], Place, Place], tuple[dict[Digit, Place], Place, Place]]
"""Of a term: its paces, low and high."""


class Reach(NamedTuple):
    """See the module. `terms`: paces -> (low, high)."""

    terms: Mapping[Paces, Interval]
    everywhere: bool = False

    @property
    def empty(self) -> bool:
        return not self.terms and not self.everywhere

    @property
    def axes(self) -> set[int]:
        """Those it varies along, and numbers of trips."""
        return {axis for paces in self.terms for (axis, _, _), _ in paces}

    @property
    def high(self) -> Place:
        """The latest end of its intervals."""
        return max((high for _, high in self.terms.values()), default=0)

    def upto(self, axis: int) -> bool:
        """Whether at index i of the axis no position after i is read."""
        bound = self.bound(axis)
        return self.empty or (bound is not None and bound[1] <= 0)

    def bound(self, axis: int) -> Interval | None:
        """(low, high) where at index i of the axis positions i + low to i + high at most are read;
        None where there are none such, or none is read."""
        ends = [_bound(*term, axis) for term in self.terms.items()]
        if self.everywhere or not ends or None in ends:
            return None
        return min(e[0] for e in ends if e), max(e[1] for e in ends if e)

    def changed(self, change: Change, axis: int | None = None) -> Reach:
        """Term by term; those that vary along the axis alone, where one is given."""
        rows = []
        for paces, (low, high) in self.terms.items():
            if axis is None or any(digit[0] == axis for digit, _ in paces):
                made, low, high = change(dict(paces), low, high)
                paces = tuple(sorted((d, p) for d, p in made.items() if p))
            rows.append((paces, (low, high)))
        return _union(rows) if not self.everywhere else self

    def renumbered(self, to: Mapping[int, int]) -> Reach:
        """By the new number of each axis; trips keep theirs. Of others nothing is known."""
        if any(a >= 0 and a not in to for a in self.axes):
            return EVERYWHERE
        return self if all(a == b for a, b in to.items()) else self.placed(to.__getitem__)

    def placed(self, at: Callable[[int], int], trips: bool = False) -> Reach:
        """By the new number of an axis, and of a trip where `trips`."""

        def change(paces: dict[Digit, Place], low: Place, high: Place) -> Any:
            made: dict[Digit, Place] = {}
            for (a, stride, size), pace in paces.items():
                digit = (at(a) if a >= 0 or trips else a, stride, size)
                made[digit] = made.get(digit, 0) + pace
            return made, low, high

        return self.changed(change)

    def moved(self, by: Mapping[int, Interval]) -> Reach:
        """Where index i of an axis is what index step i + offset was before: axis -> (step,
        offset)."""
        found = self
        for axis in self.axes & by.keys():
            step, offset = by[axis]
            if (step, offset) != (1, 0):
                found = found._line(axis, step, offset, offset, axis)
        return found

    def seen_from(self, axis: int, first: Place, last: Place, at: int | None = None) -> Reach:
        """Where index i reads what indices i + first to i + last of an axis did before. `at`: the
        axis that i stands on then."""
        if (first, last) == (0, 0) and at in (None, axis):
            return self
        return self._line(axis, 1, first, last, axis if at is None else at)

    def _line(self, axis: int, step: Place, first: Place, last: Place, at: int) -> Reach:
        """An axis' index is step i + first to step i + last, i on the axis `at`."""

        def change(paces: dict[Digit, Place], low: Place, high: Place) -> Any:
            pace, low, high = _line_of(paces, axis, low, high)
            ends = (first, last) if pace > 0 else (last, first)
            low, high = shifted((low, high), scaled(pace, ends[0]), scaled(pace, ends[1]))
            made = {d: p for d, p in paces.items() if d[0] != axis}
            made[at, 1, 0] = made.get((at, 1, 0), 0) + pace * step
            return made, low, high

        return self.changed(change, axis)

    def gone(self, axis: int, size: int) -> Reach:
        """Where any index of an axis may be read; of size 1: its only one."""

        def change(paces: dict[Digit, Place], low: Place, high: Place) -> Any:
            for (a, stride, count), pace in list(paces.items()):
                if a == axis:
                    most = scaled(pace, (count or -(-size // stride)) - 1)
                    low, high = shifted((low, high), min(most, 0), max(most, 0))
                    del paces[a, stride, count]
            return paces, low, high

        return self.changed(change, axis)

    def reshaped(self, before: Sequence[int], after: Sequence[int]) -> Reach:
        """The same elements by other axes: digits of what both are when laid flat."""
        starts, ends = _spans(before), _spans(after)

        def change(paces: dict[Digit, Place], low: Place, high: Place) -> Any:
            flat, low, high = _flat(paces, before, starts, low, high)
            made = {d: p for d, p in paces.items() if d[0] < 0}
            for stride, stop, pace in flat:
                parts = _cut(stride, stop, after, ends)
                if parts is None:
                    most = pace * (stop // stride - 1)
                    low, high = shifted((low, high), min(most, 0), max(most, 0))
                    continue
                for digit, times in parts:
                    made[digit] = made.get(digit, 0) + pace * times
            return made, low, high

        return self.changed(change)


NOWHERE = Reach({})
EVERYWHERE = Reach({}, True)


def along(axis: int, low: Place = 0, high: Place = 0, pace: Place = 1) -> Reach:
    """Of one axis."""
    return Reach({(((axis, 1, 0), pace),): (low, high)})


def shifted(interval: Interval, low: Place, high: Place) -> Interval:
    """Both ends moved; what is beyond every axis stays there."""
    return (
        -FAR if -FAR in (interval[0], low) else interval[0] + low,
        FAR if FAR in (interval[1], high) else interval[1] + high,
    )


def scaled(pace: Place, offset: Place) -> Place:
    if abs(offset) == FAR and pace:
        return offset if pace > 0 else -offset
    return pace * offset


def joined(reaches: Collection[Reach]) -> Reach:
    """The union."""
    if any(r.everywhere for r in reaches):
        return EVERYWHERE
    filled = [r for r in reaches if r.terms]
    if len(filled) < 2 or all(r == filled[0] for r in filled):
        return filled[0] if filled else NOWHERE
    return _union([row for r in filled for row in r.terms.items()])


def _union(rows: list[tuple[Paces, Interval]]) -> Reach:
    """Terms of like paces are one; of unlike paces on one axis, none above 1, up to the later
    end."""
    found: dict[Paces, Interval] = {}
    slow: dict[int, int] = {}
    for paces, (low, high) in rows:
        if paces in found:
            low, high = min(found[paces][0], low), max(found[paces][1], high)
        elif len(paces) == 1 and paces[0][0][1:] == (1, 0) and 0 < paces[0][1] <= 1:
            slow[paces[0][0][0]] = slow.get(paces[0][0][0], 0) + 1
        found[paces] = low, high
    for axis in [a for a, n in slow.items() if n > 1]:
        like = [p for p in found if len(p) == 1 and p[0][0] == (axis, 1, 0) and 0 < p[0][1] <= 1]
        high = max(found.pop(p)[1] for p in like)
        found[((axis, 1, 0), 1),] = -FAR, high
    return EVERYWHERE if len(found) > MOST_TERMS else Reach(found)


def settled(reach: Reach, size: int) -> Reach:
    """EVERYWHERE where a term that varies along nothing holds all positions of the source."""
    for paces, (low, high) in reach.terms.items():
        if not paces and low <= 0 and high >= size - 1:
            return EVERYWHERE
    return reach


def ahead(reach: Reach) -> bool:
    """Whether an index may read a later position."""
    return reach.everywhere or any(
        high > 0
        or any(pace < 0 for _, pace in paces)
        or (len(paces) == 1 and paces[0][1] > paces[0][0][1])
        for paces, (_, high) in reach.terms.items()
    )


# ---- one term
def _line_of(
    paces: Mapping[Digit, Place], axis: int, low: Place, high: Place
) -> tuple[Place, Place, Place]:
    """The pace of an axis as a whole, and an interval that holds what its digits leave: a digit is
    up to (stride - 1) / stride below index / stride, or any number below where it begins anew."""
    total: Place = 0
    for (a, stride, size), pace in paces.items():
        if a != axis:
            continue
        if stride != 1:
            from fractions import Fraction  # of few graphs: it imports much

            whole = Fraction(pace, stride)
            pace = whole.numerator if whole.denominator == 1 else whole
        total += pace
        if (stride, size) != (1, 0):
            off = scaled(pace, -FAR) if size else pace * (1 - stride)
            low, high = shifted((low, high), min(off, 0), max(off, 0))
    return total, low, high


def _bound(paces: Paces, interval: Interval, axis: int) -> Interval | None:
    if any(digit[0] != axis for digit, _ in paces):
        return None
    pace, low, high = _line_of(dict(paces), axis, *interval)
    if not 0 <= pace <= 1:
        return None
    return (low if pace == 1 else -FAR), high


# ---- reshapes
def _spans(shape: Sequence[int]) -> list[int]:
    """The stride of each axis when laid flat."""
    found, total = [0] * len(shape), 1
    for a in reversed(range(len(shape))):
        found[a] = total
        total *= shape[a]
    return found


def _flat(
    paces: Mapping[Digit, Place], shape: Sequence[int], strides: list[int], low: Place, high: Place
) -> tuple[list[tuple[int, int, Place]], Place, Place]:
    """Digits of the flat index as (stride, stop, pace), those that go on from another one with it;
    what an axis does not hold in whole digits goes to the interval."""
    found: list[tuple[int, int, Place]] = []
    own = [row for row in paces.items() if row[0][0] >= 0]
    own.sort(key=lambda row: row[0][1] * strides[row[0][0]])
    for (axis, stride, size), pace in own:
        count = size or -(-shape[axis] // stride)
        if count == 1:
            continue
        if shape[axis] % (stride * count):
            most = pace * (count - 1)
            low, high = shifted((low, high), min(most, 0), max(most, 0))
            continue
        start = stride * strides[axis]
        if found and found[-1][1] == start and pace == found[-1][2] * (start // found[-1][0]):
            found[-1] = (found[-1][0], start * count, found[-1][2])
        else:
            found.append((start, start * count, pace))
    return found, low, high


def _cut(
    start: int, stop: int, shape: Sequence[int], strides: list[int]
) -> list[tuple[Digit, int]] | None:
    """A flat digit as digits of axes, each with how much one of it counts; None where it is not."""
    found: list[tuple[Digit, int]] = []
    for axis, (size, stride) in enumerate(zip(shape, strides)):
        low, high = max(start, stride), min(stop, stride * size)
        if low >= high:
            continue
        if low % start or high % low or low % stride or stop % high or stride * size % high:
            return None
        top = high == stride * size
        found.append(((axis, low // stride, 0 if top else high // low), low // start))
    return found
