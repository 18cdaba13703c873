"""Backquote: a template to the node that builds it, every cons fresh and without a span."""

from __future__ import annotations

from typing import Any

from ..diagnostics import problem
from . import raising
from .analyzer import Analyzer
from .machine import Machine
from .nodes import Code, Constant, Node, value_code
from .scope import Scope, Tail
from .special_forms import special_form
from .values import NIL, QUASIQUOTE, UNQUOTE, UNQUOTE_SPLICING, Cons, Value, Vector

Part = tuple[str, Any]


@special_form("%quasiquote", "`template", 1, 1)
def _quasiquote(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    return template(an, form.cdr.car, scope, 1, form)


def template(an: Analyzer, form: Value, scope: Scope, level: int, at: Value) -> Node:
    """The node of a template inside `level` backquotes."""
    if form.__class__ is Vector:
        return Build(_parts(an, form.data, None, scope, level), Constant(NIL), at, True)
    if form.__class__ is not Cons:
        return Constant(form)
    if form.car is UNQUOTE:
        return _unquote(an, form, scope, level)
    if form.car is QUASIQUOTE:
        return _wrapped(an, form, scope, level + 1)
    items, rest = [], form
    conses = []
    while rest.__class__ is Cons and rest.car not in (UNQUOTE, QUASIQUOTE):
        items.append(rest.car)
        conses.append(rest)
        rest = rest.cdr
    end = template(an, rest, scope, level, at)
    parts = _parts(an, items, conses, scope, level)
    return Build(parts, end, at, False)


def _unquote(an: Analyzer, form: Cons, scope: Scope, level: int) -> Node:
    if level == 1:
        return an.node(form.cdr.car, scope, None, form.cdr)
    return _wrapped(an, form, scope, level - 1)


def _wrapped(an: Analyzer, form: Cons, scope: Scope, level: int) -> Node:
    """`(head template)` with its head kept: inner backquotes and unquotes of outer ones."""
    parts = _parts(an, [form.cdr.car], [form.cdr], scope, level)
    return Build([("item", Constant(form.car)), *parts], Constant(NIL), form, False)


def _parts(an: Analyzer, items: list[Value], at: Any, scope: Scope, level: int) -> list[Part]:
    parts: list[Part] = []
    for item in items:
        if item.__class__ is Cons and item.car is UNQUOTE_SPLICING:
            if level == 1:
                parts.append(("splice", an.node(item.cdr.car, scope, None, item.cdr)))
            else:
                parts.append(("item", _wrapped(an, item, scope, level - 1)))
        elif item.__class__ is Cons and item.car is UNQUOTE and level > 1:
            parts.append(_nested_unquote(an, item, scope, level))
        else:
            parts.append(("item", template(an, item, scope, level, item)))
    return parts


def _nested_unquote(an: Analyzer, item: Cons, scope: Scope, level: int) -> Part:
    """`,,@x`: the elements of x become the operands of several unquotes."""
    inner = item.cdr.car
    if level == 2 and inner.__class__ is Cons and inner.car is UNQUOTE_SPLICING:
        return "unquotes", an.node(inner.cdr.car, scope, None, inner.cdr)
    return "item", _wrapped(an, item, scope, level - 1)


class Build(Node):
    """Makes a list (or vector) of parts, each an element or a list to splice."""

    __slots__ = ("at", "end", "parts", "vector")
    single = True

    def __init__(self, parts: list[Part], end: Node, at: Value, vector: bool) -> None:
        self.parts = parts
        self.end = end
        self.at = at
        self.vector = vector

    def compile(self, m: Machine) -> Code:
        steps = [(kind, value_code(node, m)) for kind, node in self.parts]
        end, at, vector = value_code(self.end, m), self.at, self.vector
        last = len(steps) - 1 if self.end.__class__ is Constant and not vector else -1
        if all(kind == "item" for kind, _ in steps) and not vector:
            return _build_items([code for _, code in steps], end)

        def run(f: list[Any]) -> Value:
            parts = [(kind, code(f)) for kind, code in steps]
            result = end(f)
            for index in range(len(parts) - 1, -1, -1):
                kind, value = parts[index]
                if kind == "item":
                    result = Cons(value, result)
                elif kind == "splice" and index == last and result is NIL:
                    result = value  # what nothing follows is shared and may be no list
                else:
                    try:
                        result = _splice(value, result, kind)
                    except Exception as error:
                        raise raising.raised(m, error, at) from None
            return _vector_of(result) if vector else result

        return run


def _build_items(codes: list[Code], end: Code) -> Code:
    codes = codes[::-1]

    def run(f: list[Any]) -> Value:
        if len(codes) == 1:
            return Cons(codes[0](f), end(f))
        values = [code(f) for code in reversed(codes)]
        result = end(f)
        for value in reversed(values):
            result = Cons(value, result)
        return result

    return run


def _splice(value: Value, result: Value, kind: str) -> Value:
    items = []
    rest = value
    while rest.__class__ is Cons:
        items.append(rest.car)
        rest = rest.cdr
    if rest is not NIL:
        raise problem("E-TYPE", ",@ got something that is no proper list", wanted="list")
    for item in reversed(items):
        result = Cons(item if kind == "splice" else Cons(UNQUOTE, Cons(item, NIL)), result)
    return result


def _vector_of(result: Value) -> Vector:
    items = []
    while result.__class__ is Cons:
        items.append(result.car)
        result = result.cdr
    return Vector(items)
