"""Making, initializing and changing objects: generic functions that a file may add methods to."""

from __future__ import annotations

from typing import Any

from ...diagnostics import nearest, problem
from ..builtins.listing import proper
from ..classes import Class, Instance
from ..conditions import ConditionClass
from ..definitions import core_symbol
from ..faults import wrong_type
from ..machine import current
from ..slot_values import initialize_slots, raw_slot
from ..structures import StructureClass
from ..values import NIL, UNBOUND, Symbol, T, Value, make_list
from .built_in_classes import StandardClass, class_of
from .class_forms import class_named, finished
from .generic_functions import GenericFunction
from .standard_generics import standard_generic

ALLOW = "ALLOW-OTHER-KEYS"


def _call(name: str, *arguments: Value) -> Value:
    return current().cell(core_symbol(name)).call(*arguments)


def _generic(name: str) -> GenericFunction:
    found = current().cell(core_symbol(name)).function
    assert isinstance(found, GenericFunction)
    return found


@standard_generic("make-instance", "(class &rest initargs)", "symbol")
def make_instance_of_name(name: Any, *initargs: Value) -> Value:
    """A new object of a class, its slots filled from initargs and initforms."""
    return _call("MAKE-INSTANCE", class_named(name), *initargs)


@standard_generic("make-instance", "(class &rest initargs)", "class")
def make_instance(cls: Any, *initargs: Value) -> Value:
    """A new object of a class."""
    if not isinstance(cls, StandardClass):
        raise _not_made(cls)
    finished(cls)
    for key, default in cls.defaults.items():
        if key not in initargs[::2]:
            initargs += (key, default())
    check_initargs(cls, None, ("ALLOCATE-INSTANCE", "INITIALIZE-INSTANCE"), initargs)
    made = _call("ALLOCATE-INSTANCE", cls, *initargs)
    _call("INITIALIZE-INSTANCE", made, *initargs)
    return made


def _not_made(cls: Class) -> Exception:
    if isinstance(cls, StructureClass):
        hint = f"call its constructor, make-{cls.shown} unless its defstruct says otherwise"
    elif isinstance(cls, ConditionClass):
        hint = f"(make-condition '{cls.shown} ...)"
    else:
        hint = "make-instance is for classes of defclass"
    message = f"make-instance makes no objects of {cls.shown}, a {cls.meta.lower()}"
    return problem("E-TYPE", message, hint=hint, wanted="standard-class")


@standard_generic("allocate-instance", "(class &rest initargs)", "class")
def allocate_instance(cls: Any, *initargs: Value) -> Value:
    """A new object of a class whose slots have no values."""
    if not isinstance(cls, StandardClass):
        raise _not_made(cls)
    return Instance(finished(cls), {})


@standard_generic("initialize-instance", "(object &rest initargs)", "standard-object")
def initialize_instance(value: Any, *initargs: Value) -> Value:
    """Fill the slots of a new object; methods of :after do the rest."""
    _call("SHARED-INITIALIZE", value, T, *initargs)
    return value


@standard_generic("reinitialize-instance", "(object &rest initargs)", "standard-object")
def reinitialize_instance(value: Any, *initargs: Value) -> Value:
    """Set the slots of an object that initargs name."""
    check_initargs(class_of(value), value, ("REINITIALIZE-INSTANCE",), initargs)
    _call("SHARED-INITIALIZE", value, NIL, *initargs)
    return value


@standard_generic("shared-initialize", "(object slot-names &rest initargs)", "standard-object")
def shared_initialize(value: Any, names: Value, *initargs: Value) -> Value:
    """Fill slots from initargs; of those without a value, the ones named from their initforms."""
    if len(initargs) % 2:
        raise problem("E-CALL-ARGUMENTS", "shared-initialize: a keyword has no value after it")
    if names is not T:
        proper("shared-initialize", names)
    if isinstance(value, Instance):
        raw_slot(value, NIL)  # an object of an old definition is brought up to date
        initialize_slots(value, names, initargs)
    return value


@standard_generic("change-class", "(object new-class &rest initargs)", "t", "symbol")
def change_class_to_name(value: Any, name: Any, *initargs: Value) -> Value:
    """Make an object one of another class; slots of the same names keep their values."""
    return _call("CHANGE-CLASS", value, class_named(name), *initargs)


