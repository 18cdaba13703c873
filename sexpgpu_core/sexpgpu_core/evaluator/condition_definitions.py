"""define-condition: a type of conditions with slots, readers and a report."""

from __future__ import annotations

from typing import Any

from ..diagnostics import problem
from .analyzer import Analyzer
from .conditions import CONDITION_TYPES, Condition, ConditionType, Slot, define_type, standard_type
from .declarations import items_of
from .definition_forms import Define
from .definitions import core_symbol
from .faults import wrong_type
from .machine import Machine
from .made_forms import form as make
from .made_forms import listed
from .mistakes import shape
from .nodes import Constant, Node, progn
from .printer import brief
from .scope import Scope, Tail
from .special_forms import special_form
from .streams import StringOutputStream
from .values import NIL, Cons, Function, String, Symbol, Value, first_value

WANTS = "(define-condition name (parent) ((slot :initarg :key :reader name) ...) option...)"


@special_form("define-condition", WANTS, 3)
def _define_condition(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name, parents, slots = form.cdr.car, form.cdr.cdr.car, form.cdr.cdr.cdr.car
    if name.__class__ is not Symbol:
        raise shape("define-condition", WANTS)
    an.check_definable(name, "condition")
    defaults: dict[Symbol, int] = {}
    report: int | None = None
    nodes: list[Node] = []
    rows = []
    for item in items_of(slots, form):
        row = _slot(item)
        rows.append(row)
        if row.initform is not None:
            defaults[row.name] = len(nodes)
            nodes.append(an.node(make("LAMBDA", NIL, row.initform.car), scope))
    text: Value = NIL
    for option in items_of(form.cdr.cdr.cdr.cdr, form):
        key, *values = items_of(option, form)
        if brief(key) == ":report" and isinstance(values[0], String):
            text = values[0]
        elif brief(key) == ":report":
            report = len(nodes)
            nodes.append(an.node(make("FUNCTION", values[0]), scope))
        elif brief(key) not in (":documentation", ":default-initargs"):
            raise problem("E-FORM-SHAPE", f"define-condition has no option {brief(key)}")
    made: list[Any] = []
    steps: list[Node] = [Define(node, made.append, form) for node in nodes]

    def define(_: Value) -> Value:
        functions, made[:] = list(made), []
        kind = _type(name, parents, rows, defaults, functions, form)
        if report is not None:
            kind.report = _reporter(functions[report])
        elif text is not NIL:
            kind.report = lambda condition: text.text()
        define_type(kind)
        _define_readers(an.m, kind, rows)
        return name

    steps.append(Define(Constant(NIL), define, form))
    return progn(steps, [False] * len(steps))


class _Row:
    def __init__(self, name: Symbol) -> None:
        self.name = name
        self.initargs: list[Symbol] = []
        self.initform: Any = None
        self.readers: list[Symbol] = []
        self.writers: list[Symbol] = []


def _slot(item: Value) -> _Row:
    parts = items_of(item, item) if item.__class__ is Cons else [item]
    if not parts or parts[0].__class__ is not Symbol or len(parts) % 2 == 0:
        raise shape("define-condition", WANTS, f"{brief(item)} is no slot")
    row = _Row(parts[0])
    for key, value in zip(parts[1::2], parts[2::2]):
        kind = brief(key)
        if kind == ":initarg":
            row.initargs.append(value)
        elif kind == ":initform":
            row.initform = listed(value)
        elif kind in (":reader", ":accessor"):
            row.readers.append(value)
        if kind in (":accessor", ":writer"):
            row.writers.append(value)
    return row


def _type(
    name: Symbol, parents: Value, rows: list[_Row], defaults: dict[Symbol, int],
    functions: list[Any], form: Cons,
) -> ConditionType:  # fmt: skip
    found = []
    for parent in items_of(parents, form):
        if parent not in CONDITION_TYPES:
            raise problem("E-FORM-SHAPE", f"no condition type is named {brief(parent)}")
        found.append(CONDITION_TYPES[parent])
    slots = [
        Slot(row.name, tuple(row.initargs), _thunk(functions, defaults.get(row.name)))
        for row in rows
    ]
    return ConditionType(name, tuple(found) or (standard_type("condition"),), slots)


def _thunk(functions: list[Any], index: int | None) -> Any:
    if index is None:
        return None
    function = functions[index]
    return lambda: first_value(function.call())


def _reporter(function: Function) -> Any:
    def report(condition: Condition) -> str:
        stream = StringOutputStream()
        function.call(condition, stream)
        return stream.text()

    return report


def _define_readers(m: Machine, kind: ConditionType, rows: list[_Row]) -> None:
    for row in rows:
        for name in row.readers:
            read = _reader(repr(name), kind, row.name)
            m.cell(name).define(Function(repr(name), read, "(condition)", 1, 1))
        for name in row.writers:
            cell = m.setf_cell(name, listed(core_symbol("SETF"), name))
            write = _writer(repr(name), kind, row.name)
            cell.define(Function(f"(setf {name!r})", write, "(new condition)", 2, 2))


def _reader(name: str, kind: ConditionType, slot: Symbol) -> Any:
    def read(condition: Any) -> Value:
        if not isinstance(condition, Condition) or kind not in condition.type.ancestors:
            raise wrong_type(name, condition, repr(kind.name))
        if slot not in condition.slots:
            raise problem("E-TYPE", f"{name}: the slot {slot!r} has no value")
        return condition.slots[slot]

    return read


def _writer(name: str, kind: ConditionType, slot: Symbol) -> Any:
    def write(new: Value, condition: Any) -> Value:
        if not isinstance(condition, Condition) or kind not in condition.type.ancestors:
            raise wrong_type(name, condition, repr(kind.name))
        condition.slots[slot] = new
        return new

    return write
