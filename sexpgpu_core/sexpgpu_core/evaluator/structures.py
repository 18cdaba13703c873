"""Structures: types with slots and single inheritance; how they print, compare and copy."""

from __future__ import annotations

from typing import Any

from .classes import CLASS_OF, CLASSES, TOP, Class, Slot, define_class
from .definitions import builtin, core_symbol
from .equality import STRUCTURES
from .faults import wrong_type
from .printed_objects import printed_by_method
from .printer import COMPOUNDS, Parts, Settings, brief
from .type_specifiers import typep
from .values import Staged, Symbol, Value, keyword

STRUCTURE_OBJECT = define_class(Class(core_symbol("STRUCTURE-OBJECT"), (TOP,)))


class StructureClass(Class):
    """A structure type; `slots` holds those of its parent first, as its objects do."""

    __slots__ = ("index", "slots")
    meta = "STRUCTURE-CLASS"

    def __init__(self, name: Symbol, parent: Class, slots: list[Slot]) -> None:
        super().__init__(name, (parent,), slots)
        self.slots = slots
        self.index = {slot.name.name: at for at, slot in enumerate(slots)}


class Structure:
    """An object of a structure type."""

    __slots__ = ("type", "values")

    def __init__(self, kind: StructureClass, values: list[Value]) -> None:
        self.type = kind
        self.values = values


def structure_class(name: Any) -> StructureClass | None:
    """The structure type of a name, if there is one."""
    found = CLASSES.get(name) if name.__class__ is Symbol else None
    return found if isinstance(found, StructureClass) else None


def _parts(structure: Structure, settings: Settings) -> Parts | str:
    own = printed_by_method(structure, settings)
    if own is not None:
        return own
    items: list[Value] = [structure.type.name]
    for slot, value in zip(structure.type.slots, structure.values):
        items += [keyword(slot.name.name), value]
    return Parts("#S(", items, ")")


@builtin("copy-structure", "(structure)")
def copy_structure(structure: Any) -> Value:
    """A new structure with the same slots."""
    if not isinstance(structure, Structure):
        raise wrong_type("copy-structure", structure, "a structure")
    return Structure(structure.type, list(structure.values))


COMPOUNDS[Structure] = _parts
CLASS_OF[Structure] = lambda structure: structure.type
STRUCTURES[Structure] = lambda structure: [structure.type, *structure.values]


@builtin("%make-structure", "(type &rest values)")
def make_structure(kind: Any, *values: Any) -> Value:
    """An object of a structure type, its slots in order."""
    return Structure(CLASSES[kind], list(values))  # type: ignore[arg-type]


@builtin("%slot-value", "(value type slot)")
def checked_slot_value(value: Any, kind: Any, slot: Any) -> Value:
    """The value, if it is of the type that the slot has."""
    if isinstance(value, Staged) or typep(value, kind):
        return value
    raise wrong_type(f"the slot {slot!r}", value, brief(kind))
