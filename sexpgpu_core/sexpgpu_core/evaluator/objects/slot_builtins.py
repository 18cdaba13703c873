"""slot-value and its like, and the generic functions that are asked when a slot has no value."""

from __future__ import annotations

from typing import Any

from ..definitions import builtin
from ..faults import wrong_type
from ..slot_values import raw_slot
from ..values import NIL, Symbol, T, Value
from .slots import is_bound, no_slot, no_value, read_slot, unbind_slot, write_slot
from .standard_generics import standard_generic


def _name(function: str, name: Any) -> Symbol:
    if name.__class__ is not Symbol:
        raise wrong_type(function, name, "a symbol")
    return name  # type: ignore[no-any-return]


@builtin("slot-value", "(object slot-name)")
def slot_value(value: Any, name: Any) -> Value:
    """The value of a slot."""
    return read_slot(value, _name("slot-value", name))


@builtin("(setf slot-value)", "(new object slot-name)")
def set_slot_value(new: Any, value: Any, name: Any) -> Value:
    """Set the value of a slot."""
    return write_slot(value, _name("setf slot-value", name), new)


@builtin("slot-boundp", "(object slot-name)")
def slot_boundp(value: Any, name: Any) -> Value:
    """Whether a slot has a value."""
    return T if is_bound(value, _name("slot-boundp", name)) else NIL


@builtin("slot-exists-p", "(object slot-name)")
def slot_exists_p(value: Any, name: Any) -> Value:
    """Whether an object has a slot of a name."""
    return NIL if raw_slot(value, _name("slot-exists-p", name)) is None else T


@builtin("slot-makunbound", "(object slot-name)")
def slot_makunbound(value: Any, name: Any) -> Value:
    """Take the value of a slot away."""
    unbind_slot(value, _name("slot-makunbound", name))
    return value


@standard_generic("slot-missing", "(class object slot-name operation &optional new-value)")
def slot_missing(cls: Any, value: Any, name: Any, operation: Any, *new: Value) -> Value:
    """What is done about a slot that an object does not have: E-NAME-SLOT."""
    raise no_slot(value, name)


@standard_generic("slot-unbound", "(class object slot-name)")
def slot_unbound(cls: Any, value: Any, name: Any) -> Value:
    """What is done about a slot that has no value: E-SLOT-UNBOUND."""
    raise no_value(value, name)
