"""The small algebra that types are parsed to: unions, ranges of numbers, arrays, named kinds.

deftype fills EXPANDERS; classes are in `classes`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..records import NamedTuple
from .values import NIL, Character, Function, OfSymbols, Staged, Symbol, T, Value

EXPANDERS: OfSymbols[Callable[..., Value]] = OfSymbols()
"""deftype: name -> function of the specifier's arguments that gives another specifier."""


class Union(NamedTuple):
    of: tuple[Any, ...]


class Intersection(NamedTuple):
    of: tuple[Any, ...]


class Complement(NamedTuple):
    of: Any


class Members(NamedTuple):
    of: tuple[Value, ...]


class Numbers(NamedTuple):
    """Numbers of some kinds between bounds; None: no bound."""

    kinds: frozenset[str]  # integer ratio float
    low: Value = None
    high: Value = None
    low_open: bool = False
    high_open: bool = False


class Arrays(NamedTuple):
    """`dims` None: any rank; an entry None: any size. `element` None: any."""

    dims: tuple[int | None, ...] | None
    element: str | None
    simple: bool = False


class Conses(NamedTuple):
    car: Any
    cdr: Any


class Named(NamedTuple):
    """A row of KINDS by name, or a class itself."""

    name: Any


class Satisfying(NamedTuple):
    predicate: Any


ALL = Intersection(())
NONE = Union(())


def is_all(kind: Any) -> bool:
    """Whether it is the type of everything. Kinds are never compared by ==: they are tuples."""
    return kind.__class__ is Intersection and not kind.of


class Kind(NamedTuple):
    test: Callable[[Value], bool]
    parent: str | None


KINDS: dict[str, Kind] = {
    "symbol": Kind(lambda x: x.__class__ is Symbol, None),
    "keyword": Kind(lambda x: x.__class__ is Symbol and x.keyword, "symbol"),
    "character": Kind(lambda x: x.__class__ is Character, None),
    "base-char": Kind(lambda x: x.__class__ is Character and x.char < "\x80", "character"),
    "standard-char": Kind(
        lambda x: x.__class__ is Character and (x.char == "\n" or " " <= x.char <= "~"),
        "base-char",
    ),
    "function": Kind(lambda x: isinstance(x, Function), None),
    "tensor": Kind(lambda x: isinstance(x, Staged), None),
    "hash-table": Kind(lambda x: type(x).__name__ == "HashTable", None),
    "random-state": Kind(lambda x: type(x).__name__ == "RandomState", None),
    "stream": Kind(lambda x: type(x).__name__ in ("StringOutputStream", "StringInputStream"), None),
}

REAL_KIND = frozenset({"integer", "ratio", "float"})
RATIONAL_KIND = frozenset({"integer", "ratio"})
INTEGER_KIND = frozenset({"integer"})
FLOAT_KIND = frozenset({"float"})
ANY_CONS = Conses(ALL, ALL)
ANY_NULL = Members((NIL,))
ANY_LIST = Union((ANY_CONS, ANY_NULL))
ANY_VECTOR = Arrays((None,), None)
FIXNUM = Numbers(INTEGER_KIND, -(1 << 62), (1 << 62) - 1)

ATOMIC: dict[str, Any] = {
    "T": ALL,
    "NIL": NONE,
    "SYMBOL": Named("symbol"),
    "KEYWORD": Named("keyword"),
    "BOOLEAN": Members((T, NIL)),
    "NULL": ANY_NULL,
    "CONS": ANY_CONS,
    "LIST": ANY_LIST,
    "ATOM": Complement(ANY_CONS),
    "SEQUENCE": Union((ANY_LIST, ANY_VECTOR)),
    "NUMBER": Numbers(REAL_KIND),
    "REAL": Numbers(REAL_KIND),
    "RATIONAL": Numbers(RATIONAL_KIND),
    "RATIO": Numbers(frozenset({"ratio"})),
    "COMPLEX": NONE,
    "INTEGER": Numbers(INTEGER_KIND),
    "SIGNED-BYTE": Numbers(INTEGER_KIND),
    "UNSIGNED-BYTE": Numbers(INTEGER_KIND, 0),
    "BIT": Numbers(INTEGER_KIND, 0, 1),
    "FIXNUM": FIXNUM,
    "BIGNUM": Intersection((Numbers(INTEGER_KIND), Complement(FIXNUM))),
    **{
        name: Numbers(FLOAT_KIND)
        for name in ("FLOAT", "SHORT-FLOAT", "SINGLE-FLOAT", "DOUBLE-FLOAT", "LONG-FLOAT")
    },
    "CHARACTER": Named("character"),
    "BASE-CHAR": Named("base-char"),
    "STANDARD-CHAR": Named("standard-char"),
    "EXTENDED-CHAR": Intersection((Named("character"), Complement(Named("base-char")))),
    "FUNCTION": Named("function"),
    "COMPILED-FUNCTION": Named("function"),
    "HASH-TABLE": Named("hash-table"),
    "RANDOM-STATE": Named("random-state"),
    "STREAM": Named("stream"),
    "STRING-STREAM": Named("stream"),
    "TENSOR": Named("tensor"),
    **{
        f"{name}-STREAM": NONE
        for name in ("BROADCAST", "CONCATENATED", "ECHO", "FILE", "SYNONYM", "TWO-WAY")
    },
    "PATHNAME": NONE,
    "LOGICAL-PATHNAME": NONE,
    "PACKAGE": NONE,
    "READTABLE": NONE,
    "RESTART": NONE,
    "ARRAY": Arrays(None, None),
    "SIMPLE-ARRAY": Arrays(None, None, True),
    "VECTOR": ANY_VECTOR,
    "SIMPLE-VECTOR": Arrays((None,), "t", True),
    "STRING": Arrays((None,), "character"),
    "BASE-STRING": Arrays((None,), "character"),
    "SIMPLE-STRING": Arrays((None,), "character", True),
    "SIMPLE-BASE-STRING": Arrays((None,), "character", True),
    "BIT-VECTOR": Arrays((None,), "bit"),
    "SIMPLE-BIT-VECTOR": Arrays((None,), "bit", True),
}
