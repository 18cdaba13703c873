"""Which elements of an axis each new one is made of, and by what weights: PyTorch's rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...records import NamedTuple

CUBIC, SMOOTH = -0.75, -0.5
"""The cubic's coefficient (Keys, 1981): interpolation has the first, antialiasing the second."""


class Taps(NamedTuple):
    """A row a new element: indices and weights, each `width` long."""

    places: tuple[tuple[int, ...], ...]
    weights: tuple[tuple[float, ...], ...]
    width: int


def taps(rows: Sequence[Sequence[tuple[int, float]]], width: int) -> Taps:
    """(index, weight) pairs, filled up with weights of 0."""
    full = [[*row, *[(row[-1][0], 0.0)] * (width - len(row))] for row in rows]
    places = tuple(tuple(i for i, _ in row) for row in full)
    return Taps(places, tuple(tuple(w for _, w in row) for row in full), width)


def _nearest(n: int, size: int, aligned: bool, smooth: bool) -> Taps:
    return taps([[(i * n // size, 1.0)] for i in range(size)], 1)


def _place(i: int, n: int, size: int, aligned: bool) -> float:
    """Where element i lies among the old ones."""
    if aligned:
        return i * (n - 1) / (size - 1) if size > 1 else 0.0
    return (i + 0.5) * n / size - 0.5


def _linear(n: int, size: int, aligned: bool, smooth: bool) -> Taps:
    if smooth:
        return _filtered(n, size, aligned, 1.0, lambda d: max(0.0, 1.0 - abs(d)))
    rows = []
    for i in range(size):
        at = max(_place(i, n, size, aligned), 0.0)
        low = min(int(at), n - 1)
        share = at - low
        rows.append([(low, 1.0 - share), (min(low + 1, n - 1), share)])
    return taps(rows, 2)


def cubic_weight(distance: float, a: float) -> float:
    """Keys's kernel."""
    d = abs(distance)
    if d <= 1:
        return ((a + 2) * d - (a + 3)) * d * d + 1
    return (((d - 5) * d + 8) * d - 4) * a if d < 2 else 0.0


def _cubic(n: int, size: int, aligned: bool, smooth: bool) -> Taps:
    if smooth:
        return _filtered(n, size, aligned, 2.0, lambda d: cubic_weight(d, SMOOTH))
    rows = []
    for i in range(size):
        at = _place(i, n, size, aligned)
        low = math.floor(at)
        rows.append(
            [
                (min(max(low + j, 0), n - 1), cubic_weight(at - (low + j), CUBIC))
                for j in range(-1, 3)
            ]
        )
    return taps(rows, 4)


def _filtered(
    n: int, size: int, aligned: bool, radius: float, weight: Callable[[float], float]
) -> Taps:
    """Windows that widen with the ratio of sizes, where it is above 1."""
    scale = (n - 1) / (size - 1) if aligned and size > 1 else 0.0 if aligned else n / size
    half = 0.0 if aligned else 0.5
    stretch = max(scale, 1.0)
    rows = []
    for i in range(size):
        centre = scale * (i + half)
        first = max(int(centre - radius * stretch + half), 0)
        last = max(min(int(centre + radius * stretch + half), n), first + 1)
        found = [(j, weight((j - centre + half) / stretch)) for j in range(first, last)]
        total = math.fsum(w for _, w in found) or 1.0
        rows.append([(j, w / total) for j, w in found])
    return taps(rows, max(map(len, rows)))


RULES: dict[str, Callable[[int, int, bool, bool], Taps]] = {
    "nearest": _nearest,
    "linear": _linear,
    "cubic": _cubic,
}
"""(size, new size, align corners, antialias) -> taps."""
