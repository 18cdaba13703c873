"""handler-case, handler-bind, with-simple-restart: who is asked when something is signalled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..diagnostics import problem
from ..records import NamedTuple
from .analyzer import Analyzer
from .binding_nodes import all_values, store_code
from .classes import CLASSES
from .conditions import Condition, condition_class, standard_type
from .declarations import items_of, parse_body
from .definitions import native_macro
from .designators import function_of
from .exits import Exit, Tag
from .machine import Machine
from .made_forms import form as make
from .made_forms import form_with, fresh, listed
from .mistakes import shape
from .nodes import Code, Node, value_code
from .printer import brief
from .scope import FunctionScope, Scope, Tail, Variable
from .special_forms import bind, special_form, variable_name, without_again
from .type_specifiers import typep
from .values import NIL, Cons, MultipleValues, String, Symbol, T, Value

Fits = Callable[[Condition], bool]


def test_of(kind: Value) -> Fits:
    """Whether a condition is of a type."""
    if condition_class(kind) is not None:
        return lambda condition: CLASSES[kind] in condition.type.ancestors
    return lambda condition: typep(condition, kind)


class Clause(NamedTuple):
    kind: Value
    target: Variable | Symbol | None
    body: Node


class HandlerCase(Node):
    """Unwinds to here when a condition of a clause's type is signalled."""

    __slots__ = ("body", "clauses", "done", "scope")

    def __init__(
        self, body: Node, clauses: list[Clause], done: Node | None, scope: FunctionScope
    ) -> None:
        self.body = body
        self.clauses = clauses
        self.done = done
        self.scope = scope

    def compile(self, m: Machine) -> Code:
        body = self.body.compile(m)
        rows = [(test_of(c.kind), self._clause(m, c)) for c in self.clauses]
        done = value_code(self.done, m) if self.done is not None else None

        def run(f: list[Any]) -> Value:
            tag, depth, before = Tag(NIL), m.depth, m.handlers
            m.handlers = ([(fits, _leaving(tag, code)) for fits, code in rows], before)
            try:
                value = body(f)
            except Exit as leaving:
                if leaving.tag is not tag:
                    raise
                m.handlers, m.depth = before, depth
                code, condition = leaving.value
                return code(f, condition)
            finally:
                m.handlers = before
                tag.live = False
            return value if done is None else done(f).call(*all_values(value))

        return run

    def _clause(self, m: Machine, clause: Clause) -> Any:
        body = clause.body.compile(m)
        if clause.target is None:
            return lambda f, condition: body(f)
        store, symbol = store_code(clause.target, self.scope), clause.target

        def run(f: list[Any], condition: Condition) -> Value:
            old = symbol.value if isinstance(symbol, Symbol) else None
            try:
                store(f, condition)
                return body(f)
            finally:
                if isinstance(symbol, Symbol):
                    symbol.value = old

        return run


def _leaving(tag: Tag, code: Any) -> Callable[[Condition], None]:
    def handler(condition: Condition) -> None:
        raise Exit(tag, (code, condition))

    return handler


WANTS = "(handler-case form (type ([variable]) form...) ...)"


