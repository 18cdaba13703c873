"""Equality, values and plain functions of functions."""

from __future__ import annotations

from typing import Any

from ..definitions import builtin
from ..equality import eq, eql, equal, equalp
from ..values import NIL, Function, MultipleValues, Staged, T, Value, first_value
from .calling import callable_of
from .defining import predicate
from .listing import proper

for _name, _test, _doc in (
    ("eq", eq, "Whether they are the same object."),
    ("eql", eql, "Whether they are the same object or equal numbers of one kind."),
    ("equal", equal, "Whether they are equal: eql atoms, lists and strings part by part."),
    ("equalp", equalp, "Whether they are equal in value, case and kind of number aside."),
):
    predicate(_name, "(object1 object2)", _doc, _test)


def _is_nil(value: Any) -> bool:
    if isinstance(value, Staged):
        raise value.refuse("not")
    return value is NIL


predicate("not", "(object)", "T if it is nil.", _is_nil)
predicate("functionp", "(object)", "Whether it is a function.", lambda x: isinstance(x, Function))
predicate(
    "compiled-function-p",
    "(object)",
    "Whether it is a function.",
    lambda x: isinstance(x, Function),
)


@builtin("identity", "(object)")
def identity(value: Any) -> Value:
    """The object itself."""
    return value


@builtin("values", "(&rest objects)")
def values(*objects: Any) -> Value:
    """The objects as several values."""
    return objects[0] if len(objects) == 1 else MultipleValues(objects)


@builtin("values-list", "(list)")
def values_list(items: Any) -> Value:
    """The elements as several values."""
    return values(*proper("values-list", items))


@builtin("funcall", "(function &rest arguments)", staged=True)
def funcall(function: Any, *arguments: Any) -> Value:
    """The function's values on the arguments."""
    return callable_of(function, len(arguments))(*arguments)


@builtin("apply", "(function argument &rest arguments)", staged=True)
def apply(function: Any, *arguments: Any) -> Value:
    """The function's values on the arguments, the last of which is a list of more."""
    spread = (*arguments[:-1], *proper("apply", arguments[-1]))
    return callable_of(function, len(spread))(*spread)


@builtin("constantly", "(value)")
def constantly(value: Any) -> Value:
    """A function of any arguments that returns the value."""
    return Function("constantly", lambda *ignored: value)


@builtin("complement", "(function)")
def complement(function: Any) -> Value:
    """A function that holds where the given one does not."""

    def call(*arguments: Value) -> Value:
        answer = callable_of(function, len(arguments))(*arguments)
        return T if first_value(answer) is NIL else NIL

    return Function("complement", call)
