"""`typep type-of subtypep coerce`."""

from __future__ import annotations

from typing import Any

from ..classes import CLASS_OF, proper_name
from ..definitions import builtin, core_symbol
from ..faults import wrong_type
from ..numeric import is_number, to_float
from ..sequence_parts import items_of, sequence_of_type
from ..subtypes import is_subtype
from ..type_specifiers import (
    Conses,
    Members,
    Named,
    Numbers,
    Union,
    is_type,
    parse_type,
    typep,
)
from ..values import (
    NIL,
    Array,
    Character,
    Cons,
    Function,
    MultipleValues,
    Ratio,
    Staged,
    Symbol,
    T,
    Value,
    Vector,
)
from .arrays import element_type_of
from .characters import character_designator
from .listing import list_from


@builtin("typep", "(object type &optional environment)")
def typep_(value: Any, spec: Any, environment: Any = NIL) -> Value:
    """Whether an object is of a type."""
    return T if typep(value, spec) else NIL


@builtin("subtypep", "(type1 type2 &optional environment)")
def subtypep(type1: Any, type2: Any, environment: Any = NIL) -> Value:
    """Whether one type is a part of another, and whether that is certain."""
    answer = is_subtype(parse_type(type1), parse_type(type2))
    return MultipleValues(T if part else NIL for part in answer)


_SIMPLE_NAMES: dict[type, str] = {
    float: "DOUBLE-FLOAT",
    Ratio: "RATIO",
    Cons: "CONS",
    Character: "CHARACTER",
}


@builtin("type-of", "(object)")
def type_of(value: Any) -> Value:
    """The most specific type of an object."""
    kind = value.__class__
    if kind in CLASS_OF:
        return proper_name(CLASS_OF[kind](value))
    if kind in _SIMPLE_NAMES:
        return core_symbol(_SIMPLE_NAMES[kind])
    if kind is int:
        return _integer_type(value)
    if kind is Symbol:
        return core_symbol(_symbol_type(value))
    if isinstance(value, Array):
        return _array_type(value)
    if isinstance(value, Staged):
        return core_symbol(value.type_name().upper())
    return core_symbol("FUNCTION" if isinstance(value, Function) else _python_name(kind))


def _python_name(kind: type) -> str:
    known = {"HashTable": "HASH-TABLE", "RandomState": "RANDOM-STATE"}
    return known.get(kind.__name__, "STRING-STREAM" if "Stream" in kind.__name__ else "T")


def _integer_type(n: int) -> Value:
    if n in (0, 1):
        return core_symbol("BIT")
    low = core_symbol("INTEGER")
    if -(1 << 62) <= n < 1 << 62:
        return core_symbol("FIXNUM") if n < 0 else list_from([low, 0, (1 << 62) - 1])
    return core_symbol("BIGNUM")


def _symbol_type(symbol: Symbol) -> str:
    if symbol is NIL:
        return "NULL"
    return "BOOLEAN" if symbol is T else "KEYWORD" if symbol.keyword else "SYMBOL"


def _array_type(array: Array) -> Value:
    simple = array.fill is None and not array.adjustable
    if isinstance(array, Vector) and array.element == "t" and simple:
        return list_from([core_symbol("SIMPLE-VECTOR"), len(array.data)])
    if isinstance(array, Vector) and array.element == "bit":
        return list_from(
            [core_symbol(("SIMPLE-" if simple else "") + "BIT-VECTOR"), len(array.data)]
        )
    head = "SIMPLE-ARRAY" if simple else "ARRAY"
    if isinstance(array, Vector) and not simple:
        head = "VECTOR"
        return list_from([core_symbol(head), element_type_of(array.element), len(array.data)])
    return list_from([core_symbol(head), element_type_of(array.element), list_from(array.dims)])


@builtin("coerce", "(object type)")
def coerce(value: Any, spec: Any) -> Value:
    """The object as a value of a type: a number as a float, a sequence as another kind."""
    kind = parse_type(spec)
    if is_type(value, kind):
        return value
    made = _coerced(value, spec, kind)
    if made is None or (not isinstance(made, Vector) and not is_type(made, kind)):
        raise wrong_type("coerce", value, f"something that can become {_shown(spec)}")
    return made


def _function(value: Any) -> Value:
    """The function of a designator or lambda expression."""
    from ..designators import function_of
    from ..machine import current

    if value.__class__ is Cons and value.car is core_symbol("LAMBDA"):
        return current().evaluate_form(list_from([core_symbol("FUNCTION"), value]))
    return function_of(value)


def _shown(spec: Any) -> str:
    from ..printer import brief

    return brief(spec)


def _coerced(value: Any, spec: Any, kind: Any) -> Value:
    if kind.__class__ is Numbers:
        return to_float("coerce", value) if is_number(value) and "float" in kind.kinds else None
    if kind.__class__ is Named and kind.name == "character":
        return character_designator(value)
    if kind.__class__ is Named and kind.name == "function":
        return _function(value)
    if value is NIL or value.__class__ is Cons or isinstance(value, Vector):
        if kind.__class__ in (Members, Conses, Union) or hasattr(kind, "dims"):
            return sequence_of_type("coerce", spec, items_of("coerce", value))
        if kind.__class__.__name__ == "Intersection":
            return sequence_of_type("coerce", spec, items_of("coerce", value))
    return None
