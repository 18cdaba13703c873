"""defun, defmacro, defvar and their like: nodes that define a global name when they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..diagnostics import problem
from . import raising
from .analyzer import Analyzer
from .declarations import items_of
from .function_forms import block_name, is_setf_name
from .machine import Machine
from .macro_functions import MacroFunction, macro_node
from .mistakes import shape
from .nodes import Code, Constant, If, Node, value_code
from .printer import brief
from .scope import Scope, Tail
from .special_forms import special_form
from .values import NIL, UNBOUND, Cons, String, Symbol, T, Value, first_value, make_list


class Define(Node):
    """Runs `action(value)` on the value of a node, with errors placed at the form."""

    __slots__ = ("action", "form", "value")
    single = True

    def __init__(self, value: Node, action: Callable[[Value], Value], form: Value) -> None:
        self.value = value
        self.action = action
        self.form = form

    def compile(self, m: Machine) -> Code:
        code, action, form = value_code(self.value, m), self.action, self.form

        def run(f: list[Any]) -> Value:
            value = code(f)
            try:
                return action(value)
            except Exception as error:
                raise raising.raised(m, error, form) from None

        return run


class Each(Node):
    """The values of several nodes, for a definition's action alone."""

    __slots__ = ("nodes",)
    single = True

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes

    def compile(self, m: Machine) -> Code:
        codes = [value_code(node, m) for node in self.nodes]
        return lambda f: [code(f) for code in codes]


@special_form("defun", "(defun name (parameter...) [doc] form...)", 2)
def _defun(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name, m = form.cdr.car, an.m
    if not (is_setf_name(name) or (name.__class__ is Symbol and not name.constant)):
        raise _no_name(an, "defun", name, "(defun name (parameter...) [doc] form...)")
    symbol = block_name(name)
    an.check_definable(symbol, "function")
    cell = m.setf_cell(symbol, name) if name.__class__ is Cons else m.cell(name)
    errors = len(an.errors)
    rest = form.cdr.cdr
    callee = cell if name.__class__ is Symbol else None
    node = an.function(brief(name), rest.car, rest.cdr, scope, symbol, callee)
    node.span = form.span
    if len(an.errors) > errors:
        cell.poisoned = True

    def define(function: Value) -> Value:
        if name is symbol:
            m.macros.pop(symbol, None)
        cell.define(function)
        cell.span = form.span
        return name

    return Define(node, define, form)


def _no_name(an: Analyzer, kind: str, name: Value, wants: str) -> Exception:
    if name.__class__ is Symbol:
        return problem("E-REDEFINE", f"{kind}: {name!r} is a constant and cannot be defined")
    return shape(kind, wants, f"{brief(name)} is no name")


@special_form("defmacro", "(defmacro name (parameter...) [doc] form...)", 2)
def _defmacro(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name, m = form.cdr.car, an.m
    if name.__class__ is not Symbol or name.constant:
        raise _no_name(an, "defmacro", name, "(defmacro name (parameter...) [doc] form...)")
    an.check_definable(name, "macro")
    rest = form.cdr.cdr
    node = macro_node(an, name, rest.car, rest.cdr, scope)
    node.span = form.span

    def define(function: Value) -> Value:
        m.macros[name] = MacroFunction(node.name, function.call, node.text, node.doc)
        if name in m.cells:
            m.cells[name].clear()
        return name

    return Define(node, define, form)


def _variable(an: Analyzer, form: Cons, kind: str) -> Symbol:
    name = form.cdr.car
    if name.__class__ is not Symbol or name.keyword:
        raise shape(kind, f"({kind} name value [doc])", f"{brief(name)} is no variable name")
    an.check_definable(name, "variable")
    found: Symbol = name
    return found


def _value(an: Analyzer, form: Cons, scope: Scope) -> Node:
    at = form.cdr.cdr
    return an.node(at.car, scope, None, at) if at is not NIL else Constant(NIL)


@special_form("defparameter", "(defparameter name value [doc])", 2, 3)
def _defparameter(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name = _variable(an, form, "defparameter")
    value = _value(an, form, scope)
    name.special = True
    return Define(value, lambda value: an.m.define_variable_value(name, value), form)


@special_form("defvar", "(defvar name [value [doc]])", 1, 3)
def _defvar(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name = _variable(an, form, "defvar")
    value = _value(an, form, scope)
    name.special = True
    if form.cdr.cdr is NIL:
        return Constant(name)
    set_it = Define(value, lambda value: an.m.define_variable_value(name, value), form)
    return If(Define(Constant(NIL), lambda _: _truth(name.value is UNBOUND), form), set_it,
              Constant(name), form)  # fmt: skip


def _truth(value: bool) -> Value:
    return T if value else NIL


@special_form("defconstant", "(defconstant name value [doc])", 2, 3)
def _defconstant(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name = _variable(an, form, "defconstant")

    def define(value: Value) -> Value:
        name.special = True
        name.constant = True
        name.value = value
        return name

    return Define(_value(an, form, scope), define, form)


@special_form("define-symbol-macro", "(define-symbol-macro name expansion)", 2, 2)
def _define_symbol_macro(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name = _variable(an, form, "define-symbol-macro")
    if name.special:
        raise problem("E-REDEFINE", f"{name!r} is a variable already")
    expansion = form.cdr.cdr.car

    def define(_: Value) -> Value:
        an.m.symbol_macros[name] = expansion
        return name

    return Define(Constant(NIL), define, form)


@special_form("deftype", "(deftype name (parameter...) [doc] form...)", 2)
def _deftype(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    from .type_specifiers import EXPANDERS

    name = form.cdr.car
    if name.__class__ is not Symbol or name.constant:
        raise shape("deftype", "(deftype name (parameter...) form...)")
    an.check_definable(name, "type")
    rest = form.cdr.cdr
    node = macro_node(an, name, rest.car, rest.cdr, scope, default_star=True)
    node.span = form.span

    def define(function: Value) -> Value:
        def expand(*arguments: Value) -> Value:
            return first_value(function.call(Cons(name, make_list(arguments)), NIL))

        EXPANDERS[name] = expand
        return name

    return Define(node, define, form)


@special_form("declaim", "(declaim declaration...)")
def _declaim(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    for declaration in items_of(form.cdr, form):
        items = items_of(declaration, form) if declaration.__class__ is Cons else []
        if items and items[0].__class__ is Symbol and items[0].name == "SPECIAL":
            for name in items[1:]:
                if name.__class__ is Symbol and name.home != "":
                    name.special = True
    return Constant(NIL)


def docstring(value: Value) -> str:
    """The text of a docstring; "" if it is something else."""
    return value.text() if value.__class__ is String else ""
