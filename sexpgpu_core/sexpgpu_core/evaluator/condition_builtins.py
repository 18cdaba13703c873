"""error, warn, signal, make-condition, the readers of conditions, and the restarts there are."""

from __future__ import annotations

from typing import Any

from ..diagnostics import problem
from .conditions import (
    Condition,
    ConditionClass,
    condition_class,
    make_simple,
    slot_value,
    standard_type,
)
from .definitions import builtin, core_symbol
from .exits import Exit
from .faults import wrong_type
from .handler_forms import offering
from .machine import current
from .printer import brief
from .signalling import raise_error, signal, warn
from .slot_values import initialize_slots
from .type_specifiers import typep
from .typed_nodes import wrong_type as type_failure
from .values import NIL, Function, Staged, String, Symbol, T, Value, make_list

CONTINUE = core_symbol("CONTINUE")
MUFFLE = core_symbol("MUFFLE-WARNING")


def condition_from(datum: Value, arguments: tuple[Value, ...], simple: str, name: str) -> Condition:
    """The condition of a designator: itself, a type and initargs, or a format control."""
    if isinstance(datum, Condition):
        if arguments:
            raise wrong_type(name, make_list(arguments), "no arguments after a condition object")
        return datum
    if (datum.__class__ is Symbol and datum is not NIL) or isinstance(datum, ConditionClass):
        return _make(datum, arguments)
    if isinstance(datum, (String, Function)):
        return make_simple(simple, datum, make_list(arguments))
    raise wrong_type(name, datum, "a condition, a condition type or a format string")


def _make(kind: Value, arguments: tuple[Value, ...]) -> Condition:
    found = kind if isinstance(kind, ConditionClass) else condition_class(kind)
    if found is None:
        raise problem(
            "E-TYPE", f"no condition type is named {brief(kind)}", wanted="condition type"
        )
    if len(arguments) % 2:
        raise problem("E-CALL-ARGUMENTS", "make-condition: a keyword has no value after it")
    for key, default in found.defaults.items():
        if key not in arguments[::2]:
            arguments += (key, default())
    condition = Condition(found, {})
    initialize_slots(condition, T, arguments)
    return condition


@builtin("make-condition", "(type &rest initargs)")
def make_condition(kind: Any, *arguments: Any) -> Value:
    """A condition of a type."""
    return _make(kind, arguments)


@builtin("error", "(datum &rest arguments)", staged=True)
def error(datum: Any, *arguments: Any) -> Value:
    """Signal an error; if no handler takes it, evaluation of the file ends there."""
    m = current()
    raise raise_error(m, condition_from(datum, arguments, "simple-error", "error"))


@builtin("cerror", "(continue-format datum &rest arguments)", staged=True)
def cerror(control: Any, datum: Any, *arguments: Any) -> Value:
    """As error, with a restart named continue that makes it return nil."""
    m = current()
    condition = condition_from(
        datum, arguments if not isinstance(datum, Condition) else (), "simple-error", "cerror"
    )

    def work() -> Value:
        raise raise_error(m, condition)

    return offering(m, CONTINUE, work, NIL)


@builtin("signal", "(datum &rest arguments)", staged=True)
def signal_(datum: Any, *arguments: Any) -> Value:
    """Signal a condition; nil if no handler takes it."""
    signal(current(), condition_from(datum, arguments, "simple-condition", "signal"))
    return NIL


@builtin("warn", "(datum &rest arguments)", staged=True)
def warn_(datum: Any, *arguments: Any) -> Value:
    """Signal a warning; if no handler muffles it, it is W-CONDITION."""
    m = current()
    condition = condition_from(datum, arguments, "simple-warning", "warn")
    if standard_type("warning") not in condition.type.ancestors:
        raise wrong_type("warn", condition, "a warning")
    place = m.call_form

    def work() -> Value:
        signal(m, condition)
        m.call_form = place
        warn(m, condition)
        return NIL

    return offering(m, MUFFLE, work, NIL)


def invoke(name: Symbol) -> None:
    """Leave to the innermost restart of a name, if there is one."""
    restart = current().restarts
    while restart is not None:
        if restart[0] is name:
            raise Exit(restart[1], NIL)
        restart = restart[2]


