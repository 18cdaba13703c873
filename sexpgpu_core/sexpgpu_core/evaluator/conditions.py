"""Conditions: the standard's tree of types, objects with slots, and how they are reported."""

from __future__ import annotations

from typing import Any

from ..diagnostics import Problem
from .classes import CLASS_OF, CLASSES, TOP, Class, Instance, Slot, define_class
from .definitions import CORE_SYMBOLS, core_symbol
from .printed_objects import printed_by_method
from .printer import COMPOUNDS, Parts, Settings
from .values import NIL, Cons, Symbol, Value, keyword


class ConditionClass(Class):
    """A type of conditions. `report`: a function of the condition that gives its text, or None."""

    __slots__ = ("report",)
    meta = "CONDITION-CLASS"

    def __init__(
        self, name: Symbol, parents: tuple[Class, ...], slots: list[Slot], report: Any = None
    ) -> None:
        super().__init__(name, parents, slots)
        inherited = (getattr(part, "report", None) for part in self.precedence[1:])
        self.report: Any = report or next((found for found in inherited if found), None)


class Condition(Instance):
    """A condition object. `problem`: the diagnostic it stands for, if a builtin raised it."""

    __slots__ = ("problem",)
    type: ConditionClass

    def __init__(self, kind: ConditionClass, slots: dict[Symbol, Value]) -> None:
        super().__init__(kind, slots)
        self.problem: Problem | None = None


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


def _define_tree() -> None:
    for row in TREE.replace("\n", ";").split(";"):
        name, _, rest = row.partition(":")
        if not name.strip():
            continue
        parents, *slots = rest.split() or [""]
        above = tuple(standard_type(p) for p in parents.split(",") if p)
        own = [Slot(core_symbol(s.upper()), (keyword(s.upper()),)) for s in slots]
        define_class(ConditionClass(core_symbol(name.strip().upper()), above or (TOP,), own))


def condition_class(name: Value) -> ConditionClass | None:
    """The condition type of a name, if there is one."""
    found = CLASSES.get(name) if name.__class__ is Symbol else None
    return found if isinstance(found, ConditionClass) else None


def standard_type(name: str) -> ConditionClass:
    """A condition type of the standard by its lower-case name."""
    found = CLASSES[CORE_SYMBOLS[name.upper()]]
    assert isinstance(found, ConditionClass)
    return found


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
    own = printed_by_method(condition, settings)
    if own is not None:
        return own
    if settings.escape:
        name = condition.type.name.name
        return f"#<{name.lower() if settings.case == 'DOWNCASE' else name}>"
    return report_text(condition)


_define_tree()
COMPOUNDS[Condition] = _parts
CLASS_OF[Condition] = lambda condition: condition.type
