"""Calls: of global functions through their cells, of local and computed functions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from . import raising
from .machine import Cell, Machine
from .nodes import Code, Node, value_code
from .values import Value, first_value


class Call(Node):
    """A call of a global function."""

    __slots__ = ("arguments", "cell", "form", "single")

    def __init__(self, cell: Cell, arguments: list[Node], form: Value, single: bool) -> None:
        self.cell = cell
        self.arguments = arguments
        self.form = form
        self.single = single

    def compile(self, m: Machine) -> Code:
        codes = [value_code(node, m) for node in self.arguments]
        make = _BY_COUNT.get(len(codes))
        if make is not None:
            code: Code = make(m, self.cell, self.form, *codes)
            return code
        return _call_many(m, self.cell, self.form, codes)


def _call_0(m: Machine, cell: Cell, form: Value) -> Code:
    def run(f: list[Any]) -> Value:
        m.call_form = form
        try:
            return cell.call()
        except Exception as error:
            raise raising.raised(m, error, form) from None

    return run


def _call_1(m: Machine, cell: Cell, form: Value, a: Code) -> Code:
    def run(f: list[Any]) -> Value:
        x = a(f)
        m.call_form = form
        try:
            return cell.call(x)
        except Exception as error:
            raise raising.raised(m, error, form) from None

    return run


def _call_2(m: Machine, cell: Cell, form: Value, a: Code, b: Code) -> Code:
    def run(f: list[Any]) -> Value:
        x = a(f)
        y = b(f)
        m.call_form = form
        try:
            return cell.call(x, y)
        except Exception as error:
            raise raising.raised(m, error, form) from None

    return run


def _call_3(m: Machine, cell: Cell, form: Value, a: Code, b: Code, c: Code) -> Code:
    def run(f: list[Any]) -> Value:
        x = a(f)
        y = b(f)
        z = c(f)
        m.call_form = form
        try:
            return cell.call(x, y, z)
        except Exception as error:
            raise raising.raised(m, error, form) from None

    return run


_BY_COUNT: dict[int, Any] = {0: _call_0, 1: _call_1, 2: _call_2, 3: _call_3}


def _call_many(m: Machine, cell: Cell, form: Value, codes: list[Code]) -> Code:
    def run(f: list[Any]) -> Value:
        arguments = [code(f) for code in codes]
        m.call_form = form
        try:
            return cell.call(*arguments)
        except Exception as error:
            raise raising.raised(m, error, form) from None

    return run


def calls_around() -> Iterator[Value]:
    """The forms of the calls that are being made, from the innermost: those of the `run`s below
    us on Python's stack, since nothing is kept a call."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "run" and frame.f_globals.get("__name__") == __name__:
            yield frame.f_locals["form"]
        frame = frame.f_back


class CallValue(Node):
    """A call of a local function or of a lambda expression: `function` gives the object."""

    __slots__ = ("arguments", "form", "function")

    def __init__(self, function: Node, arguments: list[Node], form: Value) -> None:
        self.function = function
        self.arguments = arguments
        self.form = form

    def compile(self, m: Machine) -> Code:
        function = value_code(self.function, m)
        codes = [value_code(node, m) for node in self.arguments]
        form = self.form

        def run(f: list[Any]) -> Value:
            callee = function(f)
            arguments = [code(f) for code in codes]
            m.call_form = form
            try:
                return callee.call(*arguments)
            except Exception as error:
                raise raising.raised(m, error, form) from None

        return run


class Store(Node):
    """A call of a setter: arguments are evaluated in order, the new value last, and passed
    first.
    """

    __slots__ = ("arguments", "cell", "form", "value")
    single = True

    def __init__(self, cell: Cell, arguments: list[Node], value: Node, form: Value) -> None:
        self.cell = cell
        self.arguments = arguments
        self.value = value
        self.form = form

    def compile(self, m: Machine) -> Code:
        codes = [value_code(node, m) for node in self.arguments]
        value, cell, form = value_code(self.value, m), self.cell, self.form

        def run(f: list[Any]) -> Value:
            arguments = [code(f) for code in codes]
            new = value(f)
            m.call_form = form
            try:
                return first_value(cell.call(new, *arguments))
            except Exception as error:
                raise raising.raised(m, error, form) from None

        return run


class FunctionOf(Node):
    """`#'name` of a global function: looked up when it is evaluated."""

    __slots__ = ("cell", "form")
    single = True

    def __init__(self, cell: Cell, form: Value) -> None:
        self.cell = cell
        self.form = form

    def compile(self, m: Machine) -> Code:
        cell, form = self.cell, self.form

        def run(f: list[Any]) -> Value:
            if cell.function is None:
                try:
                    return cell.call()
                except Exception as error:
                    raise raising.raised(m, error, form) from None
            return cell.function

        return run
