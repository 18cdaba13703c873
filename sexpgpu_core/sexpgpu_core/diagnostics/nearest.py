"""The nearest of known names: what a misspelt word most likely meant."""

from __future__ import annotations

from collections.abc import Iterable


def distance(a: str, b: str) -> int:
    """Edits (insert, delete, replace, swap of neighbours) that turn a into b."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        two, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, two[j - 2] + 1)
            row.append(cost)
    return row[-1]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name with the fewest edits, if it is near enough to be meant; ties by order. Else
    the shortest that says the same words and more: `sinusoidal` of `sinusoidal-positions`."""
    name, known = name.lower(), list(known)
    best, least = None, max(1, len(name) // 3) + 1
    for other in known:
        if abs(len(other) - len(name)) >= least:
            continue
        d = distance(name, other.lower())
        if d < least:
            best, least = other, d
    return best or _longer(name, known)


def _longer(name: str, known: Iterable[str]) -> str | None:
    words = set(_words(name))
    if len(name.strip(":")) < 4 or not words:
        return None
    found = [other for other in known if words < set(_words(other.lower()))]
    return min(found, key=len, default=None)


def _words(name: str) -> list[str]:
    return [w for w in name.strip(":").replace("_", "-").replace("/", "-").split("-") if w]
