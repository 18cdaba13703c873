"""and, or, cond, case and the like as nodes; when, unless, typecase as macros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..diagnostics import diagnostic
from ..reader import chain_of, element_span
from . import raising
from .analyzer import Analyzer
from .declarations import items_of
from .definitions import core_symbol, native_macro
from .machine import Machine
from .made_forms import form as make
from .made_forms import form_with, fresh, listed, quoted
from .mistakes import bare_call, is_bare_call, replacing, shape
from .nodes import Code, Constant, If, Node, value_code
from .printer import brief
from .scope import Scope, Tail
from .special_forms import check_size, special_form
from .typed_nodes import wrong_type
from .values import (
    NIL,
    QUOTE,
    Cons,
    Ratio,
    Staged,
    String,
    Symbol,
    T,
    Value,
    make_list,
)

NUMBERS = (int, float, Ratio)
OTHERWISE = core_symbol("OTHERWISE")


class Or(Node):
    """The first value that is not nil. The last form gives all its values."""

    __slots__ = ("form", "last", "nodes", "single")

    def __init__(self, nodes: list[Node], last: Node, form: Value) -> None:
        self.nodes = nodes
        self.last = last
        self.form = form
        self.single = last.single

    def compile(self, m: Machine) -> Code:
        codes, last = [value_code(node, m) for node in self.nodes], self.last.compile(m)
        form = self.form

        def run(f: list[Any]) -> Value:
            for code in codes:
                value = code(f)
                if value is not NIL:
                    if value is not T and isinstance(value, Staged):
                        raise raising.refused(m, value, "or", form)
                    return value
            return last(f)

        return run


class And(Node):
    """nil at the first form that is nil, else the values of the last."""

    __slots__ = ("form", "last", "nodes", "single")

    def __init__(self, nodes: list[Node], last: Node, form: Value) -> None:
        self.nodes = nodes
        self.last = last
        self.form = form
        self.single = last.single

    def compile(self, m: Machine) -> Code:
        codes, last = [value_code(node, m) for node in self.nodes], self.last.compile(m)
        form = self.form

        def run(f: list[Any]) -> Value:
            for code in codes:
                value = code(f)
                if value is NIL:
                    return NIL
                if value is not T and isinstance(value, Staged):
                    raise raising.refused(m, value, "and", form)
            return last(f)

        return run


def _operands(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> list[Node]:
    nodes = []
    rest = form.cdr
    while rest is not NIL:
        nodes.append(an.node(rest.car, scope, tail if rest.cdr is NIL else None, rest))
        rest = rest.cdr
    return nodes


@special_form("or", "(or form...)")
def _or(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    nodes = _operands(an, form, scope, tail)
    if len(nodes) < 2:
        return nodes[0] if nodes else Constant(NIL)
    return Or(nodes[:-1], nodes[-1], form)


@special_form("and", "(and form...)")
def _and(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    nodes = _operands(an, form, scope, tail)
    if len(nodes) < 2:
        return nodes[0] if nodes else Constant(T)
    return And(nodes[:-1], nodes[-1], form)


@special_form("when", "(when test form...)", 1)
def _when(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    test = an.node(form.cdr.car, scope, None, form.cdr)
    return If(test, an.forms(form.cdr.cdr, scope, tail), Constant(NIL), form, "when")


@special_form("unless", "(unless test form...)", 1)
def _unless(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    test = an.node(form.cdr.car, scope, None, form.cdr)
    return If(test, Constant(NIL), an.forms(form.cdr.cdr, scope, tail), form, "unless")


@special_form("cond", "(cond (test form...) ...)")
def _cond(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    rows: list[tuple[Node, Node | None, Cons]] = []
    dearest = 0
    for clause in items_of(form.cdr, form):
        if clause.__class__ is not Cons:
            raise shape("cond", "(cond (test form...) ...)", f"{brief(clause)} is no clause")
        items_of(clause, form)
        if clause.car.__class__ is Symbol and clause.car.name in ("ELSE", "OTHERWISE"):
            edit = replacing(clause, repr(clause.car), "t")
            raise shape("cond", "(t form...)", f"the last test is t, not {clause.car!r}", edit)
        if is_bare_call(clause, scope.variables):
            raise bare_call(clause)
        test = an.node(clause.car, scope, None, clause)
        before = an.weight
        rows.append((test, an.forms(clause.cdr, scope, tail) if clause.cdr is not NIL else None,
                     clause))  # fmt: skip
        dearest = max(dearest, an.weight - before)
        an.weight = before
    an.weight += dearest
    node: Node = Constant(NIL)
    for test, body, clause in reversed(rows):
        if body is None:
            node = Or([test], node, clause)
        elif isinstance(test, Constant) and test.value is not NIL:
            node = body
        else:
            node = If(test, body, node, clause, "cond")
    return node


class Case(Node):
    """Chooses by eql: a table for objects and one for numbers, by kind."""

    __slots__ = ("bodies", "default", "form", "key", "keys", "name")

    def __init__(
        self, name: str, key: Node, keys: list[list[Value]], bodies: list[Node],
        default: Node | None, form: Value,
    ) -> None:  # fmt: skip
        self.name = name
        self.key = key
        self.keys = keys
        self.bodies = bodies
        self.default = default
        self.form = form

    def compile(self, m: Machine) -> Code:
        key, form, name = value_code(self.key, m), self.form, self.name
        objects: dict[Value, Code] = {}
        numbers: dict[Value, Code] = {}
        for keys, body in zip(self.keys, self.bodies):
            code = body.compile(m)
            for item in keys:
                if isinstance(item, NUMBERS):
                    numbers.setdefault((item.__class__, item), code)
                else:
                    objects.setdefault(item, code)
        default = self.default.compile(m) if self.default is not None else None
        members = make_list([item for keys in self.keys for item in keys])

        def run(f: list[Any]) -> Value:
            value = key(f)
            if isinstance(value, NUMBERS):
                code = numbers.get((value.__class__, value), default)
            elif isinstance(value, Staged):
                raise raising.refused(m, value, name, form)
            else:
                code = objects.get(value, default)
            if code is None:
                raise raising.raised(m, wrong_type(value, form_with("MEMBER", members)), form)
            return code(f)

        return run


def _case(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name = form.car.name.lower()
    exact = name != "case"
    key = an.node(form.cdr.car, scope, None, form.cdr)
    keys: list[list[Value]] = []
    bodies: list[Node] = []
    default: Node | None = None if exact else Constant(NIL)
    rest = form.cdr.cdr
    weights = [an.weight]
    while rest is not NIL:
        clause = rest.car
        if clause.__class__ is not Cons:
            raise shape(name, f"({name} key (keys form...) ...)", f"{brief(clause)} is no clause")
        body = an.forms(clause.cdr, scope, tail)
        weights.append(an.weight)
        if not exact and _is_default(clause.car):
            if rest.cdr is not NIL:
                raise shape(name, f"({name} key (keys form...) ... (t form...))",
                            f"{clause.car!r} stands only in the last clause")  # fmt: skip
            default = body
        else:
            _warn_never(an, clause, not exact and rest.cdr is NIL)
            keys.append(_keys(clause.car, clause))
            bodies.append(body)
        rest = rest.cdr
    an.dearest(weights)
    return Case(name, key, keys, bodies, default, form)


for _name in ("case", "ecase", "ccase"):
    special_form(_name, f"({_name} key (keys form...) ...)", 1)(_case)


def _is_default(key: Value) -> bool:
    return key is T or key is OTHERWISE


def _keys(keys: Value, clause: Cons) -> list[Value]:
    if keys is NIL:
        return []
    return items_of(keys, clause) if keys.__class__ is Cons else [keys]


DEFAULTS = ("ELSE", "DEFAULT", "_")
"""How other languages write the last clause."""


def _warn_never(an: Analyzer, clause: Cons, last: bool) -> None:
    """W-CASE-NEVER: quoted keys, strings, a bare nil, else."""
    keys = clause.car
    listed_keys = _keys(keys, clause)
    if keys is NIL:
        why, hint = "nil as a key is the empty list of keys", "write ((nil) ...)"
    elif keys.__class__ is Cons and keys.car is QUOTE:
        why = f"{brief(keys)} is the keys quote and {brief(keys.cdr.car)}"
        hint = f"write ({brief(keys.cdr.car)} ...) without the quote"
    elif any(key.__class__ is String for key in listed_keys):
        why, hint = "a string is never eql to another", "use cond with string="
    elif last and keys.__class__ is Symbol and keys.name in DEFAULTS:
        why, hint = f"{keys!r} is the key {keys!r}", "the clause for all else is (t ...)"
    else:
        return
    span, written = element_span(clause), None
    if keys.__class__ is Cons and keys.car is QUOTE and span is not None:
        written = span.text if span.text.startswith("'") else None
    an.m.warn(
        diagnostic(
            "W-CASE-NEVER",
            why,
            span=span,
            hint=hint,
            expansion=chain_of(span),
            written=written,
            nearest=written and written[1:],
        )
    )


def _typecase(form: Cons, environment: Any) -> Value:
    name = form.car.name.lower()
    wants = f"({name} value (type form...) ...)"
    if form.cdr.__class__ is not Cons:
        raise shape(name, wants)
    value = fresh("VALUE")
    clauses, kinds = [], []
    for clause in items_of(form.cdr.cdr, form):
        if clause.__class__ is not Cons:
            raise shape(name, wants, f"{brief(clause)} is no clause")
        kinds.append(clause.car)
        default = name == "typecase" and _is_default(clause.car)
        test = T if default else make("TYPEP", value, quoted(clause.car))
        clauses.append(Cons(test, clause.cdr if clause.cdr is not NIL else listed(NIL)))
    if name != "typecase":
        fails = make("%TYPE-FAILURE", value, quoted(form_with("OR", make_list(kinds))))
        clauses.append(listed(T, fails))
    binding = listed(listed(value, form.cdr.car))
    return make("LET", binding, form_with("COND", make_list(clauses)))


for _name in ("typecase", "etypecase", "ctypecase"):
    native_macro(_name)(_typecase)


Expand = Callable[[Cons], Value]


def shown_macro(name: str, wants: str, least: int = 0) -> Callable[[Expand], Expand]:
    """What macroexpand shows of a form for which the analyzer has a node of its own."""

    def define(expand: Expand) -> Expand:
        def expander(form: Cons, environment: Any) -> Value:
            check_size(form, name, wants, least)
            return expand(form)

        native_macro(name)(expander)
        return expand

    return define


@shown_macro("when", "(when test form...)", 1)
def _expand_when(form: Cons) -> Value:
    return make("IF", form.cdr.car, form_with("PROGN", form.cdr.cdr))


@shown_macro("unless", "(unless test form...)", 1)
def _expand_unless(form: Cons) -> Value:
    return make("IF", form.cdr.car, NIL, form_with("PROGN", form.cdr.cdr))


@shown_macro("and", "(and form...)")
def _expand_and(form: Cons) -> Value:
    if form.cdr is NIL:
        return T
    if form.cdr.cdr is NIL:
        return form.cdr.car
    return make("IF", form.cdr.car, form_with("AND", form.cdr.cdr), NIL)


@shown_macro("or", "(or form...)")
def _expand_or(form: Cons) -> Value:
    if form.cdr is NIL or form.cdr.cdr is NIL:
        return form.cdr.car if form.cdr is not NIL else NIL
    value = fresh("VALUE")
    rest = form_with("OR", form.cdr.cdr)
    return make("LET", listed(listed(value, form.cdr.car)), make("IF", value, value, rest))


@shown_macro("cond", "(cond (test form...) ...)")
def _expand_cond(form: Cons) -> Value:
    if form.cdr is NIL:
        return NIL
    clause, rest = form.cdr.car, form_with("COND", form.cdr.cdr)
    if clause.__class__ is not Cons:
        raise shape("cond", "(cond (test form...) ...)", f"{brief(clause)} is no clause")
    if clause.cdr is NIL:
        return make("OR", clause.car, rest)
    return make("IF", clause.car, form_with("PROGN", clause.cdr), rest)