@builtin("muffle-warning", "(&optional condition)")
def muffle_warning(condition: Any = NIL) -> Value:
    """Return from the warn that is being handled."""
    invoke(MUFFLE)
    raise problem("E-CONTROL", "no warning is being signalled that could be muffled")


@builtin("continue", "(&optional condition)")
def continue_(condition: Any = NIL) -> Value:
    """Return from the cerror or with-simple-restart around; nil if there is none."""
    invoke(CONTINUE)
    return NIL


@builtin("invoke-restart", "(restart &rest arguments)")
def invoke_restart(restart: Any, *arguments: Any) -> Value:
    """Take the innermost restart of a name."""
    if restart.__class__ is Symbol:
        invoke(restart)
    elif isinstance(restart, Restart):
        raise Exit(restart.tag, NIL)
    raise problem("E-CONTROL", f"no restart named {brief(restart)} is around")


class Restart:
    """What find-restart gives."""

    __slots__ = ("name", "tag")

    def __init__(self, name: Symbol, tag: Any) -> None:
        self.name = name
        self.tag = tag


@builtin("find-restart", "(name &optional condition)")
def find_restart(name: Any, condition: Any = NIL) -> Value:
    """The innermost restart of a name, or nil."""
    if isinstance(name, Restart):
        return name
    restart = current().restarts
    while restart is not None:
        if restart[0] is name:
            return Restart(restart[0], restart[1])
        restart = restart[2]
    return NIL


@builtin("compute-restarts", "(&optional condition)")
def compute_restarts(condition: Any = NIL) -> Value:
    """All restarts around, innermost first."""
    found = []
    restart = current().restarts
    while restart is not None:
        found.append(Restart(restart[0], restart[1]))
        restart = restart[2]
    return make_list(found)


@builtin("restart-name", "(restart)")
def restart_name(restart: Any) -> Value:
    """The name of a restart."""
    if not isinstance(restart, Restart):
        raise wrong_type("restart-name", restart, "a restart")
    return restart.name


READERS = {
    "simple-condition-format-control": ("simple-condition", "format-control"),
    "simple-condition-format-arguments": ("simple-condition", "format-arguments"),
    "type-error-datum": ("type-error", "datum"),
    "type-error-expected-type": ("type-error", "expected-type"),
    "cell-error-name": ("cell-error", "name"),
    "arithmetic-error-operation": ("arithmetic-error", "operation"),
    "arithmetic-error-operands": ("arithmetic-error", "operands"),
    "stream-error-stream": ("stream-error", "stream"),
    "package-error-package": ("package-error", "package"),
    "print-not-readable-object": ("print-not-readable", "object"),
    "file-error-pathname": ("file-error", "pathname"),
    "unbound-slot-instance": ("unbound-slot", "instance"),
}


def _define_reader(name: str, kind: str, slot: str) -> None:
    def read(condition: Any) -> Value:
        if not isinstance(condition, Condition) or (
            standard_type(kind) not in condition.type.ancestors
        ):
            raise wrong_type(name, condition, kind)
        return slot_value(condition, slot)

    read.__doc__ = f"What a {kind} says."
    builtin(name, "(condition)")(read)


for _name, (_kind, _slot) in READERS.items():
    _define_reader(_name, _kind, _slot)


@builtin("%type-failure", "(value type)")
def type_failure_(value: Any, kind: Any) -> Value:
    """Raise the type error of a value."""
    raise type_failure(value, kind)


@builtin("%check-type", "(value type place text)")
def check_type(value: Any, kind: Any, place: Any, text: Any) -> Value:
    """nil if the value is of the type; else E-TYPE that names the place."""
    if isinstance(value, Staged) or typep(value, kind):
        return NIL
    found = type_failure(value, kind)
    wanted = text.text() if isinstance(text, String) else brief(kind)
    d = found.diagnostic
    message = f"{brief(place)} is {brief(value)}, which is not of type {wanted}"
    found.diagnostic = d._replace(message=message)
    raise found


@builtin("%assert-failure", "(form &optional datum &rest arguments)")
def assert_failure(form: Any, datum: Any = NIL, *arguments: Any) -> Value:
    """Raise the error of an assertion that does not hold."""
    m = current()
    if datum is NIL:
        text = f"the assertion {brief(form)} does not hold"
        raise raise_error(m, make_simple("simple-error", String("~a"), make_list([String(text)])))
    raise raise_error(m, condition_from(datum, arguments, "simple-error", "assert"))
