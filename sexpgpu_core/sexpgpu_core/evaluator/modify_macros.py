"""setf, incf, push and the other macros that change places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .declarations import items_of
from .definitions import native_macro
from .machine import current
from .made_forms import form as make
from .made_forms import form_with, fresh, listed
from .mistakes import shape
from .places import STORE, Place, binding_list, place_of, wrap
from .values import NIL, Cons, Symbol, Value, make_list


def _pairs(form: Cons) -> list[tuple[Value, Value]]:
    items = items_of(form.cdr, form)
    if len(items) % 2:
        name = form.car.name.lower()
        raise shape(name, f"({name} place value ...)", "the last place has no value")
    return list(zip(items[::2], items[1::2]))


@native_macro("setf")
def _setf(form: Cons, environment: Any) -> Value:
    pairs = _pairs(form)
    if len(pairs) == 1:
        return set_place(*pairs[0], environment)
    return form_with("PROGN", make_list([make("SETF", p, v) for p, v in pairs]))


def set_place(where: Value, value: Value, environment: Any) -> Value:
    """The form of `(setf place value)`."""
    found = place_of(current(), where, environment)
    if found.stores == 1:
        direct = found.write([value])
        if _keeps_order(found, where, direct):
            return _directly(found, where, direct)
        return wrap(found, direct)
    stores = [fresh("NEW") for _ in range(found.stores)]
    body = found.write(list(stores))
    return wrap(found, make("MULTIPLE-VALUE-BIND", make_list(stores), value, body))


def _keeps_order(found: Place, where: Value, direct: Value) -> bool:
    """Whether `direct` is a call of a setter: (setter name... value)."""
    if where.__class__ is not Cons or direct.__class__ is not Cons:
        return False
    rest = _operands(direct)
    for name in found.names:
        if rest.__class__ is not Cons or rest.car is not name:
            return False
        rest = rest.cdr
    return rest.__class__ is Cons and rest.cdr is NIL


def _directly(found: Place, where: Cons, direct: Cons) -> Value:
    """The setter's call with the subforms in place of their variables."""
    value = _operands(direct)
    for _ in found.names:
        value = value.cdr
    head = [direct.cdr.car] if direct.car is STORE else []
    return Cons(direct.car, make_list([*head, *found.values, value.car]))


def _operands(direct: Cons) -> Value:
    """Operands of a setter's call; (%store name operand...) names its function first."""
    return direct.cdr.cdr if direct.car is STORE else direct.cdr


@native_macro("psetf")
def _psetf(form: Cons, environment: Any) -> Value:
    steps: list[tuple[Place, Value, list[Symbol]]] = []
    for where, value in _pairs(form):
        place = place_of(current(), where, environment)
        steps.append((place, value, [fresh("NEW") for _ in range(place.stores)]))
    if not steps:
        return NIL
    writes = [place.write(list(stores)) for place, _, stores in steps]
    body = form_with("PROGN", make_list([*writes, NIL]))
    for place, value, stores in reversed(steps):
        if len(stores) == 1:
            body = make("LET", listed(listed(stores[0], value)), body)
        else:
            body = make("MULTIPLE-VALUE-BIND", make_list(stores), value, body)
        body = wrap(place, body)
    return body


def _changing(
    name: str, wants: str, least: int, most: int
) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """A macro of a place and operands: the decorated function gives the new value's form."""

    def define(change: Callable[..., Value]) -> Callable[..., Value]:
        def expand(form: Cons, environment: Any) -> Value:
            items = items_of(form.cdr, form)
            if not least <= len(items) <= most:
                raise shape(name, wants)
            found = place_of(current(), items[0], environment)
            return wrap(found, found.write([change(found.read, *items[1:])]))

        native_macro(name)(expand)
        return change

    return define


def _after(delta: Value, change: Callable[[Value], Value]) -> Value:
    """A delta is evaluated before its place is read."""
    if delta.__class__ is not Cons:
        return change(delta)
    name = fresh("DELTA")
    return make("LET", listed(listed(name, delta)), change(name))


