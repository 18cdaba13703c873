"""Functions over sequences: `map map-into reduce every some notany notevery`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..definitions import builtin
from ..sequence_parts import items_of, sequence_of_type, write_back
from ..values import NIL, T, Value, Vector, first_value
from .bounds import bounds
from .calling import callable_of, key_of
from .defining import define


def _rows(name: str, sequences: tuple[Any, ...]) -> list[tuple[Value, ...]]:
    """The elements of one index together, as far as the shortest reaches."""
    return list(zip(*[items_of(name, s) for s in sequences]))


@builtin("map", "(type function sequence &rest sequences)", staged=True)
def map_(spec: Any, function: Any, *sequences: Any) -> Value:
    """The function's values on the elements, as a sequence of a type; nil: for effect."""
    call = callable_of(function, len(sequences))
    results = []
    for row in _rows("map", sequences):
        results.append(first_value(call(*row)))
    return NIL if spec is NIL else sequence_of_type("map", spec, results)


@builtin("map-into", "(result function &rest sequences)", staged=True)
def map_into(result: Any, function: Any, *sequences: Any) -> Value:
    """Store the function's values on the elements into a sequence."""
    call = callable_of(function, len(sequences))
    size = len(result.data) if isinstance(result, Vector) else len(items_of("map-into", result))
    rows: list[tuple[Value, ...]] = _rows("map-into", sequences) if sequences else [()] * size
    results = []
    for row in rows[:size]:
        results.append(first_value(call(*row)))
    write_back("map-into", result, results)
    if isinstance(result, Vector) and result.fill is not None:
        result.fill = len(results)
    return result


@builtin(
    "reduce",
    "(function sequence &key key from-end (start 0) end initial-value)",
    staged=True,
)
def reduce(
    function: Any,
    sequence: Any,
    *,
    key: Any = None,
    from_end: Any = NIL,
    start: Any = 0,
    end: Any = NIL,
    initial_value: Any = None,
) -> Value:
    """The elements combined by a function of two, from the left (or from the end)."""
    keyed = key_of(key)
    items = items_of("reduce", sequence)
    first, last = bounds("reduce", start, end, len(items))
    items = [keyed(x) for x in items[first:last]] if keyed else items[first:last]
    if initial_value is not None:
        items = [*items, initial_value] if from_end is not NIL else [initial_value, *items]
    if not items:
        return first_value(callable_of(function, 0)())
    return _fold(callable_of(function, 2), items, from_end is not NIL)


def _fold(call: Callable[..., Value], items: list[Value], backward: bool) -> Value:
    if backward:
        result = items[-1]
        for x in reversed(items[:-1]):
            result = first_value(call(x, result))
        return result
    result = items[0]
    for x in items[1:]:
        result = first_value(call(result, x))
    return result


def _quantifier(name: str, stop: bool, value: bool) -> Callable[..., Value]:
    """Stop at the first answer that is true (or false); `value`: give that answer."""

    def call(predicate: Any, *sequences: Any) -> Value:
        test = callable_of(predicate, len(sequences))
        for row in _rows(name, sequences):
            answer = first_value(test(*row))
            if (answer is not NIL) is stop:
                return answer if value else _STOPPED[name]
        return _ENDED[name]

    return call


_STOPPED: dict[str, Value] = {"every": NIL, "some": T, "notany": NIL, "notevery": T}
_ENDED: dict[str, Value] = {"every": T, "some": NIL, "notany": T, "notevery": NIL}
for _name, _stop, _doc in (
    ("every", False, "Whether the predicate holds of all."),
    ("some", True, "The first true value of the predicate; nil if it holds of none."),
    ("notany", True, "Whether the predicate holds of none."),
    ("notevery", False, "Whether the predicate fails of some."),
):
    define(
        _name,
        "(predicate sequence &rest sequences)",
        _doc,
        _quantifier(_name, _stop, _name == "some"),
        staged=True,
    )
