"""Lists to Python lists and back, with the checks that builtins need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...diagnostics import problem
from ..faults import claim_cells, wrong_type
from ..spending import limits, spend
from ..values import NIL, Cons, Value

LONG = 1 << 14
"""Cells after which a walk asks whether the list is circular."""


def _look(name: str, value: Any, walked: int, wanted: str) -> int:
    """After so many cells: stop if the list is circular or too long, else say when to look again.

    E-TYPE, E-LIMIT-CELLS.
    """
    most = limits().cells
    if walked == LONG and circular(value):
        raise wrong_type(name, value, wanted)
    if walked > most:
        message = f"{name} got a list of over {most:,} cells"
        raise problem("E-LIMIT-CELLS", message, limit=most)
    return min(2 * walked, most + 1) if walked < most else most + 1


def proper(name: str, value: Any) -> list[Value]:
    """The elements of a proper list; E-TYPE on dotted and circular ones."""
    items, rest, look = [], value, LONG
    while rest.__class__ is Cons:
        items.append(rest.car)
        rest = rest.cdr
        if len(items) == look:
            look = _look(name, value, look, "a proper list")
    if rest is not NIL:
        raise wrong_type(name, value, "a list" if items == [] else "a proper list")
    spend(name, len(items))
    return items


def conses(name: str, value: Any) -> Iterator[Cons]:
    """The conses of a proper list, one after another; E-TYPE where it turns out to be none."""
    rest, count, look = value, 0, LONG
    while rest.__class__ is Cons:
        yield rest
        rest = rest.cdr
        count += 1
        if count == look:
            look = _look(name, value, look, "a proper list")
    if rest is not NIL:
        raise wrong_type(name, rest, "a list")
    spend(name, count)


def cells(name: str, value: Any) -> list[Cons]:
    """The conses of a list, which may be dotted but not circular."""
    found: list[Cons] = []
    rest, look = value, LONG
    while rest.__class__ is Cons:
        found.append(rest)
        rest = rest.cdr
        if len(found) == look:
            look = _look(name, value, look, "a list that ends")
    if not found and value is not NIL:
        raise wrong_type(name, value, "a list")
    spend(name, len(found))
    return found


def list_from(items: Iterable[Value], tail: Value = NIL) -> Value:
    """A fresh list of the items that ends in `tail`."""
    result = tail
    for item in reversed(items if isinstance(items, (list, tuple)) else list(items)):
        result = Cons(item, result)
    return result


def listed(name: str, value: Any) -> Value:
    """The value, which must be a list."""
    if value.__class__ is not Cons and value is not NIL:
        raise wrong_type(name, value, "a list")
    return value


def circular(value: Any) -> bool:
    """Whether a list comes back to itself (tortoise and hare)."""
    slow = fast = value
    while fast.__class__ is Cons and fast.cdr.__class__ is Cons:
        slow, fast = slow.cdr, fast.cdr.cdr
        if slow is fast:
            return True
    return False


def filled(name: str, count: int, item: Value) -> Value:
    """A list of `count` times the item."""
    claim_cells(name, count)
    spend(name, count)  # a cons is twice an element
    result: Value = NIL
    for _ in range(count):
        result = Cons(item, result)
    return result
