"""Lambda lists to stores into a frame: arguments of a call, or the parts of a destructured list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..diagnostics import Problem, problem
from ..records import NamedTuple
from .binding_nodes import store_code
from .lambda_lists import LambdaList, Parameter
from .machine import Machine
from .nodes import Node, value_code
from .scope import SPECIAL, FunctionScope, Scope, Variable
from .values import NIL, Cons, Symbol, T, Value, keyword, list_items, make_list

if TYPE_CHECKING:
    from .analyzer import Analyzer
    from .declarations import Declarations

LONG_REST = 16
"""Arguments from which the list of a &rest is paid for."""

ALLOW = keyword("ALLOW-OTHER-KEYS")
Bind = Callable[[list[Any], Sequence[Value], Sequence[Value], Value], None]
"""(frame, positional values, values after them, the same as a Lisp list or None)."""

Store = Callable[[list[Any], Value], None]


class Optional(NamedTuple):
    """A parameter that has a default. `target`: a variable, a special symbol or a Binder."""

    target: Any
    default: Node
    supplied: Variable | Symbol | None
    key: Symbol | None


class Binder:
    """Where each part of a lambda list goes."""

    def __init__(self, form: LambdaList, scope: FunctionScope) -> None:
        self.form = form
        self.scope = scope
        self.whole: Any = None
        self.required: list[Any] = []
        self.optional: list[Optional] = []
        self.rest: Any = None
        self.keys: list[Optional] | None = None
        self.aux: list[Optional] = []
        self.specials: list[Symbol] = []

    def compile(self, m: Machine, name: str, skip: int = 0) -> Bind:
        """`skip`: how many required parameters are in their slots already."""
        steps = [self._store(m, name, target) for target in self.required]
        needed = list(enumerate(steps))[skip:]
        first = len(self.required)
        optional = [self._optional(m, name, o) for o in self.optional]
        rest = self._store(m, name, self.rest) if self.rest is not None else None
        keys = self._keys(m, name) if self.keys is not None else None
        aux = [(value_code(o.default, m), self._store(m, name, o.target)) for o in self.aux]

        def bind(f: list[Any], items: Sequence[Value], extra: Sequence[Value], tail: Value) -> None:
            for index, store in needed:
                store(f, items[index])
            for index, take in enumerate(optional, first):
                take(f, items, index)
            if rest is not None:
                if len(extra) > LONG_REST:
                    m.fuel -= len(extra)
                rest(f, make_list(extra) if tail is None else tail)
            if keys is not None:
                keys(f, extra)
            for default, store in aux:
                store(f, default(f))

        return bind

    def _store(self, m: Machine, name: str, target: Any) -> Store:
        if isinstance(target, Binder):
            return target.destructure(m, name)
        return store_code(target, self.scope)  # type: ignore[no-any-return]

    def _optional(self, m: Machine, name: str, o: Optional) -> Any:
        default, store = value_code(o.default, m), self._store(m, name, o.target)
        supplied = store_code(o.supplied, self.scope) if o.supplied is not None else _ignore

        def take(f: list[Any], items: Sequence[Value], index: int) -> None:
            given = index < len(items)
            store(f, items[index] if given else default(f))
            supplied(f, T if given else NIL)

        return take

    def _keys(self, m: Machine, name: str) -> Any:
        assert self.keys is not None
        rows = []
        for o in self.keys:
            supplied = store_code(o.supplied, self.scope) if o.supplied is not None else _ignore
            store = self._store(m, name, o.target)
            rows.append((o.key, value_code(o.default, m), store, supplied))
        known = dict.fromkeys([row[0] for row in rows])
        open_ended = self.form.other_keys

        def take(f: list[Any], extra: Sequence[Value]) -> None:
            given = keyword_arguments(name, extra, known, open_ended) if extra else {}
            for key, default, store, supplied in rows:
                if key in given:
                    store(f, given[key])
                    supplied(f, T)
                else:
                    store(f, default(f))
                    supplied(f, NIL)

        return take

    def destructure(self, m: Machine, name: str) -> Store:
        """Takes a Lisp list apart; E-CALL-ARGUMENTS when it does not fit."""
        form = self.form
        bind = self.compile(m, name)
        whole = self._store(m, name, self.whole) if self.whole is not None else _ignore
        least, most = form.least, form.least + len(form.optional)
        open_ended, keyed = form.rest is not None, form.keys is not None

        def store(f: list[Any], value: Value) -> None:
            whole(f, value)
            items: list[Value] = []
            tail = value
            while len(items) < most and tail.__class__ is Cons:
                items.append(tail.car)
                tail = tail.cdr
            if len(items) < least or (not open_ended and not keyed and tail is not NIL):
                raise misfit(name, form, value)
            bind(f, items, _extra(name, form, tail, value) if keyed else (), tail)

        return store


def _extra(name: str, form: LambdaList, tail: Value, value: Value) -> list[Value]:
    try:
        return list_items(tail)
    except TypeError:
        raise misfit(name, form, value) from None


def _ignore(f: list[Any], value: Value) -> None:
    pass


def misfit(name: str, form: LambdaList, value: Value) -> Problem:
    """A list that does not have the parts of a lambda list."""
    from .printer import brief

    shown, wanted = brief(value), brief(form.form)
    return problem("E-CALL-ARGUMENTS", f"{name}: {shown} does not fit {wanted}", wanted=wanted)


def keyword_arguments(
    name: str, extra: Sequence[Value], known: dict[Any, None], open_ended: bool
) -> dict[Value, Value]:
    """Keyword arguments by key, the first of each; a Problem for one that is not known."""
    if len(extra) % 2:
        from .keyword_mistakes import unpaired

        raise unpaired(name, list(map(repr, known)), extra)
    given: dict[Value, Value] = {}
    for at in range(0, len(extra), 2):
        given.setdefault(extra[at], extra[at + 1])
    if open_ended or given.keys() <= known.keys() or given.get(ALLOW, NIL) is not NIL:
        return given
    for key in given:
        if key not in known and key is not ALLOW:
            from .keyword_mistakes import unknown

            raise unknown(name, key, list(map(repr, known)), extra)
    return given


def analyze_parameters(
    an: Analyzer, form: LambdaList, scope: Scope, declared: Declarations, as_arguments: bool
) -> tuple[Binder, Scope]:
    """Variables for all of a lambda list; `as_arguments`: required ones begin the frame."""
    return _Binding(an, scope, declared).analyze(form, as_arguments)


class _Binding:
    def __init__(self, an: Analyzer, scope: Scope, declared: Declarations) -> None:
        self.an = an
        self.scope = scope
        self.declared = declared
        self.specials: list[Symbol] = []

    def analyze(self, form: LambdaList, as_arguments: bool) -> tuple[Binder, Scope]:
        binder = Binder(form, self.scope.function)
        binder.specials = self.specials
        self._fill(binder, form, as_arguments)
        return binder, self.scope

    def _fill(self, binder: Binder, form: LambdaList, as_arguments: bool) -> None:
        if form.whole is not None:
            binder.whole = self._target(form.whole, form)
        hidden = [self._argument(p, form) for p in form.required] if as_arguments else []
        if as_arguments:
            binder.required = hidden
        else:
            binder.required = [self._target(p, form) for p in form.required]
        binder.optional = [self._optional(p, form) for p in form.optional]
        if form.rest is not None:
            binder.rest = self._target(form.rest, form)
        if form.keys is not None:
            binder.keys = [self._optional(p, form) for p in form.keys]
        binder.aux = [self._optional(p, form) for p in form.aux]

    def _is_special(self, name: Symbol) -> bool:
        return name.special or name in self.declared.special

    def _argument(self, name: Any, form: LambdaList) -> Variable | Symbol:
        function = self.scope.function
        if self._is_special(name):
            function.argument(name)
            return self._special(name)
        variable = function.argument(name, self.an.user_span(form.form))
        self._bind(name, variable)
        return variable

    def _special(self, name: Symbol) -> Symbol:
        self.specials.append(name)
        self.scope = self.scope.with_variables({name: SPECIAL})
        return name

    def _bind(self, name: Symbol, variable: Variable) -> None:
        self.an.bound(variable, self.declared)
        self.scope = self.scope.with_variables({name: variable})

    def _target(self, pattern: Any, form: LambdaList) -> Any:
        if isinstance(pattern, LambdaList):
            inner = Binder(pattern, self.scope.function)
            self._fill(inner, pattern, False)
            return inner
        if self._is_special(pattern):
            return self._special(pattern)
        variable = self.scope.function.local(pattern, self.an.user_span(form.form))
        self._bind(pattern, variable)
        return variable

    def _optional(self, p: Parameter, form: LambdaList) -> Optional:
        default = self.an.node(p.default, self.scope, at=p.at)
        target = self._target(p.pattern, form)
        supplied = self._target(p.supplied, form) if p.supplied is not None else None
        return Optional(target, default, supplied, p.key)
