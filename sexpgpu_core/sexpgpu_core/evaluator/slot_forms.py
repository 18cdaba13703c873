"""Slots as defclass and define-condition write them: rows of data, initforms as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..diagnostics import nearest, problem
from .analyzer import Analyzer
from .classes import Slot
from .declarations import items_of
from .made_forms import form as make
from .mistakes import shape
from .nodes import Node
from .printer import brief
from .scope import Scope
from .values import NIL, UNBOUND, Cons, Function, Symbol, T, Value, first_value

OPTIONS = (":initarg", ":initform", ":reader", ":writer", ":accessor", ":allocation", ":type",
           ":documentation")  # fmt: skip
MANY = (":initarg", ":reader", ":writer", ":accessor")


class SlotRow:
    """A slot as written. `initform`: where its function stands among the nodes of the form."""

    def __init__(self, name: Symbol) -> None:
        self.name = name
        self.initargs: list[Symbol] = []
        self.initform: int | None = None
        self.readers: list[Symbol] = []
        self.writers: list[Value] = []
        self.kind: Value = T
        self.shared = False

    def slot(self, functions: list[Any]) -> Slot:
        """The slot, with the functions that the form's nodes gave."""
        initform = None if self.initform is None else thunk(functions[self.initform])
        cell = [UNBOUND] if self.shared else None
        return Slot(self.name, tuple(self.initargs), initform, self.kind, cell)


def thunk(function: Function) -> Callable[[], Value]:
    """A function of no arguments that gives one value."""
    return lambda: first_value(function.call())


class Parts:
    """The forms that a definition evaluates later, as functions of no arguments."""

    def __init__(self, an: Analyzer, scope: Scope) -> None:
        self.an = an
        self.scope = scope
        self.nodes: list[Node] = []

    def later(self, form: Value) -> int:
        """Where the function of a form stands among what the nodes give."""
        return self.node(make("LAMBDA", NIL, form))

    def node(self, form: Value) -> int:
        """Where the value of a form stands among what the nodes give."""
        self.nodes.append(self.an.node(form, self.scope))
        return len(self.nodes) - 1


def slot_rows(head: str, wants: str, form: Value, whole: Cons, parts: Parts) -> list[SlotRow]:
    """The slots of a definition; E-FORM-SHAPE for two of one name."""
    if form.__class__ is not Cons and form is not NIL:
        raise shape(head, wants, f"{brief(form)} is no list of slots")
    rows = [_row(head, wants, item, parts) for item in items_of(form, whole)]
    names = [row.name.name for row in rows]
    for name in names:
        if names.count(name) > 1:
            raise problem("E-FORM-SHAPE", f"{head}: the slot {name.lower()} stands twice")
    return rows


def _row(head: str, wants: str, item: Value, parts: Parts) -> SlotRow:
    words = items_of(item, item) if item.__class__ is Cons else [item]
    name = words[0] if words else NIL
    if name.__class__ is not Symbol or name.constant or len(words) % 2 == 0:
        raise shape(head, wants, f"{brief(item)} is no slot")
    row = SlotRow(name)
    seen: set[str] = set()
    for key, value in zip(words[1::2], words[2::2]):
        option = brief(key)
        if option not in OPTIONS:
            raise unknown_option(head, f"a slot has no option {option}", option, OPTIONS)
        if option in seen and option not in MANY:
            raise problem("E-FORM-SHAPE", f"{head}: {option} stands twice in one slot")
        seen.add(option)
        _OPTION[option](row, value, parts)
    return row


def unknown_option(head: str, why: str, option: str, known: tuple[str, ...]) -> Exception:
    """E-FORM-SHAPE with the nearest option."""
    near = nearest(option, known)
    hint = f"did you mean {near}?" if near else "options are " + " ".join(known)
    return problem("E-FORM-SHAPE", f"{head}: {why}", hint=hint, written=option, nearest=near)


def _accessor(row: SlotRow, value: Value, parts: Parts) -> None:
    row.readers.append(_function_name(value))
    row.writers.append(make("SETF", value))


def _function_name(value: Value) -> Symbol:
    if value.__class__ is not Symbol or value is NIL:
        raise problem("E-FORM-SHAPE", f"{brief(value)} is no name of a reader")
    found: Symbol = value
    return found


def _allocation(row: SlotRow, value: Value, parts: Parts) -> None:
    if brief(value) not in (":class", ":instance"):
        raise problem("E-FORM-SHAPE", f":allocation is :class or :instance, not {brief(value)}")
    row.shared = brief(value) == ":class"


def _initarg(row: SlotRow, value: Value, parts: Parts) -> None:
    if value.__class__ is not Symbol:
        raise problem("E-FORM-SHAPE", f":initarg is a symbol, not {brief(value)}")
    row.initargs.append(value)


def _initform(row: SlotRow, value: Value, parts: Parts) -> None:
    row.initform = parts.later(value)


def _kind(row: SlotRow, value: Value, parts: Parts) -> None:
    row.kind = value


_OPTION: dict[str, Callable[[SlotRow, Value, Parts], None]] = {
    ":initarg": _initarg,
    ":initform": _initform,
    ":reader": lambda row, value, parts: row.readers.append(_function_name(value)),
    ":writer": lambda row, value, parts: row.writers.append(value),
    ":accessor": _accessor,
    ":allocation": _allocation,
    ":type": _kind,
    ":documentation": lambda row, value, parts: None,
}


def default_initargs(head: str, items: list[Value], parts: Parts) -> dict[Symbol, int]:
    """`:key form ...` of (:default-initargs ...): where the functions of the forms stand."""
    if len(items) % 2:
        raise problem("E-FORM-SHAPE", f"{head}: :default-initargs has a key without a form")
    found: dict[Symbol, int] = {}
    for key, form in zip(items[::2], items[1::2]):
        if key.__class__ is not Symbol or key in found:
            raise problem("E-FORM-SHAPE", f"{head}: {brief(key)} is no initarg, or stands twice")
        found[key] = parts.later(form)
    return found


def define_accessors(cls: Any, rows: list[SlotRow]) -> list[Any]:
    """Methods for the readers and writers of a class's slots, with their generic functions."""
    if not any(row.readers or row.writers for row in rows):
        return []
    from .objects.accessors import define_reader, define_writer

    made: list[Any] = []
    for row in rows:
        made += [define_reader(name, cls, row.name) for name in row.readers]
        made += [define_writer(name, cls, row.name) for name in row.writers]
    return made
