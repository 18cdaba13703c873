"""let, let*, progv, setq of several, multiple values: nodes that bind."""

from __future__ import annotations

from typing import Any

from ..diagnostics import Problem
from ..records import NamedTuple
from . import raising
from .faults import wrong_type
from .machine import Machine
from .nodes import Code, Node, value_code
from .scope import FunctionScope, Variable
from .values import NIL, UNBOUND, MultipleValues, Symbol, Value, list_items, make_list


class Binding(NamedTuple):
    """A variable, lexical or special, and the node of its value."""

    target: Variable | Symbol
    value: Node


class Let(Node):
    """Binds values, then runs its body. Lexical targets have slots that no value's code uses."""

    __slots__ = ("bindings", "body", "scope", "single")

    def __init__(self, bindings: list[Binding], body: Node, scope: FunctionScope) -> None:
        self.bindings = bindings
        self.body = body
        self.scope = scope
        self.single = body.single

    def compile(self, m: Machine) -> Code:
        body = self.body.compile(m)
        if any(b.target.__class__ is Symbol for b in self.bindings):
            return self._special(m, body)
        steps = [(self.scope.slot(b.target), value_code(b.value, m), b.target.boxed)
                 for b in self.bindings if isinstance(b.target, Variable)]  # fmt: skip
        if len(steps) == 1:
            return _let_one(*steps[0], body)
        if any(boxed for _, _, boxed in steps):
            return _let_boxes(steps, body)
        pairs = [(slot, code) for slot, code, _ in steps]

        def run(f: list[Any]) -> Value:
            for slot, code in pairs:
                f[slot] = code(f)
            return body(f)

        return run

    def _special(self, m: Machine, body: Code) -> Code:
        codes = [value_code(b.value, m) for b in self.bindings]
        stores = [store_code(b.target, self.scope) for b in self.bindings]
        symbols = [b.target for b in self.bindings if b.target.__class__ is Symbol]

        def run(f: list[Any]) -> Value:
            values = [code(f) for code in codes]
            saved = [symbol.value for symbol in symbols]  # type: ignore[union-attr]
            try:
                for store, value in zip(stores, values):
                    store(f, value)
                return body(f)
            finally:
                for symbol, value in zip(symbols, saved):
                    symbol.value = value  # type: ignore[union-attr]

        return run


def _let_one(slot: int, code: Code, boxed: bool, body: Code) -> Code:
    if boxed:

        def run_box(f: list[Any]) -> Value:
            f[slot] = [code(f)]
            return body(f)

        return run_box

    def run(f: list[Any]) -> Value:
        f[slot] = code(f)
        return body(f)

    return run


def _let_boxes(steps: list[tuple[int, Code, bool]], body: Code) -> Code:
    def run(f: list[Any]) -> Value:
        for slot, code, boxed in steps:
            f[slot] = [code(f)] if boxed else code(f)
        return body(f)

    return run


def store_code(target: Variable | Symbol, scope: FunctionScope) -> Any:
    """(frame, value): gives a fresh variable its first value."""
    if isinstance(target, Symbol):
        symbol = target

        def bind(f: list[Any], value: Value) -> None:
            symbol.value = value

        return bind
    slot = scope.slot(target)
    if target.boxed:

        def box(f: list[Any], value: Value) -> None:
            f[slot] = [value]

        return box

    def store(f: list[Any], value: Value) -> None:
        f[slot] = value

    return store


class MultipleValueBind(Node):
    """Binds the values of one form."""

    __slots__ = ("body", "scope", "single", "targets", "value")

    def __init__(
        self, targets: list[Variable | Symbol], value: Node, body: Node, scope: FunctionScope
    ) -> None:
        self.targets = targets
        self.value = value
        self.body = body
        self.scope = scope
        self.single = body.single

    def compile(self, m: Machine) -> Code:
        code, body = self.value.compile(m), self.body.compile(m)
        stores = [store_code(target, self.scope) for target in self.targets]
        symbols = [target for target in self.targets if isinstance(target, Symbol)]
        missing = [NIL] * len(stores)

        def run(f: list[Any]) -> Value:
            value = code(f)
            given = [*value, *missing] if value.__class__ is MultipleValues else [value, *missing]
            return bind(f, given)

        def bind(f: list[Any], given: list[Value]) -> Value:
            saved = [symbol.value for symbol in symbols]
            try:
                for store, item in zip(stores, given):
                    store(f, item)
                return body(f)
            finally:
                for symbol, old in zip(symbols, saved):
                    symbol.value = old

        return run


class MultipleValueList(Node):
    """All values of a form as a list."""

    __slots__ = ("value",)
    single = True

    def __init__(self, value: Node) -> None:
        self.value = value

    def compile(self, m: Machine) -> Code:
        code = self.value.compile(m)

        def run(f: list[Any]) -> Value:
            return make_list(all_values(code(f)))

        return run


def all_values(value: Value) -> Any:
    """The values of a form as a sequence."""
    return value if value.__class__ is MultipleValues else (value,)


class MultipleValueCall(Node):
    """`(multiple-value-call function form...)`."""

    __slots__ = ("form", "function", "values")

    def __init__(self, function: Node, values: list[Node], form: Value) -> None:
        self.function = function
        self.values = values
        self.form = form

    def compile(self, m: Machine) -> Code:
        from .designators import function_of

        function, form = value_code(self.function, m), self.form
        codes = [node.compile(m) for node in self.values]

        def run(f: list[Any]) -> Value:
            callee = function(f)
            given = [item for code in codes for item in all_values(code(f))]
            m.call_form = form
            try:
                return function_of(callee).call(*given)
            except Exception as error:
                raise raising.raised(m, error, form) from None

        return run


class MultipleValueProg1(Node):
    """All values of the first form, after the others have run."""

    __slots__ = ("first", "rest")

    def __init__(self, first: Node, rest: Node) -> None:
        self.first = first
        self.rest = rest

    def compile(self, m: Machine) -> Code:
        first, rest = self.first.compile(m), self.rest.compile(m)

        def run(f: list[Any]) -> Value:
            value = first(f)
            rest(f)
            return value

        return run


class Progv(Node):
    """Binds symbols computed at run time."""

    __slots__ = ("body", "form", "symbols", "values")

    def __init__(self, symbols: Node, values: Node, body: Node, form: Value) -> None:
        self.symbols = symbols
        self.values = values
        self.body = body
        self.form = form

    def compile(self, m: Machine) -> Code:
        symbols, values = value_code(self.symbols, m), value_code(self.values, m)
        body, form = self.body.compile(m), self.form

        def run(f: list[Any]) -> Value:
            try:
                names = list_items(symbols(f))
                given = list_items(values(f))[: len(names)]
                for name in names:
                    if name.__class__ is not Symbol or name.constant:
                        raise wrong_type("progv", name, "a symbol")
            except (TypeError, Problem) as error:
                raise raising.raised(m, error, form) from None
            given += [UNBOUND] * (len(names) - len(given))
            saved = [name.value for name in names]
            try:
                for name, value in zip(names, given):
                    name.value = value
                return body(f)
            finally:
                for name, value in zip(names, saved):
                    name.value = value

        return run
