"""The clauses that gather: `collect append nconc sum count maximize minimize`."""

from __future__ import annotations

from typing import Any

from .builtins.listing import cells, list_from
from .definitions import builtin
from .loop_iteration import declared_type
from .loop_state import Accumulator, Loop, form, fresh, malformed, start_value, variables
from .values import NIL, Cons, Symbol, Value, make_list

KINDS = {
    "COLLECT": "list",
    "COLLECTING": "list",
    "APPEND": "list",
    "APPENDING": "list",
    "NCONC": "list",
    "NCONCING": "list",
    "SUM": "number",
    "SUMMING": "number",
    "COUNT": "number",
    "COUNTING": "number",
    "MAXIMIZE": "extreme",
    "MAXIMIZING": "extreme",
    "MINIMIZE": "extreme",
    "MINIMIZING": "extreme",
}


@builtin("%loop-collect", "(tail object)")
def loop_collect(tail: Any, value: Any) -> Value:
    """Add an object behind the last cons; the new last cons."""
    tail.cdr = Cons(value, NIL)
    return tail.cdr


@builtin("%loop-append", "(tail list)")
def loop_append(tail: Any, items: Any) -> Value:
    """Add the elements of a list behind the last cons; the new last cons."""
    if tail.cdr.__class__ is Cons:
        tail = cells("loop append", tail)[-1]
    if items.__class__ is not Cons:
        tail.cdr = items
        return tail
    found = cells("loop append", items)
    copy = list_from([cell.car for cell in found], found[-1].cdr)
    tail.cdr = copy
    return cells("loop append", copy)[-1]


@builtin("%loop-nconc", "(tail list)")
def loop_nconc(tail: Any, items: Any) -> Value:
    """Add a list itself behind the last cons; the new last cons."""
    if items.__class__ is not Cons:
        if items is not NIL:
            tail.cdr = items
        return tail
    tail.cdr = items
    return cells("loop nconc", items)[-1]


_LIST_WORDS = {"COLLECT": "%loop-collect", "APPEND": "%loop-append", "NCONC": "%loop-nconc"}


def accumulation(loop: Loop, word: str, value: Value) -> list[Value]:
    """The forms of one clause; `into` and a type are read here."""
    stem = word[:-3] if word.endswith("ING") else word
    stem = {"MAXIMIZ": "MAXIMIZE", "MINIMIZ": "MINIMIZE", "SUMM": "SUM"}.get(stem, stem)
    into: Symbol | None = None
    if loop.cursor.accept("INTO"):
        into = loop.cursor.take("a variable")
        if into.__class__ is not Symbol or not variables(into):
            raise malformed("into is followed by a variable")
    kind = declared_type(loop)
    place = _accumulator(loop, KINDS[word], into, kind)
    return _FORMS[KINDS[word]](stem, place, value)


def _accumulator(loop: Loop, kind: str, into: Symbol | None, declared: Value) -> Accumulator:
    found = loop.accumulators.get(into)
    if found is not None:
        if found.kind != kind:
            raise malformed("one result is gathered in two ways that do not mix")
        return found
    variable = into if into is not None else fresh("result")
    head = tail = None
    start = start_value(declared)
    start = 0 if start is NIL else start
    if kind == "list":
        head, tail = fresh("head"), fresh("tail")
        loop.bind([(head, form("list", NIL))])
        loop.bind([(tail, head)])
    if kind != "list" or into is not None:
        loop.bind([(variable, start if kind == "number" else NIL)])
    made = loop.accumulators[into] = Accumulator(kind, variable, into is not None, head, tail)
    return made


def _list_forms(stem: str, place: Accumulator, value: Value) -> list[Value]:
    forms = [form("setq", place.tail, form(_LIST_WORDS[stem], place.tail, value))]
    if not place.named:
        return forms
    return [*forms, form("setq", place.variable, form("cdr", place.head))]


def _number_forms(stem: str, place: Accumulator, value: Value) -> list[Value]:
    if stem == "COUNT":
        return [form("if", value, form("setq", place.variable, form("1+", place.variable)))]
    return [form("setq", place.variable, form("+", place.variable, value))]


def _extreme_forms(stem: str, place: Accumulator, value: Value) -> list[Value]:
    new = fresh("new")
    name = "max" if stem == "MAXIMIZE" else "min"
    chosen = form("if", place.variable, form(name, place.variable, new), form(name, new))
    binding = make_list([make_list([new, value])])
    return [form("let", binding, form("setq", place.variable, chosen))]


_FORMS = {"list": _list_forms, "number": _number_forms, "extreme": _extreme_forms}


def result_of(place: Accumulator) -> Value:
    """The form of what was gathered."""
    return form("cdr", place.head) if place.kind == "list" else place.variable
