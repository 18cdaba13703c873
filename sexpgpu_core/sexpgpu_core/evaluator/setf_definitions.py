"""defsetf, define-setf-expander, define-modify-macro: places and changing macros of the user."""

from __future__ import annotations

from typing import Any

from .analyzer import Analyzer
from .declarations import items_of
from .definition_forms import Define
from .definitions import builtin, core_symbol, native_macro
from .lambda_lists import LambdaList, parse_lambda_list
from .machine import current
from .macro_functions import MacroFunction, macro_node
from .made_forms import form as make
from .made_forms import fresh, listed, quoted
from .mistakes import shape
from .nodes import Constant, Node
from .places import place_of, wrap
from .printer import brief
from .scope import Scope, Tail
from .special_forms import special_form
from .values import NIL, Cons, MultipleValues, Symbol, Value, first_value, make_list


@special_form("define-setf-expander", "(define-setf-expander name (parameter...) form...)", 2)
def _define_setf_expander(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name = _name(an, form)
    rest = form.cdr.cdr
    node = macro_node(an, name, rest.car, rest.cdr, scope)
    node.span = form.span

    def define(function: Value) -> Value:
        an.m.setf_expanders[name] = lambda place, environment: function.call(place, environment)
        return name

    return Define(node, define, form)


def _name(an: Analyzer, form: Cons) -> Symbol:
    name = form.cdr.car
    if name.__class__ is not Symbol or name.constant:
        head = form.car.name.lower()
        raise shape(head, f"({head} name ...)", f"{brief(name)} is no name")
    an.check_definable(name, "place")
    found: Symbol = name
    return found


@special_form(
    "defsetf", "(defsetf name update-function) or (defsetf name (parameter...) (new) form...)", 2
)
def _defsetf(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name = _name(an, form)
    update = form.cdr.cdr.car
    if update.__class__ is Symbol and update is not NIL:

        def define(_: Value) -> Value:
            an.m.setf_expanders[name] = update
            return name

        return Define(Constant(NIL), define, form)
    return _long_defsetf(an, form, name, scope)


def _long_defsetf(an: Analyzer, form: Cons, name: Symbol, scope: Scope) -> Node:
    parameters = form.cdr.cdr
    stores = items_of(parameters.cdr.car, form) if parameters.cdr.__class__ is Cons else [None]
    if any(store.__class__ is not Symbol for store in stores):
        raise shape("defsetf", "(defsetf name (parameter...) (new) form...)")
    pattern = make_list([make_list(stores), parameters.car])
    if _environment(parameters.car) is not None:
        pattern = listed(make_list(stores), *_split_environment(parameters.car))
    node = macro_node(an, name, pattern, parameters.cdr.cdr, scope)
    node.span = form.span

    def define(function: Value) -> Value:
        def expand(place: Cons, environment: Any) -> Value:
            return _long_expansion(function, place, len(stores), environment)

        an.m.setf_expanders[name] = expand
        return name

    return Define(node, define, form)


def _environment(form: Value) -> Symbol | None:
    return parse_lambda_list(form, nested=True).environment


def _split_environment(form: Value) -> list[Value]:
    """The lambda list without &environment, then &environment and its variable."""
    kept: list[Value] = []
    found: list[Value] = []
    while form.__class__ is Cons:
        if form.car.__class__ is Symbol and form.car.name == "&ENVIRONMENT":
            found = [form.car, form.cdr.car]
            form = form.cdr.cdr
            continue
        kept.append(form.car)
        form = form.cdr
    return [make_list(kept), *found]


def _long_expansion(function: Any, place: Cons, count: int, environment: Any) -> Value:
    values = items_of(place.cdr, place)
    names = [fresh("T") for _ in values]
    stores = [fresh("NEW") for _ in range(count)]
    call = Cons(place.car, listed(make_list(stores), make_list(names)))
    writer = first_value(function.call(call, environment))
    return MultipleValues(
        (make_list(names), make_list(values), make_list(stores), writer,
         Cons(place.car, make_list(names)))
    )  # fmt: skip


@builtin("get-setf-expansion", "(place &optional environment)")
def get_setf_expansion(place: Value, environment: Value = NIL) -> Value:
    """The five values that say how a place is read and written."""
    found = place_of(current(), place, environment)
    stores = [fresh("NEW") for _ in range(found.stores)]
    return MultipleValues(
        (make_list(found.names), make_list(found.values), make_list(stores),
         found.write(list(stores)), found.read)
    )  # fmt: skip


@special_form(
    "define-modify-macro", "(define-modify-macro name (parameter...) function [doc])", 3, 4
)
def _define_modify_macro(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name = _name(an, form)
    parameters, function = form.cdr.cdr.car, form.cdr.cdr.cdr.car
    spec = parse_lambda_list(parameters)
    m = an.m

    def expand(call: Cons, environment: Any) -> Value:
        items = items_of(call.cdr, call)
        if not items or len(items) - 1 < spec.least or _too_many(spec, len(items) - 1):
            raise shape(repr(name), f"({name!r} place . {brief(parameters)})")
        found = place_of(m, items[0], environment)
        operands = items[1:] + _defaults(spec, len(items) - 1)
        return wrap(found, found.write([Cons(function, listed(found.read, *operands))]))

    def define(_: Value) -> Value:
        m.macros[name] = MacroFunction(repr(name), expand, f"(place . {brief(parameters)})", "")
        return name

    return Define(Constant(NIL), define, form)


def _too_many(spec: LambdaList, given: int) -> bool:
    return spec.most is not None and given > spec.most


def _defaults(spec: LambdaList, given: int) -> list[Value]:
    """Defaults of the optional parameters that were left out."""
    return [p.default for p in spec.optional[max(0, given - spec.least) :]]


@native_macro("with-gensyms")
def _with_gensyms(form: Cons, environment: Any) -> Value:
    if form.cdr.__class__ is not Cons:
        raise shape("with-gensyms", "(with-gensyms (name...) form...)")
    bindings = []
    for item in items_of(form.cdr.car, form):
        name = item.car if item.__class__ is Cons else item
        bindings.append(listed(name, make("GENSYM", make("SYMBOL-NAME", quoted(name)))))
    return Cons(core_symbol("LET"), Cons(make_list(bindings), form.cdr.cdr))
