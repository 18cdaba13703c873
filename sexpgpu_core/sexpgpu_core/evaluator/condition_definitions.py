"""define-condition: a class of conditions with slots, readers and a report."""

from __future__ import annotations

from typing import Any

from ..diagnostics import problem
from .analyzer import Analyzer
from .classes import Class, define_class
from .conditions import Condition, ConditionClass, condition_class, standard_type
from .declarations import items_of
from .definition_forms import Define, Each
from .made_forms import form as make
from .mistakes import shape
from .nodes import Node
from .printer import brief
from .scope import Scope, Tail
from .slot_forms import (
    Parts,
    default_initargs,
    define_accessors,
    slot_rows,
    thunk,
    unknown_option,
)
from .special_forms import special_form
from .streams import StringOutputStream
from .values import Cons, Function, String, Symbol, Value

WANTS = "(define-condition name (parent) ((slot :initarg :key :reader name) ...) option...)"
OPTIONS = (":report", ":documentation", ":default-initargs")


@special_form("define-condition", WANTS, 3)
def _define_condition(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name, parents, slots = form.cdr.car, form.cdr.cdr.car, form.cdr.cdr.cdr.car
    if name.__class__ is not Symbol:
        raise shape("define-condition", WANTS)
    an.check_definable(name, "condition")
    parts = Parts(an, scope)
    rows = slot_rows("define-condition", WANTS, slots, form, parts)
    defaults: dict[Symbol, int] = {}
    report: Value = None
    for option in items_of(form.cdr.cdr.cdr.cdr, form):
        key, *values = items_of(option, form) if option.__class__ is Cons else [option]
        word = brief(key)
        if word not in OPTIONS or (word != ":default-initargs" and len(values) != 1):
            raise unknown_option("define-condition", f"{brief(option)} is no option", word, OPTIONS)
        if word == ":report":
            told = isinstance(values[0], String)
            report = values[0] if told else parts.node(make("FUNCTION", values[0]))
        elif word == ":default-initargs":
            defaults = default_initargs("define-condition", values, parts)

    def define(functions: list[Any]) -> Value:
        kind = ConditionClass(name, _parents(parents, form), [row.slot(functions) for row in rows])
        kind.own_defaults = {key: thunk(functions[at]) for key, at in defaults.items()}
        kind.finish()
        if isinstance(report, String):
            kind.report = lambda condition: report.text()
        elif report is not None:
            kind.report = _reporter(functions[report])
        define_class(kind)
        _start_shared(kind)
        define_accessors(kind, rows)
        return name

    return Define(Each(parts.nodes), define, form)


def _parents(parents: Value, form: Cons) -> tuple[Class, ...]:
    found = []
    for parent in items_of(parents, form):
        kind = condition_class(parent)
        if kind is None:
            raise problem("E-FORM-SHAPE", f"no condition type is named {brief(parent)}")
        found.append(kind)
    return tuple(found) or (standard_type("condition"),)


def _start_shared(kind: ConditionClass) -> None:
    for slot in kind.own:
        if slot.cell is not None and slot.initform is not None:
            slot.cell[0] = slot.initform()


def _reporter(function: Function) -> Any:
    def report(condition: Condition) -> str:
        stream = StringOutputStream()
        function.call(condition, stream)
        return stream.text()

    return report
