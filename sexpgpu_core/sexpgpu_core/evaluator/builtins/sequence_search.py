"""Looking into sequences: `find position count search mismatch` and their -if forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..definitions import builtin
from ..sequence_parts import items_of
from ..spending import spend
from ..values import NIL, Value
from .bounds import bounds
from .calling import element_test, key_of, predicate_test, relation_of
from .defining import define

Test = Callable[[Any], bool]
ITEM = "&key key test test-not (start 0) end from-end"
PREDICATE = "&key key (start 0) end from-end"


def _at(items: list[Value], first: int, last: int, backward: bool, test: Test) -> int | None:
    """The index of the first element (the last, backward) that passes."""
    places = range(last - 1, first - 1, -1) if backward else range(first, last)
    for i in places:
        if test(items[i]):
            return i
    return None


def _find(items: list[Value], first: int, last: int, backward: bool, test: Test) -> Value:
    at = _at(items, first, last, backward, test)
    return NIL if at is None else items[at]


def _position(items: list[Value], first: int, last: int, backward: bool, test: Test) -> Value:
    at = _at(items, first, last, backward, test)
    return NIL if at is None else at


def _count(items: list[Value], first: int, last: int, backward: bool, test: Test) -> Value:
    total = 0
    for i in range(last - 1, first - 1, -1) if backward else range(first, last):
        total += test(items[i])
    return total


Search = Callable[[list[Value], int, int, bool, Test], Value]


def _by_item(name: str, search: Search) -> Callable[..., Value]:
    def call(
        item: Any,
        sequence: Any,
        *,
        key: Any = None,
        test: Any = None,
        test_not: Any = None,
        start: Any = 0,
        end: Any = NIL,
        from_end: Any = NIL,
    ) -> Value:
        items = items_of(name, sequence)
        first, last = bounds(name, start, end, len(items))
        matches = element_test(name, item, test, test_not, key)
        return search(items, first, last, from_end is not NIL, matches)

    return call


def _by_predicate(name: str, search: Search, wanted: bool) -> Callable[..., Value]:
    def call(
        predicate: Any,
        sequence: Any,
        *,
        key: Any = None,
        start: Any = 0,
        end: Any = NIL,
        from_end: Any = NIL,
    ) -> Value:
        items = items_of(name, sequence)
        first, last = bounds(name, start, end, len(items))
        matches = predicate_test(predicate, key, wanted)
        return search(items, first, last, from_end is not NIL, matches)

    return call


_SEARCHES: tuple[tuple[str, Search, str], ...] = (
    ("find", _find, "The first element {}; nil if there is none."),
    ("position", _position, "The index of the first element {}; nil if there is none."),
    ("count", _count, "How many elements there are {}."),
)
for _name, _search, _doc in _SEARCHES:
    define(
        _name, f"(item sequence {ITEM})", _doc.format("that is the item"), _by_item(_name, _search)
    )
    define(
        f"{_name}-if",
        f"(predicate sequence {PREDICATE})",
        _doc.format("of which the predicate holds"),
        _by_predicate(f"{_name}-if", _search, True),
    )
    define(
        f"{_name}-if-not",
        f"(predicate sequence {PREDICATE})",
        _doc.format("of which the predicate fails"),
        _by_predicate(f"{_name}-if-not", _search, False),
    )

_TWO = "&key from-end test test-not key (start1 0) (start2 0) end1 end2"


Compare = Callable[[Any, Any], bool]


def _parts(
    name: str, one: Any, two: Any, limits: tuple[Any, Any, Any, Any]
) -> tuple[list[Value], list[Value], int, int]:
    """The two parts, and where each begins."""
    left, right = items_of(name, one), items_of(name, two)
    first1, last1 = bounds(name, limits[0], limits[1], len(left))
    first2, last2 = bounds(name, limits[2], limits[3], len(right))
    return left[first1:last1], right[first2:last2], first1, first2


def _relation(name: str, test: Any, test_not: Any, key: Any) -> Compare:
    """The test of two elements; the key is asked of those that are compared, and of no other."""
    holds, keyed = relation_of(name, test, test_not), key_of(key)
    return holds if keyed is None else lambda x, y: holds(keyed(x), keyed(y))


@builtin("search", f"(sequence1 sequence2 {_TWO})")
def search(
    sequence1: Any,
    sequence2: Any,
    *,
    from_end: Any = NIL,
    test: Any = None,
    test_not: Any = None,
    key: Any = None,
    start1: Any = 0,
    start2: Any = 0,
    end1: Any = NIL,
    end2: Any = NIL,
) -> Value:
    """Where the first sequence is found in the second; nil if it is not."""
    limits = (start1, end1, start2, end2)
    pattern, items, _, begin = _parts("search", sequence1, sequence2, limits)
    holds = _relation("search", test, test_not, key)
    places = range(len(items) - len(pattern) + 1)
    for at in reversed(places) if from_end is not NIL else places:
        fitting = _fitting(pattern, items, at, holds)
        if fitting == len(pattern):
            return begin + at
        spend("search", fitting)
    return NIL


def _fitting(pattern: list[Value], items: list[Value], at: int, holds: Compare) -> int:
    """How many elements of the pattern, from its first, are found there."""
    for i, x in enumerate(pattern):
        if not holds(x, items[at + i]):
            return i
    return len(pattern)


@builtin("mismatch", f"(sequence1 sequence2 {_TWO})")
def mismatch(
    sequence1: Any,
    sequence2: Any,
    *,
    from_end: Any = NIL,
    test: Any = None,
    test_not: Any = None,
    key: Any = None,
    start1: Any = 0,
    start2: Any = 0,
    end1: Any = NIL,
    end2: Any = NIL,
) -> Value:
    """The index in the first sequence where the two begin to differ; nil if they do not."""
    limits = (start1, end1, start2, end2)
    left, right, begin, _ = _parts("mismatch", sequence1, sequence2, limits)
    holds = _relation("mismatch", test, test_not, key)
    backward = from_end is not NIL
    if backward:
        left, right = left[::-1], right[::-1]
    at = 0
    while at < len(left) and at < len(right) and holds(left[at], right[at]):
        at += 1
    if at == len(left) == len(right):
        return NIL
    return begin + (len(left) - at if backward else at)
