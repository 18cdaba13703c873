"""function, lambda, flet, labels, macrolet, destructuring-bind, backquote: forms that make or
take apart.
"""

from __future__ import annotations

from typing import Any

from ..diagnostics import problem
from .analyzer import LAMBDA, Analyzer
from .binders import analyze_parameters
from .binding_nodes import Binding, Let
from .calls import FunctionOf, Store
from .closures import LambdaNode
from .declarations import items_of, parse_body
from .definitions import BUILTINS, NATIVE_MACROS, TENSOR_NAMES, core_symbol
from .expansion import SPECIAL_FORMS
from .lambda_lists import parse_lambda_list
from .machine import Machine
from .macro_functions import Destructure, macro_node, make_macro
from .mistakes import call_mistake, no_function_named, shape
from .nodes import Code, LocalRef, Node
from .printer import brief
from .scope import LocalMacro, Scope, Tail, Variable
from .special_forms import declared_behind, special_form, without_again
from .values import NIL, Cons, Symbol, Value

SETF = core_symbol("SETF")


def is_setf_name(name: Value) -> bool:
    """`(setf symbol)`."""
    return (
        name.__class__ is Cons
        and name.car is SETF
        and name.cdr.__class__ is Cons
        and name.cdr.car.__class__ is Symbol
        and name.cdr.cdr is NIL
    )


def is_standard(name: Symbol) -> bool:
    """Whether a symbol names a function, macro or special form that no file may define."""
    if name.home != "" or name.name in TENSOR_NAMES or name.name.lower() in TENSOR_NAMES:
        return False
    return name.name in BUILTINS or name.name in NATIVE_MACROS or name.name in SPECIAL_FORMS


class SetfName(tuple):  # type: ignore[type-arg]
    """Key of a local function named `(setf symbol)`."""

    __slots__ = ()


def function_key(name: Value, where: str) -> Any:
    """What a function name is found by in a scope."""
    if name.__class__ is Symbol and name is not NIL:
        if where != "function" and is_standard(name):
            raise problem("E-REDEFINE", f"{where}: {name!r} is a name of the standard",
                          hint="give your own another name", name=repr(name))  # fmt: skip
        return name
    if is_setf_name(name):
        return SetfName((name.cdr.car,))
    raise problem("E-FORM-SHAPE", f"{where}: {brief(name)} is no function name")


def block_name(name: Value) -> Symbol:
    """The block around the body of a function."""
    found: Symbol = name.cdr.car if name.__class__ is Cons else name
    return found


