"""with-slots, with-accessors: slots of an object as if they were variables."""

from __future__ import annotations

from typing import Any

from ..declarations import items_of
from ..definitions import native_macro
from ..made_forms import form as make
from ..made_forms import form_with, fresh, listed, quoted
from ..mistakes import shape
from ..printer import brief
from ..values import NIL, Cons, Symbol, Value, make_list


def _entries(head: str, form: Cons, wants: str) -> tuple[list[Value], Value, Value]:
    parts = items_of(form.cdr, form)
    if len(parts) < 2 or (parts[0].__class__ is not Cons and parts[0] is not NIL):
        raise shape(head, wants)
    return items_of(parts[0], form), parts[1], form.cdr.cdr.cdr


def _around(rows: list[Value], instance: Symbol, value: Value, body: Value) -> Value:
    declared = make("DECLARE", make("IGNORABLE", instance))
    inner = form_with("SYMBOL-MACROLET", make_list(rows), body)
    return make("LET", listed(listed(instance, value)), declared, inner)


def _pair(head: str, entry: Value, wants: str) -> tuple[Symbol, Symbol]:
    """`(variable name)`."""
    items = items_of(entry, entry) if entry.__class__ is Cons else []
    if len(items) != 2 or any(item.__class__ is not Symbol for item in items):
        raise shape(head, wants, f"{brief(entry)} is no entry")
    return items[0], items[1]


@native_macro("with-slots")
def _with_slots(form: Cons, environment: Any) -> Value:
    wants = "(with-slots (slot... or (variable slot)...) object form...)"
    entries, value, body = _entries("with-slots", form, wants)
    instance = fresh("OBJECT")
    rows = []
    for entry in entries:
        alone = entry.__class__ is Symbol and entry is not NIL
        name, slot = (entry, entry) if alone else _pair("with-slots", entry, wants)
        rows.append(listed(name, make("SLOT-VALUE", instance, quoted(slot))))
    return _around(rows, instance, value, body)


@native_macro("with-accessors")
def _with_accessors(form: Cons, environment: Any) -> Value:
    wants = "(with-accessors ((variable accessor)...) object form...)"
    entries, value, body = _entries("with-accessors", form, wants)
    instance = fresh("OBJECT")
    pairs = [_pair("with-accessors", entry, wants) for entry in entries]
    rows = [listed(name, listed(accessor, instance)) for name, accessor in pairs]
    return _around(rows, instance, value, body)
