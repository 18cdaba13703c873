"""find-class, class-of, class-name: classes as values."""

from __future__ import annotations

from typing import Any

from ..classes import CLASSES, Class
from ..definitions import builtin
from ..faults import wrong_type
from ..machine import current
from ..values import NIL, Symbol, T, Value
from .built_in_classes import class_of
from .class_forms import no_class


@builtin("find-class", "(name &optional (errorp t) environment)")
def find_class(name: Any, errorp: Any = T, environment: Any = NIL) -> Value:
    """The class of a name; if there is none an error, or nil with errorp nil."""
    if name.__class__ is not Symbol:
        raise wrong_type("find-class", name, "a symbol")
    found = CLASSES.get(name)
    if found is not None:
        return found
    if errorp is not NIL:
        raise no_class(name)
    return NIL


@builtin("(setf find-class)", "(new name &optional errorp environment)")
def set_find_class(new: Any, name: Any, errorp: Any = NIL, environment: Any = NIL) -> Value:
    """Make a class the one of a name; nil takes the name away."""
    if name.__class__ is not Symbol:
        raise wrong_type("setf find-class", name, "a symbol")
    if new is not NIL and not isinstance(new, Class):
        raise wrong_type("setf find-class", new, "a class or nil")
    current().analyzer.check_definable(name, "class")
    if new is NIL:
        CLASSES.pop(name)
    elif isinstance(new, Class):
        CLASSES[name] = new
    return new


@builtin("class-of", "(object)")
def class_of_(value: Any) -> Value:
    """The class of an object."""
    return class_of(value)


@builtin("class-name", "(class)")
def class_name(cls: Any) -> Value:
    """The name of a class."""
    return _class("class-name", cls).name


@builtin("(setf class-name)", "(new class)")
def set_class_name(new: Any, cls: Any) -> Value:
    """Set the name of a class."""
    if new.__class__ is not Symbol:
        raise wrong_type("setf class-name", new, "a symbol")
    _class("setf class-name", cls).name = new
    return new


def _class(name: str, cls: Any) -> Class:
    if not isinstance(cls, Class):
        raise wrong_type(name, cls, "a class")
    return cls
