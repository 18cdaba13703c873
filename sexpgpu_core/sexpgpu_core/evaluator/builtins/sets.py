"""Lists as sets: `adjoin union intersection` and their like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..definitions import builtin
from ..equality import eql, eql_key, equal, equal_key
from ..spending import spend
from ..values import NIL, Cons, T, Value
from .association import KEYS
from .calling import Predicate, key_of, relation_of
from .defining import define
from .listing import list_from, proper

_HASHED: dict[Any, Callable[[Value], Any]] = {eql: eql_key, equal: equal_key}


def _has(keys: list[Any], holds: Predicate) -> Callable[[Any], bool]:
    """Whether a key is among others: by hash where the test is eql or equal."""
    hashed = _HASHED.get(holds)
    if hashed is not None and len(keys) > 8:
        known = {hashed(k) for k in keys}
        return lambda x: hashed(x) in known

    def search(x: Any) -> bool:
        spend("a set", len(keys))
        for k in keys:  # noqa: SIM110 - C must call no user function
            if holds(x, k):
                return True
        return False

    return search


class _Operands:
    """Two lists with the keys of their elements and the test between them."""

    def __init__(self, name: str, one: Any, two: Any, key: Any, test: Any, test_not: Any) -> None:
        keyed = key_of(key)
        self.holds = relation_of(name, test, test_not)
        self.one, self.two = proper(name, one), proper(name, two)
        self.keys_one = [keyed(x) for x in self.one] if keyed else self.one
        self.keys_two = [keyed(x) for x in self.two] if keyed else self.two

    def in_two(self) -> Callable[[Any], bool]:
        return _has(self.keys_two, self.holds)

    def in_one(self) -> Callable[[Any], bool]:
        return (
            _has(self.keys_one, lambda x, k: self.holds(k, x))
            if self.holds not in _HASHED
            else _has(self.keys_one, self.holds)
        )


def _chosen(
    items: list[Value], keys: list[Any], has: Callable[[Any], bool], want: bool
) -> list[Value]:
    return [x for x, k in zip(items, keys) if has(k) is want]


def _union(s: _Operands) -> Value:
    return list_from(_chosen(s.one, s.keys_one, s.in_two(), False) + s.two)


def _intersection(s: _Operands) -> Value:
    return list_from(_chosen(s.one, s.keys_one, s.in_two(), True))


def _difference(s: _Operands) -> Value:
    return list_from(_chosen(s.one, s.keys_one, s.in_two(), False))


def _exclusive_or(s: _Operands) -> Value:
    only_one = _chosen(s.one, s.keys_one, s.in_two(), False)
    return list_from(only_one + _chosen(s.two, s.keys_two, s.in_one(), False))


def _subset(s: _Operands) -> Value:
    has = s.in_two()
    for k in s.keys_one:
        if not has(k):
            return NIL
    return T


def _operation(name: str, of: Callable[[_Operands], Value]) -> Callable[..., Value]:
    def call(
        one: Any, two: Any, *, key: Any = None, test: Any = None, test_not: Any = None
    ) -> Value:
        return of(_Operands(name, one, two, key, test, test_not))

    return call


_SETS: tuple[tuple[str, Callable[[_Operands], Value], str], ...] = (
    ("union", _union, "What is in either list."),
    ("intersection", _intersection, "What is in both lists."),
    ("set-difference", _difference, "What is in the first list only."),
    ("set-exclusive-or", _exclusive_or, "What is in exactly one of the lists."),
    ("subsetp", _subset, "Whether all of the first list is in the second."),
)
for _name, _of, _doc in _SETS:
    define(_name, f"(list1 list2 {KEYS})", _doc, _operation(_name, _of))
    if _name != "subsetp":
        define("n" + _name, f"(list1 list2 {KEYS})", _doc, _operation("n" + _name, _of))


@builtin("adjoin", f"(item list {KEYS})")
def adjoin(
    item: Any, items: Any, *, key: Any = None, test: Any = None, test_not: Any = None
) -> Value:
    """The list with the item before it, unless it is in it."""
    keyed, holds = key_of(key), relation_of("adjoin", test, test_not)
    wanted = keyed(item) if keyed else item
    for x in proper("adjoin", items):
        if holds(wanted, keyed(x) if keyed else x):
            return items
    return Cons(item, items)
