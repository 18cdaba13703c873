"""Values in the slots of objects: taken, stored if they are of the slot's type, started."""

from __future__ import annotations

from typing import Any

from ..diagnostics import Problem
from .classes import Instance, Slot
from .printer import brief
from .structures import Structure
from .type_specifiers import is_all, is_type, parse_type
from .typed_nodes import wrong_type
from .values import UNBOUND, Staged, Symbol, T, Value, list_items


def raw_slot(value: Any, name: Symbol) -> Value:
    """The value of a slot; UNBOUND if it has none, None if there is no such slot."""
    if isinstance(value, Instance):
        if value.layout is not value.type.layout:
            from .objects.slots import bring_up_to_date

            bring_up_to_date(value)
        found = value.slots.get(name)
        if found is not None:
            return found
        slot = value.layout.slots.get(name)
        if slot is None:
            return None
        return UNBOUND if slot.cell is None else slot.cell[0]
    if isinstance(value, Structure):
        at = value.type.index.get(name.name)
        return None if at is None else value.values[at]
    return None


def put(value: Instance, slot: Slot, new: Value) -> None:
    """Store into a slot that is there, if the value is of its type."""
    if slot.kind is not T and new is not UNBOUND:
        _check_type(slot, new)
    if slot.cell is not None:
        slot.cell[0] = new
    else:
        value.slots[slot.name] = new


def _check_type(slot: Slot, new: Value) -> None:
    kind = parse_type(slot.kind)
    if is_all(kind) or isinstance(new, Staged) or is_type(new, kind):
        return
    error: Problem = wrong_type(new, slot.kind)
    told = f"the slot {slot.name!r} got {brief(new)}, wants {brief(slot.kind)}"
    error.diagnostic = error.diagnostic._replace(message=told)
    raise error


def initialize_slots(value: Instance, names: Value, initargs: tuple[Value, ...]) -> None:
    """Fill slots from initargs, the first of each; those without a value that `names` holds (t:
    all) from their initforms.
    """
    given: dict[Value, Value] = {}
    for key, new in zip(initargs[::2], initargs[1::2]):
        given.setdefault(key, new)
    wanted = None if names is T else list_items(names)
    for slot in value.layout.slots.values():
        key = next((k for k in given if k in slot.initargs), None) if given else None
        if key is not None:
            put(value, slot, given[key])
            continue
        asked = slot.initform is not None and (wanted is None or slot.name in wanted)
        if asked and slot.initform and raw_slot(value, slot.name) is UNBOUND:
            put(value, slot, slot.initform())
