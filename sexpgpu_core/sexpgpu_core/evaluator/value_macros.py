"""prog1, nth-value, multiple-value-setq, threading, assert, check-type and other small macros."""

from __future__ import annotations

from typing import Any

from .declarations import items_of
from .definitions import native_macro
from .machine import current
from .made_forms import form as make
from .made_forms import form_with, fresh, listed, quoted
from .mistakes import shape
from .places import place_of, wrap
from .printer import brief
from .values import NIL, Cons, String, Symbol, Value, make_list


def _items(form: Cons, wants: str, least: int, most: int | None = None) -> list[Value]:
    """Operands of a macro call, as many as it wants."""
    items = items_of(form.cdr, form)
    if len(items) < least or (most is not None and len(items) > most):
        raise shape(form.car.name.lower(), wants)
    return items


@native_macro("prog1")
def _prog1(form: Cons, environment: Any) -> Value:
    first, *rest = _items(form, "(prog1 form form...)", 1)
    value = fresh("FIRST")
    return make("LET", listed(listed(value, first)), *rest, value)


@native_macro("prog2")
def _prog2(form: Cons, environment: Any) -> Value:
    first, second, *rest = _items(form, "(prog2 form form form...)", 2)
    return make("PROGN", first, make("PROG1", second, *rest))


@native_macro("nth-value")
def _nth_value(form: Cons, environment: Any) -> Value:
    index, value = _items(form, "(nth-value n form)", 2, 2)
    return make("NTH", index, make("MULTIPLE-VALUE-LIST", value))


@native_macro("multiple-value-setq")
def _multiple_value_setq(form: Cons, environment: Any) -> Value:
    names, value = _items(form, "(multiple-value-setq (variable...) form)", 2, 2)
    if names is NIL:
        return make("PROG1", value)
    return make("VALUES", make("SETF", form_with("VALUES", names), value))


@native_macro("let-values")
def _let_values(form: Cons, environment: Any) -> Value:
    wants = "(let-values (((name...) form) ...) form...)"
    _items(form, wants, 1)
    bindings: list[Value] = []
    rows: list[tuple[Value, Value]] = []
    for item in items_of(form.cdr.car, form):
        parts = items_of(item, form)
        if len(parts) != 2:
            raise shape("let-values", wants)
        names = items_of(parts[0], form)
        for name in names:
            if name.__class__ is not Symbol:
                raise shape("let-values", wants, f"{brief(name)} is no name")
        own = [fresh(name.name) for name in names]
        bindings += [listed(name, value) for name, value in zip(names, own)]
        rows.append((make_list(own), parts[1]))
    inner: Value = form_with("LET", make_list(bindings), form.cdr.cdr)
    for own_names, value in reversed(rows):
        inner = make("MULTIPLE-VALUE-BIND", own_names, value, inner)
    return inner


@native_macro("once-only")
def _once_only(form: Cons, environment: Any) -> Value:
    """`(once-only (a b) body...)`: the body's form sees symbols bound to the forms in a and b."""
    wants = "(once-only (name...) form...)"
    _items(form, wants, 1)
    names, values = [], []
    for n in items_of(form.cdr.car, form):
        name, *value = items_of(n, form) if n.__class__ is Cons else (n, n)
        if name.__class__ is not Symbol or len(value) != 1:
            raise shape("once-only", wants, f"{brief(n)} is no name")
        names.append(name)
        values.append(value[0])
    own = [fresh(name.name) for name in names]
    outer = [listed(g, make("GENSYM", make("SYMBOL-NAME", quoted(n)))) for g, n in zip(own, names)]
    rows = [make("LIST", g, value) for g, value in zip(own, values)]
    inner = form_with("LET", make_list([listed(n, g) for n, g in zip(names, own)]), form.cdr.cdr)
    built = make("LIST", quoted(make("LET").car), form_with("LIST", make_list(rows)), inner)
    return make("LET", make_list(outer), built)


def _threaded(form: Cons, insert: Any) -> Value:
    value, *steps = _items(form, f"({form.car!r} value step...)", 1)
    for step in steps:
        call = step if step.__class__ is Cons else listed(step)
        value = insert(call, value)
        value.span = step.span if step.__class__ is Cons else None
    return value


@native_macro("->")
def _thread_first(form: Cons, environment: Any) -> Value:
    return _threaded(form, lambda call, value: Cons(call.car, Cons(value, call.cdr)))


@native_macro("->>")
def _thread_last(form: Cons, environment: Any) -> Value:
    return _threaded(form, lambda call, value: make_list([*items_of(call, call), value]))


@native_macro("as->")
def _thread_as(form: Cons, environment: Any) -> Value:
    value, name, *steps = _items(form, "(as-> value name form...)", 2)
    if not steps:
        return value
    bindings = make_list([listed(name, step) for step in [value, *steps[:-1]]])
    return make("LET*", bindings, steps[-1])


@native_macro("assert")
def _assert(form: Cons, environment: Any) -> Value:
    items = _items(form, "(assert test [(place...) [datum argument...]])", 1)
    failure = make("%ASSERT-FAILURE", quoted(items[0]), *items[2:])
    return make("IF", items[0], NIL, failure)


@native_macro("check-type")
def _check_type(form: Cons, environment: Any) -> Value:
    items = _items(form, "(check-type place type [text])", 2, 3)
    found = place_of(current(), items[0], environment)
    text = items[2] if len(items) > 2 else NIL
    return wrap(found, make("%CHECK-TYPE", found.read, quoted(items[1]), quoted(items[0]), text))


@native_macro("with-output-to-string")
def _with_output_to_string(form: Cons, environment: Any) -> Value:
    head = items_of(form.cdr.car, form) if form.cdr.__class__ is Cons else []
    if not head or head[0].__class__ is not Symbol:
        raise shape("with-output-to-string", "(with-output-to-string (stream) form...)")
    if len(head) > 1 and head[1] is not NIL and not getattr(head[1], "keyword", False):
        options = [listed(fresh("OPTION"), value) for value in head[3::2]]
        bindings = make_list([listed(head[0], head[1]), *options])
        return form_with("LET", bindings, form.cdr.cdr)
    stream = fresh("STREAM")
    body = form_with("LET", listed(listed(head[0], stream)), form.cdr.cdr)
    text = make("GET-OUTPUT-STREAM-STRING", stream)
    return make("LET", listed(listed(stream, make("MAKE-STRING-OUTPUT-STREAM"))), body, text)


@native_macro("print-unreadable-object")
def _print_unreadable_object(form: Cons, environment: Any) -> Value:
    items = items_of(form.cdr.car, form) if form.cdr.__class__ is Cons else []
    if len(items) < 2:
        raise shape("print-unreadable-object", "(print-unreadable-object (object stream) form...)")
    options = dict(zip([k.name for k in items[2::2] if isinstance(k, Symbol)], items[3::2]))
    stream = fresh("STREAM")
    inside: list[Value] = []
    if options.get("TYPE", NIL) is not NIL:
        inside.append(make("PRINC", make("TYPE-OF", items[0]), stream))
        if form.cdr.cdr is not NIL:
            inside.append(make("PRINC", String(" "), stream))
    return make(
        "LET", listed(listed(stream, items[1])), make("PRINC", String("#<"), stream), *inside,
        *items_of(form.cdr.cdr, form), make("PRINC", String(">"), stream), NIL,
    )  # fmt: skip
