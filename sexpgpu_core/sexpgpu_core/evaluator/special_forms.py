"""The special forms of control and binding: form to node. Function forms and definitions have
their own files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..diagnostics import Problem, lookup, problem
from ..reader import MadeSpan, element_span, span_of
from ..spans import Span
from .analyzer import Analyzer
from .binding_nodes import (
    Binding,
    Let,
    MultipleValueBind,
    MultipleValueCall,
    MultipleValueList,
    MultipleValueProg1,
    Progv,
)
from .declarations import Declarations, items_of, parse_body
from .definitions import core_symbol
from .expansion import SPECIAL_FORMS
from .mistakes import shape
from .nodes import Constant, GlobalSet, If, LocalSet, Node, progn
from .printer import brief
from .scope import SPECIAL, Scope, SymbolMacro, Tail, Variable
from .values import NIL, Cons, Symbol, Value, first_value

SETF = core_symbol("SETF")
LOADING = {"LOAD-TOPLEVEL", "LOAD", "COMPILE-TOPLEVEL", "COMPILE"}


Handler = Callable[[Analyzer, Cons, Scope, "Tail | None"], Node]


def check_size(form: Cons, name: str, wants: str, least: int, most: int | None = None) -> None:
    """E-FORM-SHAPE unless a form has `least` to `most` operands."""
    size, rest = 0, form.cdr
    while rest.__class__ is Cons:
        size += 1
        rest = rest.cdr
    if rest is not NIL or size < least or (most is not None and size > most):
        raise shape(name, wants)


def special_form(
    name: str, wants: str, least: int = 0, most: int | None = None
) -> Callable[[Handler], Handler]:
    """Register the analyzer of a form of `least` to `most` operands; `wants` shows its shape."""
    core_symbol(name.upper())

    def define(handler: Handler) -> Handler:
        def analyze(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
            check_size(form, name, wants, least, most)
            try:
                return handler(an, form, scope, tail)
            except Problem as error:
                raise shaped(error, form, wants) from None

        SPECIAL_FORMS[name.upper()] = analyze
        return handler

    return define


def shaped(error: Problem, form: Cons, wants: str) -> Problem:
    """An E-FORM-SHAPE of a written form itself that shows no shape yet shows it."""
    d, here = error.diagnostic, form.span
    plain = d.code == "E-FORM-SHAPE" and d.hint == lookup(d.code).fix
    if plain and here is not None and d.span in (None, here) and not isinstance(here, MadeSpan):
        error.diagnostic = d._replace(hint=f"write it as {wants}")
    return error


@special_form("quote", "(quote object)", 1, 1)
def _quote(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    return Constant(form.cdr.car)


@special_form("progn", "(progn form...)")
def _progn(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    return an.forms(form.cdr, scope, tail)


@special_form("if", "(if test then [else]); (progn form...) makes one form of several", 2, 3)
def _if(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    rest = form.cdr
    test = an.node(rest.car, scope, None, rest)
    before = an.weight
    then = an.node(rest.cdr.car, scope, tail, rest.cdr)
    between = an.weight
    last = rest.cdr.cdr
    otherwise = an.node(last.car, scope, tail, last) if last is not NIL else Constant(NIL)
    an.dearest([before, between, an.weight])
    return If(test, then, otherwise, form)


@special_form("the", "(the type form)", 2, 2)
def _the(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    from .typed_nodes import The

    kind, at = form.cdr.car, form.cdr.cdr
    return The(kind, an.node(at.car, scope, None, at), form)


def variable_name(name: Value, form: Value) -> Symbol:
    """A symbol that may be bound or assigned."""
    if name.__class__ is not Symbol:
        raise problem("E-FORM-SHAPE", f"{brief(name)} is no variable: a variable is a symbol")
    if name.constant:
        raise problem("E-REDEFINE", f"{name!r} is a constant and cannot be bound or assigned")
    found: Symbol = name
    return found


@special_form("setq", "(setq variable value ...)")
def _setq(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    pairs = items_of(form.cdr, form)
    if len(pairs) % 2:
        raise shape("setq", "(setq variable value ...)")
    nodes: list[Node] = []
    rest = form.cdr
    while rest is not NIL:
        nodes.append(assignment(an, rest, scope, form))
        rest = rest.cdr.cdr
    if not nodes:
        return Constant(NIL)
    return progn(nodes, [False] * len(nodes))


def assignment(an: Analyzer, pair: Cons, scope: Scope, form: Cons) -> Node:
    """The node of `(setq name value)`; `pair` holds the name, its cdr the value."""
    name, at = pair.car, pair.cdr
    symbol = variable_name(name, form)
    found = scope.variables.get(symbol)
    if found.__class__ is SymbolMacro or (found is None and symbol in an.m.symbol_macros):
        return an.node(Cons(SETF, Cons(name, Cons(at.car, NIL)), form.span), scope)
    value = an.node(at.car, scope, None, at)
    if found.__class__ is Variable:
        found.assigned = True
        found.used = True
        scope.function.reach(found)
        return LocalSet(found, scope.function, value)
    if found is None and not symbol.special:
        an.assigned_global(symbol, pair)
    return GlobalSet(symbol, value)


@special_form("let", "(let ((name value) ...) form...)", 1)
def _let(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    body = parse_body(form.cdr.cdr)
    top = scope.function.top
    an.watching.append([])
    bindings, added = [], dict[Symbol, Any]()
    for name, at in binding_pairs(form.cdr.car, form, "let"):
        value = an.node(at.car, scope, None, at) if at is not None else Constant(NIL)
        target, meaning = bind(an, name, scope, body.declared, form.cdr.car)
        bindings.append(Binding(target, value))
        added[name] = meaning
    inner = scope.with_variables(added)
    special = any(b.target.__class__ is Symbol for b in bindings)
    code = an.body(body, inner, without_again(tail) if special else tail)
    an.check_used(an.watching.pop(), body.forms)
    scope.function.top = top
    return Let(bindings, code, scope.function) if bindings else code


@special_form("let*", "(let* ((name value) ...) form...)", 1)
def _let_star(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    body = parse_body(form.cdr.cdr)
    top = scope.function.top
    an.watching.append([])
    bindings = []
    inner = scope
    for name, at in binding_pairs(form.cdr.car, form, "let*"):
        value = an.node(at.car, inner, None, at) if at is not None else Constant(NIL)
        target, meaning = bind(an, name, scope, body.declared, form.cdr.car)
        bindings.append(Binding(target, value))
        inner = inner.with_variables({name: meaning})
    special = any(b.target.__class__ is Symbol for b in bindings)
    code = an.body(body, inner, without_again(tail) if special else tail)
    an.check_used(an.watching.pop(), body.forms)
    scope.function.top = top
    if not special:
        return Let(bindings, code, scope.function) if bindings else code
    for binding in reversed(bindings):
        code = Let([binding], code, scope.function)
    return code


def without_again(tail: Tail | None) -> Tail | None:
    """The same position, but a dynamic binding must be undone after it."""
    return tail.statement() if tail is not None else None


def binding_pairs(form: Value, whole: Cons, name: str) -> list[tuple[Symbol, Value]]:
    """Names of a binding list, each with the cons that holds its value or None."""
    pairs: list[tuple[Symbol, Value]] = []
    what = "expansion" if name == "symbol-macrolet" else "value"
    wants = f"({name} ((name {what}) ...) form...)"
    while form.__class__ is Cons:
        item = form.car
        if item.__class__ is not Cons:
            if item.__class__ is not Symbol:
                raise shape(name, wants, f"{brief(item)} is no binding")
            pairs.append((variable_name(item, whole), None))
        else:
            parts = items_of(item, whole)
            if len(parts) > 2:
                raise shape(name, wants, f"({brief(parts[0])} ...) has {len(parts)} parts")
            pairs.append((variable_name(parts[0], whole), item.cdr if len(parts) > 1 else None))
        form = form.cdr
    if form is not NIL:
        from .foreign import bindings_in_brackets

        if form.__class__ is Symbol and form.name[:1] != "[" and name == "let":
            wants = f"(labels (({form!r} (variable ...) form...)) ({form!r} value ...)), do or loop"
        edit = bindings_in_brackets(span_of(whole))
        raise shape(name, wants, f"{brief(form)} is no list of bindings", edit)
    return pairs


def bind(
    an: Analyzer, name: Symbol, scope: Scope, declared: Declarations, at: Value
) -> tuple[Variable | Symbol, Any]:
    """A new binding of a name: where its value goes, and what the name means then."""
    if name.special or name in declared.special:
        return name, SPECIAL
    variable = scope.function.local(name, an.user_span(at))
    an.bound(variable, declared)
    return variable, variable


def declared_behind(an: Analyzer, at: Cons) -> None:
    """What was just bound is declared behind the form at `at`, not behind its names."""
    end = element_span(at)
    for variable in an.watching[-1]:
        span = variable.span
        if span is not None and end is not None and end.source is span.source:
            variable.span = Span(span.source, span.start, end.end)


@special_form("locally", "(locally declaration... form...)")
def _locally(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    return an.body(parse_body(form.cdr), scope, tail)


@special_form("declare", "(declare ...) at the head of a body")
def _declare(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    raise problem("E-FORM-SHAPE", "declare stands only at the head of a body")


@special_form("symbol-macrolet", "(symbol-macrolet ((name expansion) ...) form...)", 1)
def _symbol_macrolet(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    added = {}
    for name, at in binding_pairs(form.cdr.car, form, "symbol-macrolet"):
        if name.special:
            raise problem("E-FORM-SHAPE", f"symbol-macrolet: {name!r} is a special variable")
        added[name] = SymbolMacro(at.car if at is not None else NIL)
    body = parse_body(form.cdr.cdr)
    if body.declared.special & added.keys():
        raise problem("E-FORM-SHAPE", "symbol-macrolet: a name cannot be declared special")
    return an.body(body, scope.with_variables(added), tail)


@special_form("multiple-value-call", "(multiple-value-call function form...)", 1)
def _multiple_value_call(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    function = an.node(form.cdr.car, scope, None, form.cdr)
    rest = Cons(form.car, form.cdr.cdr)
    return MultipleValueCall(function, an.arguments(rest, scope), form)


@special_form("multiple-value-prog1", "(multiple-value-prog1 form form...)", 1)
def _multiple_value_prog1(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    first = an.node(form.cdr.car, scope, None, form.cdr)
    if form.cdr.cdr is NIL:
        return first
    return MultipleValueProg1(first, an.forms(form.cdr.cdr, scope, None))


@special_form("multiple-value-list", "(multiple-value-list form)", 1, 1)
def _multiple_value_list(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    return MultipleValueList(an.node(form.cdr.car, scope, None, form.cdr))


@special_form("multiple-value-bind", "(multiple-value-bind (name...) values-form form...)", 2)
def _multiple_value_bind(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    names = [variable_name(n, form) for n in items_of(form.cdr.car, form)]
    at = form.cdr.cdr
    body = parse_body(at.cdr)
    value = an.node(at.car, scope, None, at)
    top = scope.function.top
    an.watching.append([])
    targets, added = [], {}
    for name in names:
        target, meaning = bind(an, name, scope, body.declared, form.cdr.car)
        targets.append(target)
        added[name] = meaning
    declared_behind(an, at)
    special = any(t.__class__ is Symbol for t in targets)
    inner = scope.with_variables(added)
    code = an.body(body, inner, without_again(tail) if special else tail)
    an.check_used(an.watching.pop(), body.forms)
    scope.function.top = top
    return MultipleValueBind(targets, value, code, scope.function)


@special_form("progv", "(progv symbols values form...)", 2)
def _progv(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    symbols, values = form.cdr, form.cdr.cdr
    body = an.forms(values.cdr, scope, without_again(tail))
    return Progv(
        an.node(symbols.car, scope, None, symbols),
        an.node(values.car, scope, None, values),
        body,
        form,
    )


@special_form("eval-when", "(eval-when (situation...) form...)", 1)
def _eval_when(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    situations = {s.name for s in items_of(form.cdr.car, form) if s.__class__ is Symbol}
    wanted = {"EXECUTE", "EVAL"} | (LOADING if an.loading else set())
    if situations & wanted:
        return an.forms(form.cdr.cdr, scope, tail)
    return Constant(NIL)


@special_form("load-time-value", "(load-time-value form [read-only-p])", 1, 2)
def _load_time_value(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    return Constant(first_value(an.evaluate_now(form.cdr.car)))
