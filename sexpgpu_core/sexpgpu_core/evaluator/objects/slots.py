"""The slots of one object: reading, writing, and what happens when there is no value or no slot.

An object of a class that was defined anew is brought up to date when its slots are next touched.
"""

from __future__ import annotations

from typing import Any

from ...diagnostics import Problem, nearest, problem
from ..classes import Instance
from ..definitions import core_symbol
from ..machine import current
from ..printer import brief
from ..slot_values import put, raw_slot
from ..structures import Structure
from ..values import NIL, UNBOUND, Symbol, Value, first_value, make_list
from .built_in_classes import class_of


def read_slot(value: Any, name: Symbol) -> Value:
    """The value of a slot, else what `slot-unbound` or `slot-missing` gives."""
    found = raw_slot(value, name)
    if found is UNBOUND:
        return first_value(_ask("SLOT-UNBOUND", class_of(value), value, name))
    if found is None:
        return first_value(_ask("SLOT-MISSING", class_of(value), value, name, _SLOT_VALUE))
    return found


def _ask(generic: str, *arguments: Value) -> Value:
    return current().cell(core_symbol(generic)).call(*arguments)


_SLOT_VALUE = core_symbol("SLOT-VALUE")


def write_slot(value: Any, name: Symbol, new: Value) -> Value:
    """Set a slot; what `slot-missing` does if there is none."""
    if isinstance(value, Instance):
        if value.layout is not value.type.layout:
            bring_up_to_date(value)
        slot = value.layout.slots.get(name)
        if slot is not None:
            put(value, slot, new)
            return new
    elif isinstance(value, Structure) and name.name in value.type.index:
        value.values[value.type.index[name.name]] = new
        return new
    _ask("SLOT-MISSING", class_of(value), value, name, core_symbol("SETF"), new)
    return new


def unbind_slot(value: Any, name: Symbol) -> None:
    """Take the value of a slot away."""
    if raw_slot(value, name) is None:
        _ask("SLOT-MISSING", class_of(value), value, name, core_symbol("SLOT-MAKUNBOUND"))
    elif isinstance(value, Instance):
        put(value, value.layout.slots[name], UNBOUND)
    else:
        raise problem("E-TYPE", f"slot-makunbound: a slot of {brief(value)} always has a value")


def is_bound(value: Any, name: Symbol) -> bool:
    """Whether a slot has a value."""
    found = raw_slot(value, name)
    if found is None:
        asked = _ask("SLOT-MISSING", class_of(value), value, name, core_symbol("SLOT-BOUNDP"))
        return first_value(asked) is not NIL
    return found is not UNBOUND


def slot_names(value: Any) -> list[Symbol]:
    """The slots of an object."""
    if isinstance(value, Structure):
        return [slot.name for slot in value.type.slots]
    return list(value.layout.slots) if isinstance(value, Instance) else []


def no_slot(value: Any, name: Symbol) -> Problem:
    """E-NAME-SLOT with the nearest slot."""
    names = [repr(slot) for slot in slot_names(value)]
    near = nearest(repr(name), names)
    there = "its slots are " + " ".join(names) if names else "it has no slots"
    return problem(
        "E-NAME-SLOT",
        f"{brief(value)} has no slot {name!r}",
        hint=f"did you mean {near}?" if near else there,
        name=repr(name),
        written=repr(name),
        nearest=near,
    )


def no_value(value: Any, name: Symbol) -> Problem:
    """E-SLOT-UNBOUND: an unbound-slot condition."""
    slot = value.layout.slots.get(name) if isinstance(value, Instance) else None
    key = slot.initargs[0] if slot is not None and slot.initargs else None
    error = problem(
        "E-SLOT-UNBOUND",
        f"the slot {name!r} of {brief(value)} has no value",
        hint=(f"give it {key!r} in make-instance, or" if key else "give the slot")
        + " an :initform in its class",
        name=repr(name),
    )
    error.cell = name  # type: ignore[attr-defined]
    error.instance = value  # type: ignore[attr-defined]
    return error


def bring_up_to_date(value: Instance) -> None:
    """Give an object the slots of its class's new definition."""
    before, after = value.layout.slots, value.type.layout.slots
    value.layout = value.type.layout
    kept: dict[Symbol, Value] = {}
    lost: list[Value] = []
    for name, slot in before.items():
        old = value.slots.get(name, UNBOUND if slot.cell is None else slot.cell[0])
        new = after.get(name)
        if new is not None and new.cell is None:
            kept[name] = old
        elif new is None and slot.cell is None:
            lost += [] if old is UNBOUND else [name, old]
    value.slots = {name: old for name, old in kept.items() if old is not UNBOUND}
    added = [n for n, slot in after.items() if n not in before and slot.cell is None]
    gone = [n for n, slot in before.items() if n not in after and slot.cell is None]
    lists = [make_list(names) for names in (added, gone, lost)]
    _ask("UPDATE-INSTANCE-FOR-REDEFINED-CLASS", value, *lists)