@special_form("handler-case", WANTS, 1)
def _handler_case(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    clauses = items_of(form.cdr.cdr, form)
    done: Node | None = None
    if clauses and clauses[-1].__class__ is Cons and _is_key(clauses[-1].car, "NO-ERROR"):
        last = clauses.pop()
        done = an.node(form_with("LAMBDA", last.cdr), scope)
    body = an.node(form.cdr.car, scope, without_again(tail) if done is None else None, form.cdr)
    rows = [_clause(an, clause, scope, tail) for clause in clauses]
    return HandlerCase(body, rows, done, scope.function)


def _is_key(value: Value, name: str) -> bool:
    return value.__class__ is Symbol and value.keyword and value.name == name


def _clause(an: Analyzer, clause: Value, scope: Scope, tail: Tail | None) -> Clause:
    if clause.__class__ is not Cons or clause.cdr.__class__ is not Cons:
        raise shape("handler-case", WANTS, f"{brief(clause)} is no clause")
    check_condition_type(clause.car)
    names = items_of(clause.cdr.car, clause)
    if len(names) > 1:
        raise shape("handler-case", WANTS, "a clause has one variable at most")
    body = parse_body(clause.cdr.cdr)
    if not names:
        return Clause(clause.car, None, an.body(body, scope, without_again(tail)))
    top = scope.function.top
    an.watching.append([])
    name = variable_name(names[0], clause)
    target, meaning = bind(an, name, scope, body.declared, NIL)
    inner = scope.with_variables({name: meaning})
    code = an.body(body, inner, without_again(tail))
    an.watching.pop()
    scope.function.top = top
    return Clause(clause.car, target, code)


def check_condition_type(kind: Value) -> None:
    """E-FORM-SHAPE for what can be no condition type."""
    if isinstance(kind, (String, int, float)):
        raise problem("E-FORM-SHAPE", f"{brief(kind)} is no condition type")


class HandlerBind(Node):
    """Calls functions when something is signalled inside, before anything is unwound."""

    __slots__ = ("body", "rows", "single")

    def __init__(self, rows: list[tuple[Value, Node]], body: Node) -> None:
        self.rows = rows
        self.body = body
        self.single = body.single

    def compile(self, m: Machine) -> Code:
        rows = [(test_of(kind), value_code(node, m)) for kind, node in self.rows]
        body = self.body.compile(m)

        def run(f: list[Any]) -> Value:
            before = m.handlers
            m.handlers = ([(fits, _calling(code(f))) for fits, code in rows], before)
            try:
                return body(f)
            finally:
                m.handlers = before

        return run


def _calling(designator: Value) -> Callable[[Condition], None]:
    def handler(condition: Condition) -> None:
        function_of(designator).call(condition)

    return handler


@special_form("handler-bind", "(handler-bind ((type function) ...) form...)", 1)
def _handler_bind(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    rows = []
    for item in items_of(form.cdr.car, form):
        if item.__class__ is not Cons or item.cdr.__class__ is not Cons:
            raise shape("handler-bind", "(handler-bind ((type function) ...) form...)")
        check_condition_type(item.car)
        rows.append((item.car, an.node(item.cdr.car, scope, None, item.cdr)))
    return HandlerBind(rows, an.forms(form.cdr.cdr, scope, without_again(tail)))


@native_macro("ignore-errors")
def _ignore_errors(form: Cons, environment: Any) -> Value:
    error = fresh("ERROR")
    clause = listed(standard_type("error").name, listed(error), make("VALUES", NIL, error))
    return make("HANDLER-CASE", form_with("PROGN", form.cdr), clause)


class WithRestart(Node):
    """Offers a restart of a name; taking it gives nil and t."""

    __slots__ = ("body", "name")

    def __init__(self, name: Symbol, body: Node) -> None:
        self.name = name
        self.body = body

    def compile(self, m: Machine) -> Code:
        name, body = self.name, self.body.compile(m)

        def run(f: list[Any]) -> Value:
            return offering(m, name, lambda: body(f), MultipleValues((NIL, T)))

        return run


def offering(m: Machine, name: Symbol, work: Callable[[], Value], taken: Value) -> Value:
    """`work()` with a restart of that name around it; `taken` if it was invoked."""
    tag, depth, before, handlers = Tag(name), m.depth, m.restarts, m.handlers
    m.restarts = (name, tag, before)
    try:
        return work()
    except Exit as leaving:
        if leaving.tag is not tag:
            raise
        m.depth, m.handlers = depth, handlers
        return taken
    finally:
        m.restarts = before
        tag.live = False


@special_form("with-simple-restart", "(with-simple-restart (name format argument...) form...)", 1)
def _with_simple_restart(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    head = items_of(form.cdr.car, form)
    if len(head) < 2 or head[0].__class__ is not Symbol:
        raise shape("with-simple-restart", "(with-simple-restart (name format ...) form...)")
    return WithRestart(head[0], an.forms(form.cdr.cdr, scope, without_again(tail)))
