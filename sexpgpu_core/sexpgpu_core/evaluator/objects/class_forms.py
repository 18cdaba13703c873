"""defclass: a class with superclasses, slots, accessors and default initargs."""

from __future__ import annotations

from typing import Any

from ...diagnostics import Problem, nearest, problem
from ..analyzer import Analyzer
from ..classes import CLASSES, EPOCH, Class, Slot, define_class
from ..declarations import items_of
from ..definition_forms import Define, Each
from ..definitions import CORE_SYMBOLS
from ..machine import current
from ..mistakes import shape
from ..nodes import Node
from ..printer import brief
from ..raising import Poisoned
from ..scope import Scope, Tail
from ..slot_forms import (
    Parts,
    SlotRow,
    default_initargs,
    define_accessors,
    slot_rows,
    thunk,
    unknown_option,
)
from ..special_forms import special_form
from ..values import NIL, UNBOUND, Cons, OfSymbols, String, Symbol, Value
from .built_in_classes import STANDARD_OBJECT, StandardClass

WANTS = "(defclass name (superclass...) ((slot :initarg :key :initform form ...) ...) option...)"
OPTIONS = (":default-initargs", ":documentation", ":metaclass")

FORWARD: OfSymbols[StandardClass] = OfSymbols()
"""Classes that were named as superclasses before their definition."""


@special_form("defclass", WANTS, 3)
def _defclass(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name, supers, slots = form.cdr.car, form.cdr.cdr.car, form.cdr.cdr.cdr.car
    if name.__class__ is not Symbol or name.constant:
        raise shape("defclass", WANTS, f"{brief(name)} is no name")
    an.check_definable(name, "class")
    parents = _parents(supers, form)
    parts = Parts(an, scope)
    rows = slot_rows("defclass", WANTS, slots, form, parts)
    defaults, doc = _options(form, parts)

    def define(functions: list[Any]) -> Value:
        cls = _class_to_define(name)
        cls.doc = doc
        cls.own_defaults = {key: thunk(functions[at]) for key, at in defaults.items()}
        supers = tuple(_superclass(parent, cls) for parent in parents) or (STANDARD_OBJECT,)
        cls.define(supers, _kept_cells(cls, [row.slot(functions) for row in rows]))
        EPOCH[0] = object()
        FORWARD.pop(name)
        define_class(cls)
        _start_shared(cls)
        _replace_accessors(cls, rows)
        return cls

    return Define(Each(parts.nodes), define, form)


def _parents(supers: Value, form: Cons) -> list[Symbol]:
    parents = items_of(supers, form) if supers.__class__ is Cons or supers is NIL else [supers, NIL]
    for parent in parents:
        if parent.__class__ is not Symbol or parent is NIL:
            raise shape("defclass", WANTS, f"{brief(parent)} is no name of a superclass")
        if parents.count(parent) > 1:
            raise problem("E-FORM-SHAPE", f"defclass: the superclass {parent!r} stands twice")
    return parents


def _options(form: Cons, parts: Parts) -> tuple[dict[Symbol, int], str]:
    defaults: dict[Symbol, int] = {}
    doc = ""
    seen: set[str] = set()
    for option in items_of(form.cdr.cdr.cdr.cdr, form):
        key, *values = items_of(option, form) if option.__class__ is Cons else [option]
        word = brief(key)
        if word not in OPTIONS:
            raise unknown_option("defclass", f"{brief(option)} is no option", word, OPTIONS)
        if word in seen:
            raise problem("E-FORM-SHAPE", f"defclass: the option {word} stands twice")
        seen.add(word)
        if word == ":default-initargs":
            defaults = default_initargs("defclass", values, parts)
        elif word == ":metaclass" and brief(values[0] if values else NIL) != "standard-class":
            raise problem("E-FORM-SHAPE", "defclass: the one :metaclass is standard-class")
        elif word == ":documentation" and values and isinstance(values[0], String):
            doc = values[0].text()
    return defaults, doc


def _class_to_define(name: Symbol) -> StandardClass:
    """The class of that name, so that its objects keep it; a new one if it has none."""
    found = CLASSES.get(name) or FORWARD.get(name)
    return found if isinstance(found, StandardClass) else StandardClass(name)


def _superclass(name: Symbol, below: Class) -> Class:
    found = CLASSES.get(name)
    if name is below.name:
        raise _own_superclass(below)
    if found is None:
        if name not in FORWARD:
            FORWARD[name] = StandardClass(name)
        return FORWARD[name]
    if not isinstance(found, StandardClass) and found is not STANDARD_OBJECT:
        raise problem(
            "E-CLASS-ORDER",
            f"{name!r} is a {found.meta.lower()}, which {below.shown} cannot be a subclass of",
            hint="superclasses are classes of defclass",
            name=repr(name),
        )
    if below in found.ancestors:
        raise _own_superclass(below)
    return found


def _own_superclass(cls: Class) -> Problem:
    message = f"{cls.shown} would be its own superclass"
    return problem("E-CLASS-ORDER", message, hint="leave that superclass out", name=cls.shown)


def _kept_cells(cls: StandardClass, slots: list[Slot]) -> list[Slot]:
    """Slots that are shared before and after a new definition keep their value."""
    cells = {slot.name: slot.cell for slot in cls.own if slot.cell is not None}
    for slot in slots:
        if slot.cell is not None:
            slot.cell = cells.get(slot.name, slot.cell)
    return slots


def _start_shared(cls: StandardClass) -> None:
    for slot in cls.own:
        if slot.cell is not None and slot.cell[0] is UNBOUND and slot.initform is not None:
            slot.cell[0] = slot.initform()


def _replace_accessors(cls: StandardClass, rows: list[SlotRow]) -> None:
    for generic, method in cls.accessors:
        generic.remove(method)
    cls.accessors = define_accessors(cls, rows)


def class_named(name: Value) -> Class:
    """The class of a name, or a class itself; E-NAME-CLASS with the nearest one."""
    if isinstance(name, Class):
        return name
    found = CLASSES.get(name) if name.__class__ is Symbol else None
    if found is None:
        raise no_class(name)
    return found


def no_class(name: Value) -> Exception:
    """E-NAME-CLASS, unless its definition has failed: that has been reported."""
    if name in current().poisoned_variables:
        return Poisoned(name.name)
    shown = brief(name)
    there = (*CORE_SYMBOLS.values(), *current().module.symbols.values())
    known = [repr(s) for s in there if s in CLASSES and s.home in ("", current().module.home)]
    near = nearest(shown, known) if len(shown) > 2 else None
    return problem(
        "E-NAME-CLASS",
        f"no class is named {shown}",
        hint=f"did you mean {near}?" if near else "define it: (defclass name () (slot...))",
        name=shown,
        written=shown,
        nearest=near,
    )


def finished(cls: Class) -> Class:
    """A class all of whose superclasses are defined."""
    if not cls.precedence:
        missing = [p for p in cls.supers if not CLASSES.get(p.name) or not p.precedence]
        raise no_class(missing[0].name if missing else cls.name)
    return cls
