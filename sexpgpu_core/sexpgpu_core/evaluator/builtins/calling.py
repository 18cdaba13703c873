"""Functions given to builtins: designators to Python callables that return one value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..definitions import BUILTINS
from ..equality import eq, eql, equal, equalp
from ..faults import bad_argument
from ..values import NIL, Function, Symbol, Value, first_value

Predicate = Callable[[Any, Any], bool]


def callable_of(designator: Any, count: int) -> Callable[..., Value]:
    """The `call` of a function, or of the function a symbol names, for calls of `count` arguments.

    Python must not be the one to say that a builtin takes another number of them.
    """
    if not isinstance(designator, Function):
        from ..designators import function_of

        designator = function_of(designator)
    assert isinstance(designator, Function)
    if count >= designator.least and (designator.most is None or count <= designator.most):
        return designator.call
    return _refusal(designator, count)


def _refusal(function: Function, count: int) -> Callable[..., Value]:
    """What fails when it is called: a function that takes another number of arguments."""

    def call(*arguments: Value) -> Value:
        from ..closures import wrong_count

        raise wrong_count(function, count)

    return call


def key_of(key: Any) -> Callable[[Any], Value] | None:
    """A :key, None for the element itself."""
    if key is None or key is NIL:
        return None
    call = callable_of(key, 1)
    return None if call is _identity() else lambda x: first_value(call(x))


def _identity() -> Any:
    found = BUILTINS.get("IDENTITY")
    return found.call if found else None


_DIRECT: dict[str, Predicate] = {"EQ": eq, "EQL": eql, "EQUAL": equal, "EQUALP": equalp}


def relation_of(name: str, test: Any, test_not: Any = None) -> Predicate:
    """What :test and :test-not ask of an item and an element (after its key); eql by default."""
    if test_not is not None and test_not is not NIL:
        if test is not None and test is not NIL:
            raise bad_argument(name, ":test and :test-not exclude each other")
        refuted = callable_of(test_not, 2)
        return lambda a, b: first_value(refuted(a, b)) is NIL
    if test is None or test is NIL:
        return eql
    direct = _DIRECT.get(_builtin_name(test))
    if direct is not None:
        return direct
    call = callable_of(test, 2)
    return lambda a, b: first_value(call(a, b)) is not NIL


def _builtin_name(test: Any) -> str:
    if test.__class__ is Symbol:
        return test.name if test.home == "" else ""
    if test.__class__ is Function:
        upper = test.name.upper()
        return upper if BUILTINS.get(upper) is test else ""
    return ""


def element_test(name: str, item: Any, test: Any, test_not: Any, key: Any) -> Callable[[Any], bool]:
    """Whether an element matches an item."""
    holds, keyed = relation_of(name, test, test_not), key_of(key)
    if keyed is None:
        return lambda x: holds(item, x)
    return lambda x: holds(item, keyed(x))


def predicate_test(predicate: Any, key: Any, wanted: bool = True) -> Callable[[Any], bool]:
    """Whether a predicate holds of an element (or does not, when not wanted)."""
    call, keyed = callable_of(predicate, 1), key_of(key)
    if keyed is None:
        return lambda x: (first_value(call(x)) is not NIL) is wanted
    return lambda x: (first_value(call(keyed(x))) is not NIL) is wanted
