"""Sets of byte ranges, sorted and disjoint: whether a new one touches any is a bisection."""

from __future__ import annotations

from bisect import bisect_left, bisect_right


class Intervals:
    """Half-open ranges; those that overlap or touch are one."""

    __slots__ = ("starts", "stops")

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.stops: list[int] = []

    def overlaps(self, start: int, stop: int) -> bool:
        """Whether a byte of [start, stop) is in the set."""
        i = bisect_left(self.starts, stop)
        return i > 0 and start < stop and self.stops[i - 1] > start

    def add(self, start: int, stop: int) -> None:
        low = bisect_left(self.stops, start)
        high = bisect_right(self.starts, stop)
        if low < high:
            start = min(start, self.starts[low])
            stop = max(stop, self.stops[high - 1])
        self.starts[low:high] = [start]
        self.stops[low:high] = [stop]
