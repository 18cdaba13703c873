"""Structures: types with slots and single inheritance; how they print, compare and copy."""

from __future__ import annotations

from typing import Any

from .definitions import builtin
from .equality import STRUCTURES
from .faults import wrong_type
from .printer import COMPOUNDS, Parts, Settings, brief
from .type_specifiers import CLASSES, NAMERS, Class, typep
from .values import Staged, Symbol, Value, keyword


class StructureSlot:
    """A slot. `initform`: a function of no arguments."""

    __slots__ = ("initform", "kind", "name", "read_only")

    def __init__(self, name: Symbol, initform: Any, kind: Value, read_only: bool) -> None:
        self.name = name
        self.initform = initform
        self.kind = kind
        self.read_only = read_only


class StructureType:
    """A structure type; `slots` holds those of its parent first."""

    __slots__ = ("ancestors", "name", "parent", "printer", "slots")

    def __init__(
        self, name: Symbol, parent: StructureType | None, slots: list[StructureSlot]
    ) -> None:
        self.name = name
        self.parent = parent
        self.slots = slots
        self.printer: Any = parent.printer if parent is not None else None
        self.ancestors: set[StructureType] = {self} | (parent.ancestors if parent else set())


class Structure:
    """An object of a structure type."""

    __slots__ = ("type", "values")

    def __init__(self, kind: StructureType, values: list[Value]) -> None:
        self.type = kind
        self.values = values


STRUCTURE_TYPES: dict[Symbol, StructureType] = {}


def define_type(kind: StructureType) -> None:
    """Make a structure type known to typep."""
    STRUCTURE_TYPES[kind.name] = kind
    CLASSES[kind.name] = Class(
        lambda value: isinstance(value, Structure) and kind in value.type.ancestors,
        (kind.parent.name,) if kind.parent is not None else (),
    )


def _parts(structure: Structure, settings: Settings) -> Parts | str:
    if structure.type.printer is not None:
        return str(structure.type.printer(structure))
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
NAMERS[Structure] = lambda structure: structure.type.name
STRUCTURES[Structure] = lambda structure: [structure.type, *structure.values]


@builtin("%make-structure", "(type &rest values)")
def make_structure(kind: Any, *values: Any) -> Value:
    """An object of a structure type, its slots in order."""
    return Structure(STRUCTURE_TYPES[kind], list(values))


@builtin("%slot-value", "(value type slot)")
def checked_slot_value(value: Any, kind: Any, slot: Any) -> Value:
    """The value, if it is of the type that the slot has."""
    if isinstance(value, Staged) or typep(value, kind):
        return value
    raise wrong_type(f"the slot {slot!r}", value, brief(kind))
