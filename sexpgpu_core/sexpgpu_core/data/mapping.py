"""`(map field f)`: a Lisp function of one field's value, called on the host for each example.

A value is a number, a string, or a vector (of vectors) of numbers; so is what the function gives.
It is pure: `random` in it is keyed by seed, stage, example and call (45.15).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..diagnostics import Problem, problem
from ..ir.types import Type, numpy_dtype

if TYPE_CHECKING:
    import numpy as np


class Mapping:
    """The fields of a cut with those that are mapped in the place of what they were."""

    def __init__(
        self,
        maps: Sequence[tuple[str, Any]],
        cut: Any,
        host: Any,
        keys: Callable[[Any], tuple[int, ...]],
    ) -> None:
        self._maps, self._cut, self._host, self._keys = dict(maps), cut, host, keys
        self._types: dict[str, Type] | None = None
        for name in self._maps:
            self._refuse(name)

    def _refuse(self, name: str) -> None:
        known = [*self._cut.fields(), *self._cut.texts()]
        if name not in known:
            hint = "It has " + " ".join(known) + "."
            told = f"(map {name} ...): no such field"
            raise problem("E-FIELD", told, hint=hint, field=name).of("map", name)

    def fields(self) -> dict[str, Type]:
        """Types of one example; a mapped field's is that of what the first example gives."""
        if self._types is None:
            self._types = {**self._cut.fields(), **{n: self._first(n) for n in self._maps}}
        return self._types

    def _first(self, name: str) -> Type:
        import numpy as np

        (value,) = self._values(name, self._cut.places(np.zeros(1, np.int64), 0), 0)
        try:
            return type_of(name, value)
        except Problem as wrong:
            raise wrong.of("map", name) from None

    def read(self, places: Any, names: Iterable[str] | None, epoch: int) -> dict[str, np.ndarray]:
        types = self.fields()
        wanted = [n for n in types if names is None or n in set(names)]
        plain = [n for n in wanted if n not in self._maps]
        out = dict(self._cut.read(places, plain)) if plain else {}
        for name in wanted:
            if name in self._maps:
                out[name] = self._mapped(name, types[name], places, epoch)
        return {n: out[n] for n in wanted}

    def _values(self, name: str, places: Any, epoch: int) -> list[Any]:
        """What the function gives for each example: numbers and nested lists of them."""
        given = self._given(name, places)
        seeds = [self._keys((name, epoch, int(place)))[0] for place in places]
        made: list[Any] = self._host.map(self._maps[name], given, seeds)
        return made

    def _mapped(self, name: str, type: Type, places: Any, epoch: int) -> np.ndarray:
        values = self._values(name, places, epoch)
        try:
            return self._stacked(name, type, values, places)
        except Problem as wrong:
            raise wrong.of("map", name) from None

    def _given(self, name: str, places: Any) -> Sequence[Any]:
        texts = self._cut.texts()
        if name in texts:
            found: Sequence[Any] = self._cut.read_texts(name, places)
            return found
        array: Sequence[Any] = self._cut.read(places, [name])[name]
        return array

    def _stacked(self, name: str, type: Type, values: list[Any], places: Any) -> np.ndarray:
        import numpy as np

        try:
            found = np.array(values)
        except ValueError:
            found = np.empty(0, object)
        kinds = "i" if type.dtype == "i32" else "if"
        if found.shape != (len(values), *type.shape) or found.dtype.kind not in kinds:
            self._tell(name, type, values, places)
        if type.dtype == "i32":
            _within(name, found)
        return found.astype(numpy_dtype(type.dtype))

    def _tell(self, name: str, type: Type, values: list[Any], places: Any) -> None:
        """E-DATA-TYPE for the first example of another shape, or of floats after integers."""
        for at, value in enumerate(values):
            dtype, shape = type_of(name, value)
            if dtype == "f32" and type.dtype == "i32" and shape == type.shape:
                raise problem(
                    "E-DATA-TYPE",
                    f"(map {name} ...) gives a float for example {int(places[at]):,}, integers "
                    "for the first",
                    hint="let the function give floats always, as by (float x)",
                    field=name,
                )
            if shape != type.shape:
                raise problem(
                    "E-DATA-TYPE",
                    f"(map {name} ...) gives {list(shape)} for example {int(places[at]):,}, "
                    f"{list(type.shape)} for the first",
                    hint="every example wants one shape: pad, crop or resize in the function",
                    field=name,
                )


def type_of(name: str, value: Any) -> Type:
    """The type of a number or of nested lists of numbers: i32 where all are integers, else f32."""
    shape, at = [], value
    while isinstance(at, (list, tuple)):
        shape.append(len(at))
        if not at:
            break
        at = at[0]
    flat = list(_leaves(name, value, tuple(shape)))
    if not flat:
        told = f"(map {name} ...) gives a list without a number"
        raise problem("E-DATA-TYPE", told, hint="give a number, or a list of some", field=name)
    whole = all(isinstance(v, int) for v in flat)
    if whole:
        _within(name, flat)
    return Type("i32" if whole else "f32", tuple(shape))


def _within(name: str, numbers: Any) -> None:
    """E-DATA-TYPE where an integer is beyond an i32."""
    low, high = (numbers.min(), numbers.max()) if hasattr(numbers, "min") else _ends(numbers)
    if low < -(2**31) or high >= 2**31:
        told = f"(map {name} ...) gives {_brief(low if low < -(2**31) else high)}, beyond an i32"
        hint = "make it smaller, as by (mod x n), or a float"
        raise problem("E-DATA-TYPE", told, hint=hint, field=name)


def _ends(numbers: Sequence[int]) -> tuple[int, int]:
    return min(numbers), max(numbers)


def _brief(number: Any) -> str:
    return f"{int(number):,}" if -(10**30) < number < 10**30 else "a number of many digits"


def _leaves(name: str, value: Any, shape: tuple[int, ...]) -> Iterable[Any]:
    if not shape:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise _no_number(name, value)
        yield value
        return
    if not isinstance(value, (list, tuple)) or len(value) != shape[0]:
        raise _no_number(name, value)
    for part in value:
        yield from _leaves(name, part, shape[1:])


def _no_number(name: str, value: Any) -> Problem:
    shown = repr(value)
    return problem(
        "E-DATA-TYPE",
        f"(map {name} ...) gives {shown[:60]}: no number, and no rows of equally many",
        hint="give a number, or a list or vector of numbers",
        field=name,
    )
