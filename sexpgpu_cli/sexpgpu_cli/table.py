"""Rows of texts to lines with columns that stand below each other."""

from __future__ import annotations

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """The head and a line a row; the first `left` columns begin, the others end, on one line."""
    every = [head, *rows]
    widths = [max(len(row[at]) for row in every) for at in range(len(head))]
    return ["  ".join(_cells(row, widths, left)).rstrip() for row in every]


def _cells(row: Sequence[str], widths: Sequence[int], left: int) -> list[str]:
    return [
        f"{text:<{width}}" if at < left else f"{text:>{width}}"
        for at, (text, width) in enumerate(zip(row, widths))
    ]


def thinned(values: Sequence[int], most: int) -> list[int]:
    """At most `most` of them (0: all), evenly, the first and the last among them."""
    if not most or len(values) <= most:
        return list(values)
    if most == 1:
        return [values[-1]]
    last = len(values) - 1
    return [values[round(at * last / (most - 1))] for at in range(most)]
