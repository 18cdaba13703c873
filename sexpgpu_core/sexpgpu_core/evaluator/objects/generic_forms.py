"""defgeneric and defmethod: specialized lambda lists, qualifiers, options."""

from __future__ import annotations

from typing import Any

from ...diagnostics import problem
from ...records import NamedTuple
from ..analyzer import Analyzer
from ..classes import Class
from ..closures import LambdaNode
from ..declarations import Declarations, items_of, parse_body
from ..definition_forms import Define, Each
from ..definitions import core_symbol
from ..function_forms import block_name, is_setf_name
from ..lambda_lists import parse_lambda_list
from ..mistakes import shape
from ..nodes import Node
from ..printer import brief
from ..scope import Scope, Tail
from ..special_forms import special_form
from ..values import NIL, Cons, Symbol, T, Value
from .accessors import ensure_generic, is_special
from .class_forms import class_named
from .generic_functions import GenericFunction, StandardGeneric
from .generic_options import parse_generic
from .methods import Eql, Method, Shape, shape_of

METHOD = "(defmethod name qualifier... ((parameter class)...) form...)"
GENERIC = "(defgeneric name (parameter...) option...)"
CALL_NEXT, NEXT_P = core_symbol("CALL-NEXT-METHOD"), core_symbol("NEXT-METHOD-P")


class MethodParts(NamedTuple):
    """A method as written: `functions` stands where its function and the objects of its eql
    specializers come from."""

    title: Value
    qualifiers: tuple[Value, ...]
    specializers: list[Value]
    text: str
    shape: Shape
    nodes: list[Node]
    continues: Any
    doc: str

    def make(self, functions: list[Any]) -> Method:
        """The method, once its nodes have given their values."""
        function, *objects = functions
        found: list[Any] = []
        for form in self.specializers:
            found.append(Eql(objects.pop(0)) if form is EQL else class_named(form))
        method = Method(
            self.qualifiers, tuple(found), self.shape, function.call, self.continues()
        )  # fmt: skip
        method.lambda_list, method.doc = self.text, self.doc
        return method


EQL = object()
"""Stands among specializers for `(eql form)`."""


def generic_name(an: Analyzer, head: str, title: Value, wants: str) -> Symbol:
    """The symbol of a function name that may be a generic function's."""
    named = title.__class__ is Symbol and not title.constant
    if not (named or is_setf_name(title)):
        raise shape(head, wants, f"{brief(title)} is no name")
    symbol = block_name(title)
    if title is symbol and (an.m.macro(symbol) is not None or is_special(symbol)):
        raise problem("E-REDEFINE", f"{head}: {symbol!r} is a macro or special form already")
    return symbol


