"""Fractions to ranges of positions: parts that share a border share no example."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Any

from ..diagnostics import problem
from . import order

if TYPE_CHECKING:
    import numpy as np

Pairs = tuple[tuple[float, float], ...]
Ranges = tuple[tuple[int, int], ...]


def ranges(n: int, pairs: Pairs) -> Ranges:
    """Half-open ranges of [0, n); a fraction f cuts at floor(f n), computed exactly."""
    cut = []
    for low, high in pairs or ((0, 1),):
        a, b = _exact(low), _exact(high)
        if not 0 <= a <= b <= 1:
            raise problem("E-OPTION-VALUE", f":split ({low} {high}) is no part of (0 1)", low=low)
        start, end = floor(a * n), floor(b * n)
        if end > start:
            cut.append((start, end))
    return tuple(cut)


def _exact(value: Any) -> Fraction:
    # 0.29 means 29/100, not the double below it
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def size(parts: Ranges) -> int:
    return sum(end - start for start, end in parts)


def overlap(one: Ranges, two: Ranges) -> int:
    """How many positions two lists of ranges share."""
    return sum(max(0, min(b, d) - max(a, c)) for a, b in one for c, d in two)


def locate(parts: Ranges, index: np.ndarray) -> np.ndarray:
    """The positions of a stage's examples `index` (0 based over all its ranges)."""
    import numpy as np

    if len(parts) == 1:
        return index + parts[0][0]
    ends = np.cumsum([end - start for start, end in parts])
    which = np.searchsorted(ends, index, side="right")
    shift = np.array([a for a, _ in parts]) - np.concatenate([[0], ends[:-1]])
    places: np.ndarray = index + shift[which]
    return places


def by_hash(n: int, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """Ranks to examples by a key of the split's own seed: a function from positions to examples."""
    keys = order.key("split", seed)
    return lambda positions: order.permute(n, keys, positions)


def by_class(labels: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Ranks to examples such that any range of ranks has its share of each class, within one.

    An example ranks by its place within its class, (i + 1/2) / n; so the sizes of the parts are
    those of a split by position, and need no labels.
    """
    import numpy as np

    _, kind, counts = np.unique(labels, return_inverse=True, return_counts=True)
    grouped = np.argsort(kind, kind="stable")
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    within = np.empty(len(labels))
    within[grouped] = np.arange(len(labels)) - first[kind[grouped]]
    rank = np.lexsort((np.arange(len(labels)), kind, (within + 0.5) / counts[kind]))
    return lambda positions: rank[positions]


def by_group(labels: np.ndarray, seed: int = 0) -> Callable[[np.ndarray], np.ndarray]:
    """Ranks to examples such that a group's are together, groups in the order of a hash."""
    rank, _ = _grouped(labels, seed)
    return lambda positions: rank[positions]


def group_borders(labels: np.ndarray, seed: int = 0) -> np.ndarray:
    """Ranks at which groups begin, and last the number of examples."""
    _, borders = _grouped(labels, seed)
    return borders


def at_borders(parts: Ranges, borders: np.ndarray) -> list[list[int]]:
    """Ranges moved up to the next border each: parts that shared none share no group."""
    import numpy as np

    moved = borders[np.searchsorted(borders, np.array(parts, np.int64).reshape(-1, 2))]
    return [[int(low), int(high)] for low, high in moved if low < high]


def _grouped(labels: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    import numpy as np

    _, kind, counts = np.unique(labels, return_inverse=True, return_counts=True)
    place = np.empty(len(counts), np.int64)
    place[by_hash(len(counts), seed)(np.arange(len(counts)))] = np.arange(len(counts))
    rank = np.argsort(place[kind], kind="stable")
    inside = np.bincount(place[kind], minlength=len(counts))
    return rank, np.concatenate([[0], np.cumsum(inside)])
