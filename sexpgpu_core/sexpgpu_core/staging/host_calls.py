"""Lisp functions that loaders call on the host, for `map` and `synthetic`: Python values in, out.

A number is a number, a text a string, an array an array. What comes back is numbers, nested lists
of them, or a dictionary for a property list. Law: a call's value depends on its arguments and seed.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..evaluator.random_state import RandomState
from ..evaluator.standard_variables import RANDOM_STATE
from ..evaluator.values import NIL, Array, Cons, Function, Ratio, String, Symbol, T, Value, Vector

if TYPE_CHECKING:
    from ..evaluator.evaluator import Evaluator


class HostCalls:
    """Calls functions of one evaluator, one thread at a time."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._lock = allocate_lock()

    def map(self, function: Function, given: Sequence[Any], seeds: Sequence[int]) -> list[Any]:
        """The function's value for each of some values; `random` in a call draws from its seed."""
        arguments = [(lisp_of(value),) for value in given]

        def reseed(at: int) -> None:
            RANDOM_STATE.value = RandomState(seeds[at])

        with self._lock:
            before = RANDOM_STATE.value
            try:
                found = self._evaluator.each(function, arguments, reseed)
            finally:
                RANDOM_STATE.value = before
        return [python_of(value) for value in found]


def lisp_of(value: Any) -> Value:
    """A Lisp value of a number, a text, a NumPy array or a list."""
    if isinstance(value, str):
        return String(value)
    if isinstance(value, (bool, int, float)):
        return value if not isinstance(value, bool) else T if value else NIL
    shape = getattr(value, "shape", None)
    if shape == ():
        return lisp_of(value.item())
    if shape is None:
        return Vector([lisp_of(item) for item in value])
    data = value.reshape(-1).tolist()
    return Vector(data) if len(shape) == 1 else Array(tuple(shape), data)


def python_of(value: Value) -> Any:
    """Numbers and nested lists of them; a property list is a dictionary."""
    if isinstance(value, String):
        return value.text()
    if isinstance(value, Ratio):
        return value.numerator / value.denominator
    if isinstance(value, Array):
        data = value.data if value.fill is None else value.data[: value.fill]
        return _shaped([python_of(item) for item in data], value.dims)
    if value.__class__ is Cons:
        items = []
        while value.__class__ is Cons:
            items.append(value.car)
            value = value.cdr
        if _is_plist(items):
            names = [item.name.lower() for item in items[::2]]
            return dict(zip(names, map(python_of, items[1::2])))
        return [python_of(item) for item in items]
    if value is NIL:
        return []
    return value


def _is_plist(items: Sequence[Value]) -> bool:
    return len(items) % 2 == 0 and all(i.__class__ is Symbol and i.keyword for i in items[::2])


def _shaped(flat: list[Any], dims: Sequence[int]) -> Any:
    if len(dims) <= 1:
        return flat
    step = len(flat) // dims[0] if dims[0] else 0
    return [_shaped(flat[i * step : (i + 1) * step], dims[1:]) for i in range(dims[0])]