@special_form("defmethod", METHOD, 2)
def _defmethod(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    title = form.cdr.car
    symbol = generic_name(an, "defmethod", title, METHOD)
    if not _is_shared(an, title):
        an.check_definable(symbol, "function")
    parts = method_parts(an, title, form.cdr.cdr, scope, form)

    def define(functions: list[Any]) -> Value:
        method = parts.make(functions)
        _check_owner(an, title, method)
        generic = ensure_generic(title, _without_keys(parts.shape), parts.text, form.span)
        generic.add(method)
        return method

    return Define(Each(parts.nodes), define, form)


def _is_shared(an: Analyzer, title: Value) -> bool:
    """Whether a file may add methods to what has another owner: it is a generic function."""
    symbol = block_name(title)
    cells = an.m.cells if title is symbol else an.m.setf_cells
    cell = an.m.cell(symbol) if title is symbol and symbol.home == "" else cells.get(symbol)
    return cell is not None and isinstance(cell.function, (GenericFunction, StandardGeneric))


def _check_owner(an: Analyzer, title: Value, method: Method) -> None:
    """E-REDEFINE for a method of the standard's that changes what it does for others' objects."""
    if block_name(title).home != "" or an.m.may_redefine:
        return
    if any(isinstance(s, Eql) or s.name.home != "" for s in method.specializers):
        return
    raise problem(
        "E-REDEFINE",
        f"a method of the standard's {brief(title)} is for a class of your own",
        hint="name a class of a defclass, defstruct or define-condition in its lambda list",
        name=brief(title),
    )


def _without_keys(found: Shape) -> Shape:
    """What a method's lambda list says of the generic function that it brings along."""
    return found._replace(keys=None if found.keys is None else (), other_keys=False)


def method_parts(
    an: Analyzer, title: Value, rest: Value, scope: Scope, whole: Cons
) -> MethodParts:  # fmt: skip
    """The parts of `qualifier... lambda-list form...`."""
    qualifiers: list[Value] = []
    while rest.__class__ is Cons and rest.car.__class__ is not Cons and rest.car is not NIL:
        qualifiers.append(rest.car)
        rest = rest.cdr
    if rest.__class__ is not Cons:
        raise shape("defmethod", METHOD, "it has no lambda list")
    plain, forms, names = _split(rest.car)
    nodes: list[Node] = []
    specializers: list[Value] = []
    for form in forms:
        specializers.append(_specializer(an, form, scope, nodes))
    words = [brief(title), *(brief(q) for q in qualifiers), _shown(forms)]
    node, used = _function(an, f"method {' '.join(words)}", title, plain, names, rest.cdr, scope)
    node.span = whole.span
    found = shape_of(parse_lambda_list(plain))
    return MethodParts(
        title, tuple(qualifiers), specializers, brief(plain) if plain is not NIL else "()", found,
        [node, *nodes], used, node.doc,
    )  # fmt: skip


def _shown(forms: list[Value]) -> str:
    return "(" + " ".join(brief(form) for form in forms) + ")"


def _split(form: Value) -> tuple[Value, list[Value], list[Symbol]]:
    """A lambda list without specializers, what they are, and the parameters that have one."""
    items: list[Cons] = []
    specializers: list[Value] = []
    names: list[Symbol] = []
    while form.__class__ is Cons and not _is_marker(form.car):
        item, at = form.car, form
        if item.__class__ is Cons:
            pair = items_of(item, item)
            if len(pair) != 2 or pair[0].__class__ is not Symbol:
                raise shape("defmethod", METHOD, f"{brief(item)} is no parameter")
            names.append(pair[0])
            specializers.append(pair[1])
            at = Cons(pair[0], form.cdr, form.span)
        else:
            specializers.append(T)
        items.append(at)
        form = form.cdr
    plain = form
    for at in reversed(items):
        plain = Cons(at.car, plain, at.span)
    return plain, specializers, names


def _is_marker(item: Value) -> bool:
    return item.__class__ is Symbol and item.name[:1] == "&" and len(item.name) > 1


def _specializer(an: Analyzer, form: Value, scope: Scope, nodes: list[Node]) -> Value:
    if form.__class__ is Symbol and form is not NIL:
        return form
    if isinstance(form, Class):
        return form
    if form.__class__ is Cons and brief(form.car) == "eql" and form.cdr.__class__ is Cons:
        nodes.append(an.node(form.cdr.car, scope, None, form.cdr))
        return EQL
    raise shape("defmethod", METHOD, f"{brief(form)} is no class and no (eql form)")


def _function(
    an: Analyzer, name: str, title: Value, plain: Value, names: list[Symbol], forms: Value,
    scope: Scope,
) -> tuple[LambdaNode, Any]:  # fmt: skip
    """The function of a method: its first two parameters are what the local functions
    call-next-method and next-method-p call. With it, whether the body names them."""
    form = parse_lambda_list(plain)
    body = parse_body(forms, True)
    declared = Declarations()
    declared.special = body.declared.special
    used = form.required if _mentions(forms, CALL_NEXT) else names  # the next method gets all
    declared.ignored = body.declared.ignored | set(used)
    body = body._replace(declared=declared)
    hidden = [Symbol("NEXT"), Symbol("HAS-NEXT")]
    full = form._replace(required=[*hidden, *form.required], other_keys=form.keys is not None)
    local = dict(zip((CALL_NEXT, NEXT_P), hidden))
    node = an.parsed_function(name, full, body, scope, block_name(title), None, local)
    variables = node.binder.required[:2]
    return node, lambda: any(getattr(v, "used", True) for v in variables)


def _mentions(forms: Value, name: Symbol) -> bool:
    """Whether a name stands anywhere in forms."""
    todo = [forms]
    while todo:
        form = todo.pop()
        while form.__class__ is Cons:
            if form.car is name:
                return True
            if form.car.__class__ is Cons:
                todo.append(form.car)
            form = form.cdr
    return False


@special_form("defgeneric", GENERIC, 2)
def _defgeneric(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    title = form.cdr.car
    symbol = generic_name(an, "defgeneric", title, GENERIC)
    an.check_definable(symbol, "function")
    options = parse_generic(form)
    parts = [method_parts(an, title, m.cdr, scope, m) for m in options.methods]
    text = brief(options.lambda_list) if options.lambda_list is not NIL else "()"

    def define(functions: list[list[Any]]) -> Value:
        methods = [part.make(given) for part, given in zip(parts, functions)]
        generic = ensure_generic(title, options.shape, text, form.span)
        for old in [m for m in generic.methods if m.initial]:
            generic.remove(old)
        generic.reshape(options.shape, text, options.order)
        generic.combination, generic.doc = options.combination, options.doc
        others = generic.methods
        for method in [*others, *methods]:
            method.initial = method not in others
            generic.add(method)
        generic.changed()
        return generic

    return Define(Each([Each(part.nodes) for part in parts]), define, form)
