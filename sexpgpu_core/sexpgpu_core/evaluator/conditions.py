"""Conditions: the standard's tree of types, objects with slots, and how they are reported."""

from __future__ import annotations

from typing import Any

from ..diagnostics import Problem
from .definitions import CORE_SYMBOLS, core_symbol
from .printer import COMPOUNDS, Parts, Settings
from .type_specifiers import CLASSES, NAMERS, Class
from .values import NIL, Cons, Symbol, Value, keyword


class Slot:
    """A slot of a condition type. `initform`: a function of no arguments, or None."""

    __slots__ = ("initargs", "initform", "name")

    def __init__(self, name: Symbol, initargs: tuple[Symbol, ...], initform: Any = None) -> None:
        self.name = name
        self.initargs = initargs
        self.initform = initform


class ConditionType:
    """A type of conditions. `report`: a function of the condition that gives its text, or None."""

    __slots__ = ("ancestors", "name", "parents", "report", "slots")

    def __init__(
        self,
        name: Symbol,
        parents: tuple[ConditionType, ...],
        slots: list[Slot],
        report: Any = None,
    ) -> None:
        self.name = name
        self.parents = parents
        self.slots: list[Slot] = slots
        self.report: Any = report
        inherited = [slot for parent in parents for slot in parent.slots]
        own = {slot.name for slot in slots}
        self.slots = slots + [slot for slot in inherited if slot.name not in own]
        if report is None:
            self.report = next((p.report for p in parents if p.report), None)
        self.ancestors: set[ConditionType] = {self}
        for parent in parents:
            self.ancestors |= parent.ancestors


class Condition:
    """A condition object. `problem`: the diagnostic it stands for, if a builtin raised it."""

    __slots__ = ("problem", "slots", "type")

    def __init__(self, kind: ConditionType, slots: dict[Symbol, Value]) -> None:
        self.type = kind
        self.slots = slots
        self.problem: Problem | None = None


CONDITION_TYPES: dict[Symbol, ConditionType] = {}

TREE = """
condition: ; serious-condition: condition; error: serious-condition; warning: condition
simple-condition: condition format-control format-arguments
simple-warning: simple-condition,warning; style-warning: warning
simple-error: simple-condition,error; storage-condition: serious-condition
type-error: error datum expected-type; simple-type-error: simple-condition,type-error
arithmetic-error: error operation operands; division-by-zero: arithmetic-error
floating-point-overflow: arithmetic-error; floating-point-underflow: arithmetic-error
floating-point-inexact: arithmetic-error; floating-point-invalid-operation: arithmetic-error
cell-error: error name; unbound-variable: cell-error; undefined-function: cell-error
unbound-slot: cell-error instance; control-error: error; program-error: error; parse-error: error
package-error: error package; print-not-readable: error object; file-error: error pathname
stream-error: error stream; end-of-file: stream-error; reader-error: parse-error,stream-error
"""


def define_type(kind: ConditionType) -> None:
    """Make a condition type known to typep and to handlers."""
    CONDITION_TYPES[kind.name] = kind
    CLASSES[kind.name] = Class(
        lambda value: isinstance(value, Condition) and kind in value.type.ancestors,
        tuple(parent.name for parent in kind.parents),
    )


def _define_tree() -> None:
    for row in TREE.replace("\n", ";").split(";"):
        name, _, rest = row.partition(":")
        if not name.strip():
            continue
        parents, *slots = rest.split() or [""]
        define_type(
            ConditionType(
                core_symbol(name.strip().upper()),
                tuple(standard_type(p) for p in parents.split(",") if p),
                [Slot(core_symbol(s.upper()), (keyword(s.upper()),)) for s in slots],
            )
        )


def standard_type(name: str) -> ConditionType:
    """A condition type of the standard by its lower-case name."""
    return CONDITION_TYPES[CORE_SYMBOLS[name.upper()]]


def slot_value(condition: Condition, name: str) -> Value:
    """A standard slot's value; nil if it was not given."""
    return condition.slots.get(core_symbol(name.upper()), NIL)


def make_simple(kind: str, control: Value, arguments: Value) -> Condition:
    """A condition made of a format control and its arguments."""
    slots = {core_symbol("FORMAT-CONTROL"): control, core_symbol("FORMAT-ARGUMENTS"): arguments}
    return Condition(standard_type(kind), slots)


def report_text(condition: Condition) -> str:
    """What a condition says: its problem's message, its report, its format control, or its type."""
    from .definitions import BUILTINS
    from .printer import print_text
    from .values import first_value

    if condition.problem is not None:
        return condition.problem.diagnostic.message
    if condition.type.report is not None:
        return str(condition.type.report(condition))
    control = slot_value(condition, "format-control")
    if control is not NIL:
        arguments = slot_value(condition, "format-arguments")
        text = BUILTINS["FORMAT"].call(NIL, control, *_elements(arguments))
        return str(first_value(text).text())
    given = " ".join(f"{s!r} {print_text(v)}" for s, v in condition.slots.items())
    return f"{condition.type.name!r}" + (f": {given}" if given else "")


def _elements(items: Value) -> list[Value]:
    found = []
    while items.__class__ is Cons:
        found.append(items.car)
        items = items.cdr
    return found


def _parts(condition: Condition, settings: Settings) -> Parts | str:
    if settings.escape:
        name = condition.type.name.name
        return f"#<{name.lower() if settings.case == 'DOWNCASE' else name}>"
    return report_text(condition)


_define_tree()
COMPOUNDS[Condition] = _parts
NAMERS[Condition] = lambda condition: condition.type.name
