"""Analyzed forms. `compile` turns a node into a closure over the frame; nothing is looked up by
name after it.

A node is `single` when it never gives several values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..diagnostics import Problem
from ..reader import element_span
from . import raising
from .exits import Jump
from .machine import Machine
from .scope import FunctionScope, Variable
from .values import NIL, UNBOUND, MultipleValues, Staged, Symbol, T, Value

Code = Callable[[list[Any]], Value]


class Node:
    """An analyzed form."""

    __slots__ = ()
    single: Any = False

    def compile(self, m: Machine) -> Code:
        raise NotImplementedError


def value_code(node: Node, m: Machine) -> Code:
    """Code for a position that wants one value."""
    code = node.compile(m)
    if node.single:
        return code

    def first(f: list[Any]) -> Value:
        value = code(f)
        if value.__class__ is MultipleValues:
            return value[0] if value else NIL
        return value

    return first


class Constant(Node):
    """A value known now."""

    __slots__ = ("value",)
    single = True

    def __init__(self, value: Value) -> None:
        self.value = value

    def compile(self, m: Machine) -> Code:
        value = self.value
        return lambda f: value


class Fail(Node):
    """A form that is wrong: raises its Problem when it is reached."""

    __slots__ = ("problem",)

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def compile(self, m: Machine) -> Code:
        diagnostic = self.problem.diagnostic

        def run(f: list[Any]) -> Value:
            raise raising.raised(m, Problem(diagnostic), None)

        return run


class LocalRef(Node):
    """A lexical variable's value."""

    __slots__ = ("scope", "variable")
    single = True

    def __init__(self, variable: Variable, scope: FunctionScope) -> None:
        self.variable = variable
        self.scope = scope

    def compile(self, m: Machine) -> Code:
        slot = self.scope.slot(self.variable)
        if self.variable.boxed:
            return lambda f: f[slot][0]
        return lambda f: f[slot]


class LocalSet(Node):
    """Assignment of a lexical variable."""

    __slots__ = ("scope", "value", "variable")
    single = True

    def __init__(self, variable: Variable, scope: FunctionScope, value: Node) -> None:
        self.variable = variable
        self.scope = scope
        self.value = value

    def compile(self, m: Machine) -> Code:
        slot = self.scope.slot(self.variable)
        code = value_code(self.value, m)
        if self.variable.boxed:

            def set_box(f: list[Any]) -> Value:
                value = f[slot][0] = code(f)
                return value

            return set_box

        def set_slot(f: list[Any]) -> Value:
            value = f[slot] = code(f)
            return value

        return set_slot


class GlobalRef(Node):
    """The dynamic value of a symbol. `at`: the cons that holds it in the text."""

    __slots__ = ("at", "symbol")
    single = True

    def __init__(self, symbol: Symbol, at: Value) -> None:
        self.symbol = symbol
        self.at = at

    def compile(self, m: Machine) -> Code:
        symbol, at = self.symbol, self.at

        def run(f: list[Any]) -> Value:
            value = symbol.value
            if value is UNBOUND:
                raise raising.unbound(m, symbol, element_span(at))
            return value

        return run


class GlobalSet(Node):
    """Assignment of a dynamic variable."""

    __slots__ = ("symbol", "value")
    single = True

    def __init__(self, symbol: Symbol, value: Node) -> None:
        self.symbol = symbol
        self.value = value

    def compile(self, m: Machine) -> Code:
        symbol, code = self.symbol, value_code(self.value, m)

        def run(f: list[Any]) -> Value:
            value = symbol.value = code(f)
            return value

        return run


class If(Node):
    """`(if test then else)`; a staged test is refused."""

    __slots__ = ("form", "name", "otherwise", "single", "test", "then")

    def __init__(
        self, test: Node, then: Node, otherwise: Node, form: Value, name: str = "if"
    ) -> None:
        self.name = name
        self.test = test
        self.then = then
        self.otherwise = otherwise
        self.form = form
        self.single = then.single and otherwise.single

    def compile(self, m: Machine) -> Code:
        test = value_code(self.test, m)
        then, otherwise = self.then.compile(m), self.otherwise.compile(m)
        form, name = self.form, self.name

        def run(f: list[Any]) -> Value:
            value = test(f)
            if value is NIL:
                return otherwise(f)
            if value is not T and isinstance(value, Staged):
                raise raising.refused(m, value, name, form)
            return then(f)

        return run


def progn(nodes: list[Node], leaves: list[bool]) -> Node:
    """Nodes in order. `leaves[i]`: node i, which is not the last, may return a Jump."""
    if len(nodes) == 1:
        return nodes[0]
    if not nodes:
        return Constant(NIL)
    return Progn(nodes, leaves)


class Progn(Node):
    """Two or more forms in order."""

    __slots__ = ("leaves", "nodes", "single")

    def __init__(self, nodes: list[Node], leaves: list[bool]) -> None:
        self.nodes = nodes
        self.leaves = leaves
        self.single = nodes[-1].single

    def compile(self, m: Machine) -> Code:
        codes = [node.compile(m) for node in self.nodes]
        if any(self.leaves):
            return _leaving(codes)
        last = codes.pop()
        if len(codes) == 1:
            first = codes[0]

            def two(f: list[Any]) -> Value:
                first(f)
                return last(f)

            return two

        def run(f: list[Any]) -> Value:
            for code in codes:
                code(f)
            return last(f)

        return run


def _leaving(codes: list[Code]) -> Code:
    last = codes.pop()

    def run(f: list[Any]) -> Value:
        for code in codes:
            value = code(f)
            if value.__class__ is Jump:
                return value
        return last(f)

    return run
