"""Macros written in Lisp: a lambda of (form environment) that takes the form apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..diagnostics import Problem, Related, problem
from . import raising
from .binders import Binder, analyze_parameters
from .closures import LambdaNode
from .declarations import parse_body
from .definitions import core_symbol
from .lambda_lists import LambdaList, Parameter, parse_lambda_list
from .machine import Machine
from .nodes import Code, LocalRef, Node, value_code
from .printer import brief
from .scope import FunctionScope, Scope
from .values import NIL, QUOTE, Cons, Function, Symbol, Value, first_value

if TYPE_CHECKING:
    from .analyzer import Analyzer


class MacroFunction:
    """An expander (form, environment) -> form made by defmacro, macrolet or deftype."""

    __slots__ = ("call", "doc", "lambda_list", "name")

    def __init__(self, name: str, call: Any, lambda_list: str, doc: str) -> None:
        self.name = name
        self.call = call
        self.lambda_list = lambda_list
        self.doc = doc

    def __call__(self, form: Value, environment: Any) -> Value:
        return first_value(self.call(form, environment))


class Destructure(Node):
    """Takes the value in a slot apart, then runs a body."""

    __slots__ = ("binder", "body", "form", "name", "skip_head", "value")

    def __init__(
        self, name: str, value: Node, binder: Any, body: Node, skip_head: bool, form: Value
    ) -> None:
        self.form = form
        self.name = name
        self.value = value
        self.binder = binder
        self.body = body
        self.skip_head = skip_head

    def compile(self, m: Machine) -> Code:
        code, body = value_code(self.value, m), self.body.compile(m)
        store = self.binder.destructure(m, self.name)
        specials, skip_head, form = self.binder.specials, self.skip_head, self.form

        def run(f: list[Any]) -> Value:
            value = code(f)
            if skip_head:
                store(f, value.cdr)
            else:
                try:
                    store(f, value)
                except Exception as error:
                    raise raising.raised(m, error, form) from None
            return body(f)

        def run_special(f: list[Any]) -> Value:
            saved = [symbol.value for symbol in specials]
            try:
                return run(f)
            finally:
                for symbol, value in zip(specials, saved):
                    symbol.value = value

        return run_special if specials else run


def macro_node(
    an: Analyzer,
    name: Symbol,
    lambda_list: Value,
    forms: Value,
    scope: Scope,
    default_star: bool = False,
) -> LambdaNode:
    """The lambda (form environment) of a macro definition; deftype's defaults are `*`."""
    form = parse_lambda_list(lambda_list, nested=True)
    if default_star:
        form = _with_stars(form)
    body = parse_body(forms, True)
    function = FunctionScope(scope.function, repr(name))
    inner = scope.inside(function)
    shell = LambdaList(NIL, [], [], None, None, False, [], None, None)
    binder = Binder(shell._replace(required=[name, name]), function)
    whole, environment = function.argument(name), function.argument(name)
    binder.required = [whole, environment]
    node = LambdaNode(
        repr(name), binder, function, brief(lambda_list) if lambda_list is not NIL else "()"
    )
    node.doc = body.doc
    an.watching.append([])
    if form.environment is not None:
        environment.used = True
        inner = inner.with_variables({form.environment: environment})
    whole_name = form.whole if isinstance(form.whole, Symbol) else None
    if whole_name is not None:
        inner = inner.with_variables({whole_name: whole})
        form = form._replace(whole=None)
    parts, inner = analyze_parameters(an, form, inner, body.declared, False)
    inside = an.in_block(name, body, inner, None)
    node.body = Destructure(repr(name), LocalRef(whole, function), parts, inside, True, NIL)
    an.check_used(an.watching.pop(), body.forms)
    return node


def _with_stars(form: LambdaList) -> LambdaList:
    star = Cons(QUOTE, Cons(core_symbol("*"), NIL))

    def filled(parameters: list[Parameter]) -> list[Parameter]:
        return [p._replace(default=star) if p.default is NIL else p for p in parameters]

    keys = filled(form.keys) if form.keys is not None else None
    return form._replace(optional=filled(form.optional), keys=keys)


def make_macro(m: Machine, node: LambdaNode) -> MacroFunction:
    """Run the definition: its expander."""
    function: Function = node.compile(m)([])
    return MacroFunction(node.name, function.call, node.text, node.doc)


def macro_failed(form: Cons, error: Exception) -> Exception:
    """What a failed expansion is at the call: a wrong call keeps its code, as what
    the macro refuses by syntax-error does, else E-FORM-MACRO."""
    if not isinstance(error, Problem):
        error = raising.from_python(error)
    inner = error.diagnostic
    if inner.code.startswith("E-LIMIT") or inner.facts.get("kind") == "syntax-error":
        return error
    if inner.span is None and inner.code.startswith("E-CALL"):
        return error
    return problem(
        "E-FORM-MACRO",
        f"expanding ({form.car!r} ...): {inner.message}",
        hint=inner.hint if inner.code != "E-CONDITION" else None,  # the macro's own words say it
        related=(Related("raised here", inner.span), *inner.related) if inner.span else (),
        macro=repr(form.car),
        cause=inner.code,
    )
