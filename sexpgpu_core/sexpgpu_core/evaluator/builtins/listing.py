"""Lists to Python lists and back, with the checks that builtins need."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..faults import CELL_LIMIT, check_cells, wrong_type
from ..values import NIL, Cons, Value


def proper(name: str, value: Any) -> list[Value]:
    """The elements of a proper list; E-TYPE on dotted and circular ones."""
    items, rest = [], value
    while rest.__class__ is Cons:
        items.append(rest.car)
        rest = rest.cdr
        if len(items) > CELL_LIMIT:
            raise wrong_type(name, value, "a proper list")
    if rest is not NIL:
        raise wrong_type(name, value, "a list" if items == [] else "a proper list")
    return items


def cells(name: str, value: Any) -> list[Cons]:
    """The conses of a list, which may be dotted but not circular."""
    found: list[Cons] = []
    rest = value
    while rest.__class__ is Cons:
        found.append(rest)
        rest = rest.cdr
        if len(found) > CELL_LIMIT:
            raise wrong_type(name, value, "a list that ends")
    if not found and value is not NIL:
        raise wrong_type(name, value, "a list")
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
    check_cells(name, count)
    result: Value = NIL
    for _ in range(count):
        result = Cons(item, result)
    return result