@special_form("function", "(function name) or (function (lambda ...))", 1, 1)
def _function(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name = form.cdr.car
    if name.__class__ is Cons and name.car is LAMBDA:
        return an.node(name, scope)
    local = scope.functions.get(function_key(name, "function"))
    if local.__class__ is Variable:
        local.used = True
        scope.function.reach(local)
        return LocalRef(local, scope.function)
    if name.__class__ is Cons:
        return FunctionOf(an.m.setf_cell(name.cdr.car, name), form)
    if local is not None or (name.name in SPECIAL_FORMS and name.home == ""):
        raise problem("E-NAME-FUNCTION", f"{name!r} is a macro or special form, no function")
    cell = an.m.cell(name)
    if cell.function is None:
        if an.m.macro(name) is not None:
            raise problem("E-NAME-FUNCTION", f"{name!r} is a macro, no function")
        if name.home == "":
            raise no_function_named(an.m, cell)
        an.calls.append((cell, -1, form))
    return FunctionOf(cell, form)


@special_form("lambda", "(lambda (parameter...) form...)", 1)
def _lambda(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    node = an.function("lambda", form.cdr.car, form.cdr.cdr, scope)
    node.span = form.span
    return node


@special_form("%named-lambda", "(%named-lambda name lambda-list form...)", 2)
def _named_lambda(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name, rest = form.cdr.car, form.cdr.cdr
    node = an.function(brief(name), rest.car, rest.cdr, scope, block_name(name))
    node.span = form.span
    return node


def _definitions(form: Cons, wants: str) -> list[tuple[Value, Cons]]:
    """(name, cons that holds the lambda list) of each local function."""
    found = []
    for item in items_of(form.cdr.car, form):
        if item.__class__ is not Cons or item.cdr.__class__ is not Cons:
            raise shape(form.car.name.lower(), wants)
        found.append((item.car, item))
    return found


@special_form("flet", "(flet ((name (parameter...) form...) ...) form...)", 1)
def _flet(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    top = scope.function.top
    bindings, added, watched = [], {}, []
    for name, item in _definitions(form, "(flet ((name (parameter...) form...) ...) form...)"):
        key = function_key(name, "flet")
        node = an.function(brief(name), item.cdr.car, item.cdr.cdr, scope, block_name(name))
        node.span = item.span
        variable = scope.function.local(name, an.user_span(item))
        bindings.append(Binding(variable, node))
        added[key] = variable
        watched.append(variable)
    body = parse_body(form.cdr.cdr)
    code = an.body(body, scope.with_functions(added), tail)
    scope.function.top = top
    return Let(bindings, code, scope.function) if bindings else code


@special_form("labels", "(labels ((name (parameter...) form...) ...) form...)", 1)
def _labels(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    top = scope.function.top
    wants = "(labels ((name (parameter...) form...) ...) form...)"
    definitions = _definitions(form, wants)
    added: dict[Any, Variable] = {}
    for name, item in definitions:
        variable = scope.function.local(name, an.user_span(item))
        variable.assigned = True
        added[function_key(name, "labels")] = variable
    inner = scope.with_functions(added)
    nodes = []
    for (name, item), variable in zip(definitions, added.values()):
        node = an.function(
            brief(name), item.cdr.car, item.cdr.cdr, inner, block_name(name), variable
        )
        node.span = item.span
        nodes.append((variable, node))
    code = an.body(parse_body(form.cdr.cdr), inner, tail)
    scope.function.top = top
    return Labels(nodes, code, scope)


class Labels(Node):
    """Functions that see each other: their boxes are made before any of them."""

    __slots__ = ("body", "nodes", "scope", "single")

    def __init__(self, nodes: list[tuple[Variable, LambdaNode]], body: Node, scope: Scope) -> None:
        self.nodes = nodes
        self.body = body
        self.scope = scope.function
        self.single = body.single

    def compile(self, m: Machine) -> Code:
        steps = [
            (self.scope.slot(variable), variable.boxed, node.compile(m))
            for variable, node in self.nodes
        ]
        boxes = [slot for slot, boxed, _ in steps if boxed]
        body = self.body.compile(m)

        def run(f: list[Any]) -> Value:
            for slot in boxes:
                f[slot] = [None]
            for slot, boxed, make in steps:
                if boxed:
                    f[slot][0] = make(f)
                else:
                    f[slot] = make(f)
            return body(f)

        return run


@special_form("macrolet", "(macrolet ((name (parameter...) form...) ...) form...)", 1)
def _macrolet(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    added = {}
    outside = scope.macros_only()
    for name, item in _definitions(form, "(macrolet ((name (parameter...) form...) ...) form...)"):
        if name.__class__ is not Symbol:
            raise problem("E-FORM-SHAPE", f"macrolet: {brief(name)} is no symbol")
        function_key(name, "macrolet")
        errors = len(an.errors)
        node = macro_node(an, name, item.cdr.car, item.cdr.cdr, outside)
        if len(an.errors) > errors:
            continue
        added[name] = LocalMacro(make_macro(an.m, node))
    return an.body(parse_body(form.cdr.cdr), scope.with_functions(added), tail)


@special_form("destructuring-bind", "(destructuring-bind (name...) list form...)", 2)
def _destructuring_bind(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    pattern = parse_lambda_list(form.cdr.car, nested=True)
    at = form.cdr.cdr
    body = parse_body(at.cdr)
    value = an.node(at.car, scope, None, at)
    top = scope.function.top
    an.watching.append([])
    binder, inner = analyze_parameters(an, pattern, scope, body.declared, False)
    declared_behind(an, at)
    code = an.body(body, inner, without_again(tail))
    an.check_used(an.watching.pop(), body.forms)
    scope.function.top = top
    return Destructure("destructuring-bind", value, binder, code, False, form)


@special_form("%store", "(setf (name argument...) value)", 2)
def _store(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name = form.cdr.car
    nodes = an.arguments(form.cdr, scope)
    cell = an.m.setf_cell(name, Cons(SETF, Cons(name, NIL)))
    function = cell.function
    if function is not None and name.home == "":
        most = function.most if function.most is not None else len(nodes)
        if not function.least <= len(nodes) <= most:
            raise call_mistake(function, len(nodes))
    return Store(cell, nodes[:-1], nodes[-1], form)
