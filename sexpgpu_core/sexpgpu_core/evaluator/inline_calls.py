"""Calls of builtins that small integers and conses make often: done in place, else handed to the
builtin.

The names are the standard's, which no file may define anew, so nothing here can become wrong.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from . import raising
from .machine import Cell, Machine
from .nodes import Code, Constant, LocalRef, Node, value_code
from .values import NIL, Cons, Staged, T, Value

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
}
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "=": operator.eq,
}
STEPS = {"1+": 1, "1-": -1}
SMALL = 1 << 62
"""Sums below this are made in place, and products of factors below it: larger integers are paid
for by their length."""

Slow = Callable[..., Value]


def slow_call(m: Machine, cell: Cell, form: Value) -> Slow:
    """The builtin itself, with its errors placed."""
    assert cell.function is not None
    call = cell.function.call

    def slow(*arguments: Value) -> Value:
        m.call_form = form
        try:
            return call(*arguments)
        except Exception as error:
            raise raising.raised(m, error, form) from None

    return slow


class InlineCall(Node):
    """A call of one or two operands that is tried in place first."""

    __slots__ = ("arguments", "cell", "form", "name")
    single = True

    def __init__(self, name: str, cell: Cell, arguments: list[Node], form: Value) -> None:
        self.name = name
        self.cell = cell
        self.arguments = arguments
        self.form = form

    def compile(self, m: Machine) -> Code:
        slow = slow_call(m, self.cell, self.form)
        if len(self.arguments) == 1:
            return _unary(self.name, value_code(self.arguments[0], m), slow)
        left, right = self.arguments
        if self.name == "*":
            return _multiply(value_code(left, m), value_code(right, m), slow)
        if self.name in COMPARISONS:
            op, local, general = COMPARISONS[self.name], _compare_local, _compare
        else:
            op, local, general = ARITHMETIC[self.name], _apply_local, _apply
        constant = right.value if isinstance(right, Constant) else None
        if constant.__class__ is int and isinstance(left, LocalRef) and not left.variable.boxed:
            return local(op, left.scope.slot(left.variable), constant, slow)
        return general(op, value_code(left, m), value_code(right, m), slow)


def is_inline(name: str, count: int) -> bool:
    """Whether a call of a standard name with that many operands is done in place."""
    if count == 1:
        return name in STEPS or name in ("CAR", "CDR", "NULL", "NOT", "CONSP")
    return count == 2 and (name in ARITHMETIC or name in COMPARISONS or name == "*")


def _multiply(a: Code, b: Code, slow: Slow) -> Code:
    low, high = -SMALL, SMALL

    def run(f: list[Any]) -> Value:
        x = a(f)
        y = b(f)
        if x.__class__ is int and y.__class__ is int and low < x < high and low < y < high:
            return x * y
        return slow(x, y)

    return run


def _apply(op: Any, a: Code, b: Code, slow: Slow) -> Code:
    low, high = -SMALL, SMALL

    def run(f: list[Any]) -> Value:
        x = a(f)
        y = b(f)
        if x.__class__ is int and y.__class__ is int and low < (r := op(x, y)) < high:
            return r
        return slow(x, y)

    return run


def _apply_local(op: Any, slot: int, y: int, slow: Slow) -> Code:
    def run(f: list[Any]) -> Value:
        x = f[slot]
        if x.__class__ is int:
            return op(x, y)
        return slow(x, y)

    return run


def _compare(op: Any, a: Code, b: Code, slow: Slow) -> Code:
    def run(f: list[Any]) -> Value:
        x = a(f)
        y = b(f)
        if x.__class__ is int and y.__class__ is int:
            return T if op(x, y) else NIL
        return slow(x, y)

    return run


def _compare_local(op: Any, slot: int, y: int, slow: Slow) -> Code:
    def run(f: list[Any]) -> Value:
        x = f[slot]
        if x.__class__ is int:
            return T if op(x, y) else NIL
        return slow(x, y)

    return run


def _unary(name: str, a: Code, slow: Slow) -> Code:
    if name in STEPS:
        return _step(a, STEPS[name], slow)
    if name == "NULL":
        return lambda f: T if a(f) is NIL else NIL
    if name == "NOT":
        return _not(a, slow)
    if name == "CONSP":
        return lambda f: T if a(f).__class__ is Cons else NIL
    return _car(a, slow) if name == "CAR" else _cdr(a, slow)


def _not(a: Code, slow: Slow) -> Code:
    def run(f: list[Any]) -> Value:
        x = a(f)
        if x is NIL:
            return T
        return slow(x) if x is not T and isinstance(x, Staged) else NIL

    return run


def _step(a: Code, delta: int, slow: Slow) -> Code:
    def run(f: list[Any]) -> Value:
        x = a(f)
        return x + delta if x.__class__ is int else slow(x)

    return run


def _car(a: Code, slow: Slow) -> Code:
    def run(f: list[Any]) -> Value:
        x = a(f)
        return x.car if x.__class__ is Cons else slow(x)

    return run


def _cdr(a: Code, slow: Slow) -> Code:
    def run(f: list[Any]) -> Value:
        x = a(f)
        return x.cdr if x.__class__ is Cons else slow(x)

    return run
