"""Sequences without some elements, or with others in their place: `remove substitute` and kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..equality import eql, eql_key, equal, equal_key
from ..faults import wrong_type
from ..sequence_parts import alike, items_of, write_back
from ..spending import spend
from ..values import NIL, Value
from .bounds import bounds
from .calling import element_test, key_of, predicate_test, relation_of
from .defining import define

Test = Callable[[Any], bool]
ITEM = "&key from-end test test-not (start 0) end count key"
PREDICATE = "&key from-end (start 0) end count key"


def _hits(
    name: str, items: list[Value], test: Test, start: Any, end: Any, count: Any, backward: bool
) -> set[int]:
    """Indices of the elements to act on: at most count, from the end if backward."""
    first, last = bounds(name, start, end, len(items))
    left = _limit(name, count, len(items))
    hits: set[int] = set()
    for i in range(last - 1, first - 1, -1) if backward else range(first, last):
        if len(hits) >= left:
            break
        if test(items[i]):
            hits.add(i)
    return hits


def _limit(name: str, count: Any, size: int) -> int:
    if count is NIL or count is None:
        return size
    if count.__class__ is not int:
        raise wrong_type(name, count, "an integer or nil")
    return int(max(0, count))


def _removed(name: str, sequence: Any, items: list[Value], hits: set[int], new: Any) -> Value:
    if not hits:
        return sequence
    return alike(name, sequence, [x for i, x in enumerate(items) if i not in hits])


def _replaced(name: str, sequence: Any, items: list[Value], hits: set[int], new: Any) -> Value:
    return alike(name, sequence, [new if i in hits else x for i, x in enumerate(items)])


def _replaced_in_place(
    name: str, sequence: Any, items: list[Value], hits: set[int], new: Any
) -> Value:
    write_back(name, sequence, [new if i in hits else x for i, x in enumerate(items)])
    return sequence


Change = Callable[[str, Any, "list[Value]", "set[int]", Any], Value]


def _by_item(name: str, change: Change) -> Callable[..., Value]:
    def act(
        new: Any,
        item: Any,
        sequence: Any,
        *,
        from_end: Any = NIL,
        test: Any = None,
        test_not: Any = None,
        start: Any = 0,
        end: Any = NIL,
        count: Any = NIL,
        key: Any = None,
    ) -> Value:
        items = items_of(name, sequence)
        matches = element_test(name, item, test, test_not, key)
        hits = _hits(name, items, matches, start, end, count, from_end is not NIL)
        return change(name, sequence, items, hits, new)

    return act


def _by_predicate(name: str, change: Change, wanted: bool) -> Callable[..., Value]:
    def act(
        new: Any,
        predicate: Any,
        sequence: Any,
        *,
        from_end: Any = NIL,
        start: Any = 0,
        end: Any = NIL,
        count: Any = NIL,
        key: Any = None,
    ) -> Value:
        items = items_of(name, sequence)
        matches = predicate_test(predicate, key, wanted)
        hits = _hits(name, items, matches, start, end, count, from_end is not NIL)
        return change(name, sequence, items, hits, new)

    return act


def _without_new(act: Callable[..., Value]) -> Callable[..., Value]:
    return lambda what, sequence, **keys: act(NIL, what, sequence, **keys)


_CHANGES: tuple[tuple[str, Change, str], ...] = (
    ("remove", _removed, "A copy without the elements {}."),
    ("delete", _removed, "The sequence without the elements {}; it may be changed."),
    ("substitute", _replaced, "A copy with new for the elements {}."),
    ("nsubstitute", _replaced_in_place, "The sequence with new for the elements {}, in place."),
)
for _name, _change, _doc in _CHANGES:
    _new = "" if _name in ("remove", "delete") else "new "
    _wrap = (lambda act: act) if _new else _without_new
    define(
        _name,
        f"({_new}item sequence {ITEM})",
        _doc.format("that are the item"),
        _wrap(_by_item(_name, _change)),
    )
    define(
        f"{_name}-if",
        f"({_new}predicate sequence {PREDICATE})",
        _doc.format("of which the predicate holds"),
        _wrap(_by_predicate(f"{_name}-if", _change, True)),
    )
    define(
        f"{_name}-if-not",
        f"({_new}predicate sequence {PREDICATE})",
        _doc.format("of which the predicate fails"),
        _wrap(_by_predicate(f"{_name}-if-not", _change, False)),
    )

_HASHED: dict[Any, Callable[[Value], Any]] = {eql: eql_key, equal: equal_key}


def _duplicates(
    name: str,
    sequence: Any,
    from_end: Any,
    test: Any,
    test_not: Any,
    start: Any,
    end: Any,
    key: Any,
) -> Value:
    items = items_of(name, sequence)
    first, last = bounds(name, start, end, len(items))
    keyed, holds = key_of(key), relation_of(name, test, test_not)
    keys = [keyed(x) if keyed else x for x in items[first:last]]
    hashed = _HASHED.get(holds)
    if hashed is not None:
        hits = _repeated([hashed(k) for k in keys], from_end is not NIL)
    else:
        hits = _repeated_by(keys, holds, from_end is not NIL)
    return _removed(name, sequence, items, {first + i for i in hits}, NIL)


def _repeated(keys: list[Any], keep_first: bool) -> set[int]:
    seen, hits = set(), set()
    for i in range(len(keys)) if keep_first else range(len(keys) - 1, -1, -1):
        if keys[i] in seen:
            hits.add(i)
        seen.add(keys[i])
    return hits


def _repeated_by(keys: list[Any], holds: Callable[[Any, Any], bool], keep_first: bool) -> set[int]:
    """Indices with an equal later (earlier, when the first is kept); operands in their order."""
    hits: set[int] = set()
    for i, k in enumerate(keys):
        others = range(i) if keep_first else range(i + 1, len(keys))
        spend("remove-duplicates", len(others))
        for j in others:
            if holds(keys[j], k) if keep_first else holds(k, keys[j]):
                hits.add(i)
                break
    return hits


for _name in ("remove-duplicates", "delete-duplicates"):

    def _act(
        sequence: Any,
        *,
        from_end: Any = NIL,
        test: Any = None,
        test_not: Any = None,
        start: Any = 0,
        end: Any = NIL,
        key: Any = None,
        name: str = _name,
    ) -> Value:
        return _duplicates(name, sequence, from_end, test, test_not, start, end, key)

    define(
        _name,
        "(sequence &key from-end test test-not (start 0) end key)",
        "The sequence without elements that come again later (that came before, from the end).",
        _act,
    )