@_changing("incf", "(incf place [delta])", 1, 2)
def _incf(read: Value, delta: Value = 1) -> Value:
    return _after(delta, lambda given: make("+", read, given))


@_changing("decf", "(decf place [delta])", 1, 2)
def _decf(read: Value, delta: Value = 1) -> Value:
    return _after(delta, lambda given: make("-", read, given))


def _with_item(name: str, wants: str, most: int | None) -> Callable[..., Any]:
    """A macro of an item, evaluated first, and a place."""

    def define(change: Callable[..., Value]) -> Callable[..., Value]:
        def expand(form: Cons, environment: Any) -> Value:
            items = items_of(form.cdr, form)
            if len(items) < 2 or (most is not None and len(items) > most):
                raise shape(name, wants)
            item = fresh("ITEM")
            found = place_of(current(), items[1], environment)
            if not found.names:
                return found.write([change(items[0], found.read, *items[2:])])
            bindings = [listed(item, items[0]), *binding_list(found)]
            written = found.write([change(item, found.read, *items[2:])])
            return make("LET*", make_list(bindings), written)

        native_macro(name)(expand)
        return change

    return define


@_with_item("push", "(push item place)", 2)
def _push(item: Value, read: Value) -> Value:
    return make("CONS", item, read)


@_with_item("pushnew", "(pushnew item place [:key key] [:test test])", None)
def _pushnew(item: Value, read: Value, *options: Value) -> Value:
    return make("ADJOIN", item, read, *options)


@native_macro("pop")
def _pop(form: Cons, environment: Any) -> Value:
    items = items_of(form.cdr, form)
    if len(items) != 1:
        raise shape("pop", "(pop place)")
    found = place_of(current(), items[0], environment)
    old = fresh("OLD")
    body = make("PROGN", found.write([make("CDR", old)]), make("CAR", old))
    return wrap(found, make("LET", listed(listed(old, found.read)), body))


@native_macro("remf")
def _remf(form: Cons, environment: Any) -> Value:
    items = items_of(form.cdr, form)
    if len(items) != 2:
        raise shape("remf", "(remf place indicator)")
    found = place_of(current(), items[0], environment)
    key, new, old = fresh("KEY"), fresh("NEW"), fresh("FOUND")
    removed = make("%REMF", found.read, key)
    body = make("MULTIPLE-VALUE-BIND", listed(new, old), removed, found.write([new]), old)
    return wrap(found, make("LET", listed(listed(key, items[1])), body))


@native_macro("rotatef")
def _rotatef(form: Cons, environment: Any) -> Value:
    places = [place_of(current(), item, environment) for item in items_of(form.cdr, form)]
    if not places:
        return NIL
    olds = [[fresh("OLD") for _ in range(p.stores)] for p in places]
    writes = [p.write(list(old)) for p, old in zip(places, [*olds[1:], olds[0]])]
    return _read_all(places, olds, form_with("PROGN", make_list([*writes, NIL])))


def _read_all(places: list[Place], olds: list[list[Symbol]], body: Value) -> Value:
    for place, old in reversed(list(zip(places, olds))):
        if len(old) == 1:
            body = make("LET", listed(listed(old[0], place.read)), body)
        else:
            body = make("MULTIPLE-VALUE-BIND", make_list(old), place.read, body)
        body = wrap(place, body)
    return body


@native_macro("shiftf")
def _shiftf(form: Cons, environment: Any) -> Value:
    items = items_of(form.cdr, form)
    if len(items) < 2:
        raise shape("shiftf", "(shiftf place ... value)")
    places = [place_of(current(), item, environment) for item in items[:-1]]
    olds = [[fresh("OLD") for _ in range(p.stores)] for p in places]
    last = [fresh("NEW") for _ in range(places[-1].stores)]
    writes = [p.write(list(old)) for p, old in zip(places, [*olds[1:], last])]
    result = olds[0][0] if len(olds[0]) == 1 else make("VALUES", *olds[0])
    body = form_with("PROGN", make_list([*writes, result]))
    value = make("MULTIPLE-VALUE-BIND", make_list(last), items[-1], body)
    return _read_all(places, olds, value)