@standard_generic(
    "change-class", "(object new-class &rest initargs)", "standard-object", "standard-class"
)
def change_class(value: Any, cls: Any, *initargs: Value) -> Value:
    """Make an object one of another class."""
    update = "UPDATE-INSTANCE-FOR-DIFFERENT-CLASS"
    _object("change-class", value)
    finished(cls)
    raw_slot(value, NIL)
    before = Instance(value.type, dict(value.slots))
    check_initargs(cls, (before, value), (update,), initargs)
    kept = {slot: raw_slot(before, slot) for slot in before.layout.slots}
    value.type, value.layout = cls, cls.layout
    value.slots = {
        name: kept[name]
        for name, slot in cls.layout.slots.items()
        if slot.cell is None and kept.get(name, UNBOUND) is not UNBOUND
    }
    _call(update, before, value, *initargs)
    return value


def _object(name: str, value: Any) -> None:
    """Classes, methods and generic functions are no objects of a class of the file."""
    if not isinstance(value, Instance) or not isinstance(value.type, StandardClass):
        raise wrong_type(name, value, "an object of a class of defclass")


@standard_generic(
    "update-instance-for-different-class", "(before object &rest initargs)",
    "standard-object", "standard-object",
)  # fmt: skip
def update_for_different_class(before: Any, value: Any, *initargs: Value) -> Value:
    """Fill the slots that an object got with its new class."""
    for given in (before, value):
        _object("update-instance-for-different-class", given)
    had = before.layout.slots
    added = [n for n, slot in value.layout.slots.items() if n not in had and slot.cell is None]
    _call("SHARED-INITIALIZE", value, make_list(added), *initargs)
    return value


@standard_generic(
    "update-instance-for-redefined-class",
    "(object added-slots discarded-slots property-list &rest initargs)",
    "standard-object",
)
def update_for_redefined_class(
    value: Any, added: Value, discarded: Value, lost: Value, *initargs: Value
) -> Value:
    """Fill the slots that an object got with the new definition of its class."""
    _call("SHARED-INITIALIZE", value, added, *initargs)
    return value


@standard_generic("make-instances-obsolete", "(class)", "symbol")
def make_obsolete_by_name(name: Any) -> Value:
    """Let the objects of a class be brought up to date when they are next used."""
    make_obsolete(class_named(name))
    return name


@standard_generic("make-instances-obsolete", "(class)", "standard-class")
def make_obsolete(cls: Any) -> Value:
    """Let the objects of a class be brought up to date when they are next used."""
    cls.finish()
    return cls


def check_initargs(
    cls: Class, value: Any, generics: tuple[str, ...], initargs: tuple[Value, ...]
) -> None:
    """E-CALL-KEYWORD for an initarg that no slot and no method takes (CLHS 7.1.2)."""
    if len(initargs) % 2:
        raise problem("E-CALL-ARGUMENTS", f"{cls.shown}: an initarg has no value after it")
    given = list(initargs[::2])
    known = {key for slot in cls.layout.slots.values() for key in slot.initargs}
    if all(key in known for key in given) or _allowed(initargs):
        return
    keys = _method_keys(cls, value, generics)
    if keys is None:
        return
    for key in given:
        if key not in known and key not in keys and getattr(key, "name", "") != ALLOW:
            raise _unknown_initarg(cls, key, known | keys)


def _allowed(initargs: tuple[Value, ...]) -> bool:
    for key, value in zip(initargs[::2], initargs[1::2]):
        if key.__class__ is Symbol and key.keyword and key.name == ALLOW:
            return value is not NIL
    return False


def _method_keys(cls: Class, value: Any, generics: tuple[str, ...]) -> set[Value] | None:
    """Keywords that methods take which initialize an object of the class; None: all."""
    known: set[Value] = set()
    for name in (*generics, "SHARED-INITIALIZE"):
        generic = _generic(name)
        for method in generic.methods:
            if method.native or not _may_apply(cls, name, method, value):
                continue
            if method.shape.other_keys:
                return None
            known.update(method.shape.keys or ())
    return known


def _may_apply(cls: Class, name: str, method: Any, value: Any) -> bool:
    """Whether a method is for objects of a class (allocate-instance: for the class itself)."""
    if name == "ALLOCATE-INSTANCE":
        subjects = [class_of(cls)]
    elif name == "UPDATE-INSTANCE-FOR-DIFFERENT-CLASS":
        subjects = [value[0].type, cls]
    else:
        subjects = [cls]
    return all(
        s in subject.ancestors for s, subject in zip(method.specializers, subjects)
        if isinstance(s, Class)
    )  # fmt: skip


def _unknown_initarg(cls: Class, key: Value, known: set[Value]) -> Exception:
    from ..printer import brief

    shown, names = brief(key), sorted(repr(k) for k in known)
    near = nearest(shown, names)
    hint = f"did you mean {near}?" if near else f"{cls.shown} takes " + " ".join(names or ["none"])
    return problem(
        "E-CALL-KEYWORD", f"{cls.shown} takes no initarg {shown}", hint=hint, keyword=shown,
        written=shown, nearest=near,
    )  # fmt: skip
