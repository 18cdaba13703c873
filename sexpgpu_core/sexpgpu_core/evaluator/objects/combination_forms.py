"""define-method-combination, short and long, and the forms that effective methods are made of."""

from __future__ import annotations

from typing import Any

from ...diagnostics import problem
from ..analyzer import Analyzer
from ..declarations import items_of
from ..definition_forms import Define
from ..definitions import builtin, native_macro
from ..designators import function_of
from ..made_forms import form as make
from ..made_forms import form_with, fresh, listed, quoted
from ..mistakes import shape
from ..nodes import Constant, Node
from ..printer import brief
from ..scope import Scope, Tail
from ..special_forms import special_form
from ..values import NIL, Cons, Function, String, Symbol, Value, first_value, list_items, make_list
from .combinations import ARGUMENTS, COMBINATIONS, Long, Short, chained, compiled
from .methods import Method, Shape, shown_specializers

WANTS = (
    "(define-method-combination name :operator operator) or (define-method-combination name"
    " (parameter...) ((group qualifiers...) ...) form...)"
)
SHORT = (":operator", ":identity-with-one-argument", ":documentation")


@special_form("define-method-combination", WANTS, 1)
def _define(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name, rest = form.cdr.car, form.cdr.cdr
    if name.__class__ is not Symbol or name.constant:
        raise shape("define-method-combination", WANTS, f"{brief(name)} is no name")
    an.check_definable(name, "method combination")
    if rest.__class__ is not Cons or _is_keyword(rest.car):
        short = _short(name, items_of(rest, form))
        return Define(Constant(NIL), lambda _: _known(name, short), form)
    maker = an.node(_long(form), scope)
    return Define(maker, lambda function: _known(name, Long(name, function)), form)


def _is_keyword(value: Value) -> bool:
    return value.__class__ is Symbol and value.keyword


def _known(name: Symbol, found: Short | Long) -> Value:
    COMBINATIONS[name] = found
    return name


def _short(name: Symbol, words: list[Value]) -> Short:
    options = dict(zip(map(brief, words[::2]), words[1::2]))
    if len(words) % 2 or any(word not in SHORT for word in options):
        raise shape("define-method-combination", WANTS)
    operator = options.get(":operator", name)
    return Short(name, operator, options.get(":identity-with-one-argument", NIL) is not NIL)


def _long(form: Cons) -> Value:
    """A lambda of the generic function, the options and the methods that gives a form."""
    parts = items_of(form.cdr.cdr, form)
    if len(parts) < 2 or (parts[1].__class__ is not Cons and parts[1] is not NIL):
        raise shape("define-method-combination", WANTS)
    groups = [_group(item) for item in items_of(parts[1], form)]
    body, generic = parts[2:], fresh("GENERIC")
    while body and body[0].__class__ is Cons and _is_keyword(body[0].car):
        option = items_of(body.pop(0), form)
        if brief(option[0]) != ":generic-function" or len(option) != 2:
            raise problem(
                "E-UNSUPPORTED",
                f"define-method-combination: {brief(option[0])} is left out",
                hint="(:generic-function variable) is there",
                name=brief(option[0]),
            )
        generic = option[1]
    if body and isinstance(body[0], String) and len(body) > 1:
        body = body[1:]
    options, methods, found = fresh("OPTIONS"), fresh("METHODS"), fresh("GROUPS")
    rows = [
        make("LIST", quoted(patterns), order, required) for _, patterns, order, required in groups
    ]
    names = make_list([name for name, *_ in groups])
    ignored = make("DECLARE", make("IGNORABLE", generic))
    taken = make("%METHOD-GROUPS", generic, methods, *rows)
    inner = form_with("DESTRUCTURING-BIND", names, found, make_list(body))
    outer = make(
        "DESTRUCTURING-BIND", parts[0], options, make("LET", listed(listed(found, taken)), inner)
    )  # fmt: skip
    return make("LAMBDA", listed(generic, options, methods), ignored, outer)


def _group(item: Value) -> tuple[Symbol, Value, Value, Value]:
    """A group's variable, its patterns or predicate, and the forms of its :order and :required."""
    words = items_of(item, item) if item.__class__ is Cons else []
    if len(words) < 2 or words[0].__class__ is not Symbol:
        raise shape("define-method-combination", WANTS, f"{brief(item)} is no group of methods")
    at = next((i for i, w in enumerate(words) if _is_keyword(w)), len(words))
    options = dict(zip(map(brief, words[at::2]), words[at + 1 :: 2]))
    if set(options) - {":description", ":order", ":required"}:
        raise shape("define-method-combination", WANTS, f"{brief(item)} has an unknown option")
    order, required = options.get(":order", NIL), options.get(":required", NIL)
    return words[0], make_list(words[1:at]), order, required


@builtin("%method-groups", "(generic methods &rest groups)")
def method_groups(generic: Any, methods: Any, *groups: Any) -> Value:
    """Methods by the first group whose patterns their qualifiers fit."""
    rows = [list_items(group) for group in groups]
    found: list[list[Value]] = [[] for _ in rows]
    for method in list_items(methods):
        at = next((i for i, row in enumerate(rows) if _fits(method, row[0])), None)
        if at is None:
            raise _no_group(generic, method)
        found[at].append(method)
    for (patterns, order, required), items in zip(rows, found):
        if required is not NIL and not items:
            message = f"{generic.name}: no method with qualifiers {brief(patterns)} applies"
            raise problem("E-CALL-METHOD", message, function=generic.name)
        if brief(order) == ":most-specific-last":
            items.reverse()
    return make_list([make_list(items) for items in found])


def _no_group(generic: Any, method: Method) -> Exception:
    where = shown_specializers(method.specializers)
    words = brief(make_list(method.qualifiers))
    return problem(
        "E-CALL-METHOD",
        f"the method of {generic.name} for {where} has qualifiers {words}, which belong to no"
        " group of its method combination",
        function=generic.name,
    )


def _fits(method: Method, patterns: Value) -> bool:
    qualifiers = make_list(method.qualifiers)
    return any(_matches(pattern, qualifiers) for pattern in list_items(patterns))


def _matches(pattern: Value, qualifiers: Value) -> bool:
    """Whether qualifiers fit `*`, a list of qualifiers that may end in `*`, or a predicate."""
    if pattern.__class__ is Symbol and pattern is not NIL and pattern.name != "*":
        return first_value(function_of(pattern).call(qualifiers)) is not NIL
    while pattern.__class__ is Cons and qualifiers.__class__ is Cons:
        word = pattern.car
        if word is not qualifiers.car and not (word.__class__ is Symbol and word.name == "*"):
            return False
        pattern, qualifiers = pattern.cdr, qualifiers.cdr
    return (pattern.__class__ is Symbol and pattern.name == "*") or pattern is qualifiers


@native_macro("call-method")
def _call_method(form: Cons, environment: Any) -> Value:
    """In an effective method: run a method, for which others are the next ones."""
    words = items_of(form.cdr, form)
    if not 1 <= len(words) <= 2:
        raise shape("call-method", "(call-method method [(next-method...)])")
    following = items_of(words[1], form) if len(words) == 2 else []
    run = chained([_as_method(words[0]), *map(_as_method, following)])
    function = Function("call-method", lambda *arguments: run(arguments))
    return make("APPLY", function, ARGUMENTS)


def _as_method(value: Value) -> Method:
    """A method object, or what `(make-method form)` stands for."""
    if isinstance(value, Method):
        return value
    if value.__class__ is Cons and brief(value.car) == "make-method":
        run = compiled(value.cdr.car)
        made = Shape(0, 0, True, None, False)
        return Method((), (), made, lambda following, has_next, *given: run(given))
    raise problem("E-FORM-SHAPE", f"call-method: {brief(value)} is no method")


@native_macro("make-method")
def _make_method(form: Cons, environment: Any) -> Value:
    raise problem("E-FORM-SHAPE", "make-method stands only among the methods of call-method")
