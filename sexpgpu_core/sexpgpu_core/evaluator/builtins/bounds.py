"""Checked indices: what :start, :end, counts and subscripts may be."""

from __future__ import annotations

from typing import Any

from ..faults import bad_bounds, bad_index, wrong_type
from ..values import NIL, Staged


def bounds(name: str, start: Any, end: Any, size: int) -> tuple[int, int]:
    """Start and end as ints with 0 <= start <= end <= size; nil is the default of either."""
    first = 0 if start is NIL or start is None else start
    last = size if end is NIL or end is None else end
    for x in (first, last):
        if x.__class__ is not int:
            raise _no_index(name, x)
    if not 0 <= first <= last <= size:
        raise bad_bounds(name, start, end, size)
    return first, last


def index(name: str, x: Any, size: int) -> int:
    """An integer with 0 <= x < size."""
    if x.__class__ is not int:
        raise _no_index(name, x)
    if not 0 <= x < size:
        raise bad_index(name, x, size)
    return int(x)


def natural(name: str, x: Any) -> int:
    """An integer >= 0."""
    if x.__class__ is not int or x < 0:
        raise _no_index(name, x)
    return int(x)


def _no_index(name: str, x: Any) -> Exception:
    if isinstance(x, Staged):
        return x.refuse("an index")
    return wrong_type(name, x, "a non-negative integer")
