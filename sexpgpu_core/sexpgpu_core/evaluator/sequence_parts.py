"""Sequences as Python lists and back: what all of the sequence builtins read and write through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .equality import active, vector_items
from .faults import bad_index, claim_cells, wrong_type
from .printer import brief
from .spending import spend
from .type_specifiers import Arrays, Conses, Members, Union, is_all, is_type, parse_type
from .values import NIL, Array, Character, Cons, String, Value, Vector, character

_ELEMENTS: dict[str, tuple[tuple[type, ...], str]] = {
    "bit": ((int,), "0 or 1"),
    "integer": ((int,), "an integer"),
    "float": ((float,), "a float"),
}


def items_of(name: str, sequence: Any) -> list[Value]:
    """The elements of a list or vector; not to be changed (it may be the vector's own list)."""
    if sequence is NIL:
        return []
    if isinstance(sequence, Vector):
        items = vector_items(sequence)
        spend(name, len(items))
        return items
    if sequence.__class__ is Cons:
        from .builtins.listing import proper

        return proper(name, sequence)
    raise wrong_type(name, sequence, "a sequence")


def length_of(name: str, sequence: Any) -> int:
    """The number of elements, up to the fill pointer."""
    if isinstance(sequence, Vector):
        return len(sequence.data) if sequence.fill is None else sequence.fill
    return len(items_of(name, sequence))


def stored(name: str, vector: Array, value: Any) -> Any:
    """What an array keeps for an element; E-TYPE where its element type does not allow it."""
    if vector.declared is not None and not is_type(value, vector.declared[1]):
        raise wrong_type(name, value, f"a {brief(vector.declared[0])}")
    if isinstance(vector, String):
        if value.__class__ is not Character:
            raise wrong_type(name, value, "a character")
        return value.char
    return checked_element(name, vector.element, value)


def checked_element(name: str, element: str, value: Any) -> Any:
    """A value that an array of an element type may hold."""
    rule = _ELEMENTS.get(element)
    if rule is None:
        return value
    if value.__class__ not in rule[0] or (element == "bit" and value not in (0, 1)):
        raise wrong_type(name, value, rule[1])
    return value


def vector_of(name: str, items: Sequence[Value], element: str = "t") -> Vector:
    """A fresh simple vector of an element type."""
    claim_cells(name, len(items))
    if element == "character":
        made = String()
        made.data = [stored(name, made, x) for x in items]
        made.dims = (len(items),)
        return made
    return Vector([checked_element(name, element, x) for x in items], element)


def alike(name: str, sequence: Any, items: Sequence[Value]) -> Value:
    """A fresh sequence of the kind of another one."""
    if isinstance(sequence, Vector):
        return vector_of(name, items, sequence.element)
    from .builtins.listing import list_from

    return list_from(items)


def part_alike(sequence: Any, items: list[Value], first: int, last: int) -> Value:
    """A fresh copy of a part; strings keep their characters unboxed."""
    if isinstance(sequence, String):
        made = String()
        made.data = active(sequence)[first:last]
        made.dims = (last - first,)
        return made
    if isinstance(sequence, Vector):
        return Vector(items[first:last], sequence.element)
    from .builtins.listing import list_from

    return list_from(items[first:last])


def write_back(name: str, sequence: Any, items: Sequence[Value], first: int = 0) -> None:
    """Put items into a sequence from an index on."""
    if isinstance(sequence, Vector):
        sequence.data[first : first + len(items)] = [stored(name, sequence, x) for x in items]
        return
    cell = sequence
    for _ in range(first):
        cell = cell.cdr
    for x in items:
        cell.car = x
        cell = cell.cdr


def get_element(name: str, sequence: Any, at: Any) -> Value:
    """The element of an index: E-INDEX beyond the end."""
    if isinstance(sequence, Vector):
        size = length_of(name, sequence)
        if at.__class__ is not int or not 0 <= at < size:
            raise _bad(name, at, size)
        found = sequence.data[at]
        return character(found) if isinstance(sequence, String) else found
    rest, count = sequence, 0
    if at.__class__ is int:
        while count < at and rest.__class__ is Cons:
            rest, count = rest.cdr, count + 1
        spend(name, count)
        if count == at and rest.__class__ is Cons:
            return rest.car  # what comes after it may be anything
    raise _bad(name, at, len(items_of(name, sequence)))


def _bad(name: str, at: Any, size: int) -> Exception:
    if at.__class__ is not int:
        return wrong_type(name, at, "an index")
    return bad_index(name, at, size)


def sequence_of_type(name: str, spec: Any, items: Sequence[Value]) -> Value:
    """A fresh sequence of the type a specifier names; its length must fit."""
    kind = parse_type(spec)
    element = vector_element_of(kind)
    if element is not None:
        size = kind.dims[0] if kind.__class__ is Arrays and kind.dims else None
        if size is not None and size != len(items):
            raise wrong_type(name, spec, f"a type of sequences of length {len(items)}")
        return vector_of(name, items, element)
    from .builtins.listing import list_from

    if not _may_be_list(kind):
        raise wrong_type(name, spec, "a type of sequences")
    made = list_from(items)
    if not is_type(made, kind):
        raise wrong_type(name, spec, f"a type of sequences of length {len(items)}")
    return made


def vector_element_of(kind: Any) -> str | None:
    """The element type of a type of vectors; None of other types."""
    if kind.__class__ is Arrays and (kind.dims is None or len(kind.dims) == 1):
        return kind.element or "t"
    if kind.__class__ is Union:
        found = [vector_element_of(part) for part in kind.of]
        return found[0] if found and None not in found else None
    if kind.__class__ is not Conses and getattr(kind, "of", None) and not is_all(kind):
        parts = kind.of if isinstance(kind.of, tuple) else ()
        found = [e for e in map(vector_element_of, parts) if e is not None]
        return found[0] if found else None
    return None


def _may_be_list(kind: Any) -> bool:
    if kind.__class__ in (Conses, Members):
        return True
    return kind.__class__ is Union and any(_may_be_list(part) for part in kind.of)
