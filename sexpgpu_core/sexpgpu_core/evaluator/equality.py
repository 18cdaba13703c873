"""`eq eql equal equalp` and hash keys that are equal when values are. None of them recurses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .numeric import compare, fraction, is_number
from .spending import FIRST_LOOK, look, spend
from .values import Array, Character, Cons, Ratio, String, Symbol, Value, Vector

STRUCTURES: dict[type, Callable[[Any], list[Value]]] = {}
"""How equalp looks into structures and tables: class -> (value) -> what to compare, kind first."""


def eq(a: Value, b: Value) -> bool:
    """The same object; small numbers are."""
    return a is b or (a.__class__ is int and b.__class__ is int and a == b)


def eql(a: Value, b: Value) -> bool:
    """The same object, or numbers of one kind and value (0.0 and -0.0 differ)."""
    if a is b:
        return True
    kind = a.__class__
    if kind is not b.__class__:
        return False
    if kind is int or kind is Ratio:
        return bool(a == b)
    return kind is float and a == b and repr(a) == repr(b)


def active(vector: Vector) -> list[Any]:
    """The data up to the fill pointer."""
    return vector.data if vector.fill is None else vector.data[: vector.fill]


def equal(a: Value, b: Value) -> bool:
    """eql atoms, and strings, bit vectors and lists of equal parts."""
    stack = [(a, b)]
    count, asks = 0, FIRST_LOOK
    while stack:
        a, b = stack.pop()
        while a.__class__ is Cons and b.__class__ is Cons and a is not b:
            if a.car is not b.car:
                if a.car.__class__ is Cons:
                    stack.append((a.car, b.car))
                elif not _equal_atoms(a.car, b.car):
                    return False
            a, b = a.cdr, b.cdr
            count += 1
            if count > asks:
                asks = look("equal", count)
        if not _equal_atoms(a, b):
            return False
    spend("equal", count)
    return True


def _equal_atoms(a: Value, b: Value) -> bool:
    if isinstance(a, String):
        return isinstance(b, String) and active(a) == active(b)
    if isinstance(a, Vector) and a.element == "bit":
        return isinstance(b, Vector) and b.element == "bit" and active(a) == active(b)
    return eql(a, b)


def equalp(a: Value, b: Value) -> bool:
    """Equal in value: case, kinds of number and of vector aside; looks into arrays, structures."""
    stack = [(a, b)]
    count, asks = 0, FIRST_LOOK
    while stack:
        a, b = stack.pop()
        count += 1
        if count > asks:
            asks = look("equalp", count, 10)
        if a is b:
            continue
        parts = _pairs(a, b)
        if parts is None:
            return False
        stack += parts
    spend("equalp", count)
    return True


def _pairs(a: Value, b: Value) -> list[tuple[Value, Value]] | None:
    """What must be equalp in turn; None if a and b differ already."""
    if a.__class__ is Cons:
        return [(a.cdr, b.cdr), (a.car, b.car)] if b.__class__ is Cons else None
    if isinstance(a, Array):
        return _array_pairs(a, b) if isinstance(b, Array) else None
    look = STRUCTURES.get(a.__class__)
    if look is not None and a.__class__ is b.__class__:
        left, right = look(a), look(b)
        return list(zip(left, right)) if len(left) == len(right) else None
    return [] if _equalp_atoms(a, b) else None


def _equalp_atoms(a: Value, b: Value) -> bool:
    if is_number(a):
        return is_number(b) and compare("equalp", a, b) == 0
    if a.__class__ is Character:
        return b.__class__ is Character and _folded(a.char) == _folded(b.char)
    return eql(a, b)


def _folded(char: str) -> str:
    upper = char.upper()
    return upper if len(upper) == 1 and upper.lower() == char.lower() else char


def _array_pairs(a: Array, b: Array) -> list[tuple[Value, Value]] | None:
    if isinstance(a, Vector) and isinstance(b, Vector):
        if isinstance(a, String) and isinstance(b, String):
            same = list(map(_folded, active(a))) == list(map(_folded, active(b)))
            return [] if same else None
        left, right = vector_items(a), vector_items(b)
        return list(zip(left, right)) if len(left) == len(right) else None
    return list(zip(a.data, b.data)) if a.dims == b.dims else None


def vector_items(vector: Vector) -> list[Value]:
    """The elements as Lisp values."""
    from .values import character

    items = active(vector)
    return [character(c) for c in items] if isinstance(vector, String) else items


def eql_key(x: Value) -> Any:
    """A Python key: equal for eql values only. Python's 1 == 1.0 never shows."""
    kind = x.__class__
    if kind is int or kind is Symbol or kind is Ratio or kind is Cons or kind is Character:
        return x
    if kind is float:
        return (float, repr(x))
    return (id, id(x))


def equal_key(x: Value) -> Any:
    """As `eql_key` for equal; a tree becomes one flat tuple, so that no hash goes deep."""
    if x.__class__ is not Cons:
        return _equal_atom_key(x)
    return _flat(x, _equal_atom_key, lambda _: None)


def _equal_atom_key(x: Value) -> Any:
    if isinstance(x, String):
        return (str, "".join(active(x)))
    if isinstance(x, Vector) and x.element == "bit":
        return (bytes, tuple(active(x)))
    return eql_key(x)


def equalp_key(x: Value) -> Any:
    """As `eql_key` for equalp."""
    return _flat(x, _equalp_atom_key, _equalp_parts)


def _equalp_atom_key(x: Value) -> Any:
    if x.__class__ is int:
        return x
    if is_number(x):
        if x.__class__ is float and x - x != 0.0:
            return (float, repr(x))
        parts = fraction(x)
        return parts[0] if parts[1] == 1 else (Ratio, parts)
    return (str, _folded(x.char)) if x.__class__ is Character else eql_key(x)


def _equalp_parts(x: Value) -> list[Value] | None:
    if isinstance(x, Vector):
        return vector_items(x)
    if isinstance(x, Array):
        return [*x.dims, *x.data]
    look = STRUCTURES.get(x.__class__)
    return look(x) if look is not None else None


def _flat(
    x: Value, atom: Callable[[Value], Any], parts: Callable[[Value], list[Value] | None]
) -> Any:
    """Tokens of a tree from left to right: a cons is CONS car cdr, a compound its size, parts."""
    stack = [x]
    tokens: list[Any] = []
    asks = FIRST_LOOK
    while stack:
        x = stack.pop()
        if len(tokens) > asks:
            asks = look("a hash table", len(tokens))
        if x.__class__ is Cons:
            tokens.append(Cons)
            stack += [x.cdr, x.car]
            continue
        inner = parts(x)
        if inner is None:
            tokens.append(atom(x))
        else:
            tokens.append((Array, len(inner)))
            stack += reversed(inner)
    spend("a hash table", len(tokens))
    return tokens[0] if len(tokens) == 1 else tuple(tokens)
