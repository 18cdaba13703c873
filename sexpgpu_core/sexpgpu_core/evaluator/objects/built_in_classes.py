"""The classes of ordinary values (CLHS 4.3.7), and the class of any value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..classes import CLASS_OF, CLASSES, TOP, Class, define_class
from ..conditions import ConditionClass
from ..definitions import CORE_SYMBOLS, core_symbol
from ..hash_tables import HashTable
from ..random_state import RandomState
from ..streams import StringInputStream, StringOutputStream
from ..structures import StructureClass
from ..type_kinds import FIXNUM
from ..values import NIL, Array, Character, Cons, Function, Ratio, Staged, String, Symbol, Vector

TREE = """
symbol: ; sequence: ; list: sequence; cons: list; null: symbol list; number: ; real: number
float: real; double-float: float; rational: real; integer: rational; fixnum: integer
bignum: integer; ratio: rational; complex: number; character: ; array: ; simple-array: array
vector: array sequence; simple-vector: vector simple-array; bit-vector: vector
simple-bit-vector: bit-vector simple-array; string: vector; simple-string: string simple-array
hash-table: ; random-state: ; stream: ; string-stream: stream
broadcast-stream: stream; concatenated-stream: stream
echo-stream: stream; file-stream: stream; synonym-stream: stream; two-way-stream: stream
function: ; pathname: ; logical-pathname: pathname; package:
readtable: ; restart: ; tensor: ; standard-object: ; %metaobject: standard-object
class: %metaobject; built-in-class: class; standard-class: class; structure-class: class
condition-class: class; generic-function: %metaobject function
standard-generic-function: generic-function; method: %metaobject; standard-method: method
method-combination: %metaobject
"""
"""Each class with its direct superclasses; `t` where none is named."""

SAME = {
    **{f"{size}-FLOAT": "DOUBLE-FLOAT" for size in ("SINGLE", "SHORT", "LONG")},
    "BASE-STRING": "STRING",
    "SIMPLE-BASE-STRING": "SIMPLE-STRING",
}
"""Every float is a double, and strings are of one kind."""


def built_in(name: str) -> Class:
    """A class of the standard by its lower-case name."""
    return CLASSES[CORE_SYMBOLS[name.upper()]]


def _define_tree() -> None:
    for row in TREE.replace("\n", ";").split(";"):
        name, _, rest = row.partition(":")
        if name.strip():
            above = tuple(built_in(part) for part in rest.split()) or (TOP,)
            define_class(Class(core_symbol(name.strip().upper()), above))
    for name, other in SAME.items():
        CLASSES[core_symbol(name)] = built_in(other)


_define_tree()

_ARRAYS = {
    (True, "t", True): "simple-vector",
    (True, "bit", True): "simple-bit-vector",
    (True, "bit", False): "bit-vector",
    (True, "character", True): "simple-string",
    (True, "character", False): "string",
}
"""The class of an array: is it a vector, its element type, is it simple."""


def _array_class(array: Array) -> Class:
    simple = array.fill is None and not array.adjustable
    is_vector = isinstance(array, Vector)
    name = _ARRAYS.get((is_vector, array.element, simple))
    return built_in(name or ("vector" if is_vector else "simple-array" if simple else "array"))


_FIXNUM, _BIGNUM = built_in("fixnum"), built_in("bignum")
_SYMBOL, _NULL = built_in("symbol"), built_in("null")
_LOW, _HIGH = FIXNUM.low, FIXNUM.high


def _always(name: str) -> Callable[[Any], Class]:
    found = built_in(name)
    return lambda _: found


CLASS_OF_VALUE: dict[type, Callable[[Any], Class]] = {
    int: lambda n: _FIXNUM if _LOW <= n <= _HIGH else _BIGNUM,
    Symbol: lambda symbol: _NULL if symbol is NIL else _SYMBOL,
    Cons: _always("cons"),
    float: _always("double-float"),
    Ratio: _always("ratio"),
    Character: _always("character"),
    Array: _array_class,
    Vector: _array_class,
    String: _array_class,
    Function: _always("function"),
    HashTable: _always("hash-table"),
    RandomState: _always("random-state"),
    StringInputStream: _always("string-stream"),
    StringOutputStream: _always("string-stream"),
}


def class_of(value: Any) -> Class:
    """The class of a value."""
    kind = value.__class__
    find = CLASS_OF_VALUE.get(kind) or CLASS_OF.get(kind)
    if find is not None:
        return find(value)
    return built_in("tensor") if isinstance(value, Staged) else TOP


STANDARD_OBJECT = built_in("standard-object")


class StandardClass(Class):
    """A class of the file. `missing`: superclasses that no definition has been seen of."""

    __slots__ = ("accessors",)
    meta = "STANDARD-CLASS"

    def __init__(self, name: Symbol) -> None:
        self.accessors: list[Any] = []  # (generic function, method) that its definition made
        super().__init__(name, (UNKNOWN,))


UNKNOWN = Class(core_symbol("%UNKNOWN"), ())
"""Stands for the superclasses of a class that is named but not defined yet."""
UNKNOWN.precedence = ()

CLASS_OF[Class] = lambda cls: built_in("built-in-class")
for _kind in (StandardClass, StructureClass, ConditionClass):
    CLASS_OF[_kind] = lambda cls: CLASSES[CORE_SYMBOLS[cls.meta]]
