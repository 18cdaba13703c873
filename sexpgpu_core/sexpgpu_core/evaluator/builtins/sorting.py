"""`sort stable-sort merge`: an own merge sort, so that no user function is called from C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..definitions import _keywords as parse_keywords
from ..definitions import builtin
from ..faults import bad_argument
from ..sequence_parts import items_of, sequence_of_type, write_back
from ..spending import spend
from ..values import NIL, Staged, Value, Vector, first_value, keyword
from .calling import callable_of, key_of
from .defining import define
from .listing import list_from

Before = Callable[[Any, Any], bool]


def merged(left: list[Any], right: list[Any], before: Before) -> list[Any]:
    """Two sorted lists as one; at a tie the left comes first."""
    result, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        if before(right[j], left[i]):
            result.append(right[j])
            j += 1
        else:
            result.append(left[i])
            i += 1
    return result + left[i:] + right[j:]


def merge_sort(items: list[Any], before: Before) -> list[Any]:
    """Sorted and stable, bottom up; ends for any `before`, consistent or not."""
    runs = [[x] for x in items]
    while len(runs) > 1:
        joined = [merged(runs[i], runs[i + 1], before) for i in range(0, len(runs) - 1, 2)]
        runs = joined + (runs[-1:] if len(runs) % 2 else [])
    return runs[0] if runs else []


def _before(predicate: Any, key: Any) -> Before:
    """Whether one (element, key) pair belongs before another."""
    call = callable_of(predicate, 2)
    return lambda a, b: first_value(call(a[1], b[1])) is not NIL


def _paired(items: list[Value], key: Any) -> list[tuple[Value, Value]]:
    keyed = key_of(key)
    return [(x, keyed(x)) for x in items] if keyed else [(x, x) for x in items]


def _sort(name: str) -> Callable[..., Value]:
    def sort(sequence: Any, *rest: Any) -> Value:
        if isinstance(sequence, Staged):
            return sequence.generic(name, (sequence, *rest))
        return _sort_ordinary(name, sequence, *rest)

    return sort


def _sort_ordinary(name: str, sequence: Any, *rest: Any) -> Value:
    if not rest:
        raise bad_argument(name, "takes a sequence and a predicate")
    predicate, keys = rest[0], _sort_keys(name, rest[1:])
    items = items_of(name, sequence)
    spend(name, len(items) * len(items).bit_length())
    pairs = merge_sort(_paired(items, keys), _before(predicate, keys))
    ordered = [pair[0] for pair in pairs]
    if isinstance(sequence, Vector):
        write_back(name, sequence, ordered)
        return sequence
    return list_from(ordered)


def _sort_keys(name: str, rest: tuple[Any, ...]) -> Any:
    """The :key of the arguments after the predicate."""
    found = parse_keywords(name, {keyword("KEY"): "key"}, rest, False)
    return found.get("key")


@builtin("merge", "(type sequence1 sequence2 predicate &key key)")
def merge(spec: Any, sequence1: Any, sequence2: Any, predicate: Any, *, key: Any = None) -> Value:
    """Two sorted sequences as one of a type."""
    left = _paired(items_of("merge", sequence1), key)
    right = _paired(items_of("merge", sequence2), key)
    pairs = merged(left, right, _before(predicate, key))
    return sequence_of_type("merge", spec, [pair[0] for pair in pairs])


_DOC = "The sequence sorted in place, stable; of a tensor, its graph operation."
define("sort", "(sequence &rest predicate-and-key)", _DOC, _sort("sort"), staged=True)
define("stable-sort", "(sequence &rest predicate-and-key)", _DOC, _sort("stable-sort"), staged=True)
