"""Readers and writers of slots, which are methods; and generic functions made where needed."""

from __future__ import annotations

from typing import Any

from ...diagnostics import problem
from ..classes import TOP, Class
from ..expansion import SPECIAL_FORMS
from ..function_forms import SETF, block_name
from ..machine import Cell, current
from ..made_forms import listed
from ..printer import brief
from ..values import Symbol, Value
from .generic_functions import GenericFunction
from .methods import Method, Shape, native_method
from .slots import read_slot, write_slot

READER = Shape(1, 0, False, None, False)
WRITER = Shape(2, 0, False, None, False)


def cell_of(title: Value) -> Cell:
    """The cell of a function name."""
    m = current()
    return m.cell(title) if title.__class__ is Symbol else m.setf_cell(title.cdr.car, title)


def ensure_generic(title: Value, shape: Shape, lambda_list: str, span: Any = None) -> Any:
    """The generic function of a name, made if there is none; E-REDEFINE if it is anything else."""
    cell = cell_of(title)
    if isinstance(cell.function, GenericFunction):
        return cell.function
    m = current()
    name = block_name(title)
    if title is name and (m.macro(name) is not None or is_special(name)):
        raise _taken(title, "a macro or special form")
    if cell.function is not None:
        raise _taken(title, "an ordinary function")
    made = GenericFunction(title, shape, lambda_list)
    made.span = span
    cell.define(made)
    cell.span = span
    return made


def is_special(name: Symbol) -> bool:
    """Whether a symbol names a special form."""
    return name.home == "" and name.name in SPECIAL_FORMS


def _taken(title: Value, what: str) -> Exception:
    return problem(
        "E-REDEFINE",
        f"{brief(title)} is {what} already, so it cannot be a generic function",
        hint="give one of them another name",
        name=brief(title),
    )


def define_reader(title: Symbol, cls: Class, slot: Symbol) -> tuple[GenericFunction, Method]:
    """A method that reads a slot of objects of a class."""
    generic = ensure_generic(title, READER, "(object)")
    method = native_method((cls,), READER, lambda value: read_slot(value, slot))
    return _added(generic, method, "(object)")


def define_writer(title: Value, cls: Class, slot: Symbol) -> tuple[GenericFunction, Method]:
    """A method that sets a slot: the new value comes first."""
    generic = ensure_generic(title, WRITER, "(new object)")
    method = native_method((TOP, cls), WRITER, lambda new, value: write_slot(value, slot, new))
    return _added(generic, method, "(new object)")


def _added(
    generic: GenericFunction, method: Method, text: str
) -> tuple[GenericFunction, Method]:  # fmt: skip
    method.lambda_list = text
    generic.add(method)
    return generic, method


def setf_name(name: Symbol) -> Value:
    """`(setf name)`."""
    return listed(SETF, name)
