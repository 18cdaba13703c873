"""Places: how the value at a form is read and written, its subforms evaluated once and in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..diagnostics import nearest, problem
from ..records import NamedTuple
from .declarations import items_of
from .definitions import BUILTINS, core_symbol
from .made_forms import form as make
from .made_forms import fresh, listed
from .mistakes import shape
from .printer import brief
from .scope import LocalMacro, Scope, SymbolMacro, Variable
from .values import NIL, Cons, MultipleValues, Symbol, Value, make_list

if TYPE_CHECKING:
    from .machine import Machine


class Place(NamedTuple):
    """A place taken apart: bind `names` to `values` in order; then `read` gives its value, and
    `write(forms)` is the form that stores the values of `forms`, as many as `stores`."""

    names: list[Symbol]
    values: list[Value]
    read: Value
    write: Callable[[list[Value]], Value]
    stores: int = 1


SETF = core_symbol("SETF")
STORE = core_symbol("%STORE")

Expander = Callable[["Machine", Cons, Any], Place]

PLACES: dict[str, Expander] = {}
"""Places that are more than a call with a setter, by upper-case name of the standard."""


def has_setter(name: str) -> bool:
    """Whether a call of the standard's NAME (upper case) is a place."""
    return f"(SETF {name})" in BUILTINS


def place(name: str) -> Callable[[Expander], Expander]:
    """Define the place whose head is the standard's NAME."""

    def define(expander: Expander) -> Expander:
        PLACES[name.upper()] = expander
        return expander

    return define


def place_of(m: Machine, form: Value, scope: Any) -> Place:
    """Take a place apart; E-PLACE if it is none."""
    if form.__class__ is Symbol:
        return _variable(m, form, scope)
    if form.__class__ is not Cons or form.car.__class__ is not Symbol:
        raise no_place(m, form)
    head: Symbol = form.car
    local = scope.functions.get(head) if isinstance(scope, Scope) else None
    if local.__class__ is LocalMacro:
        return place_of(m, _expand(m, form, local.expander, scope), scope)
    if local is None and head.home == "":
        if head.name in PLACES:
            return PLACES[head.name](m, form, scope)
        if has_setter(head.name):
            return setter_place(form, STORE, head)
    return _defined(m, form, head, local, scope)


def _expand(m: Any, form: Cons, macro: Any, scope: Any) -> Value:
    """One expansion by the analyzer, which machines have and this module may not know."""
    return m.analyzer.expand(form, macro, scope)


def _defined(m: Machine, form: Cons, head: Symbol, local: Any, scope: Any) -> Place:
    expander = m.setf_expanders.get(head)
    if expander is not None and local is None:
        if isinstance(expander, Symbol):
            return setter_place(form, expander)
        return _five_values(expander(form, scope), form)
    from .function_forms import SetfName

    if local is None and isinstance(scope, Scope) and SetfName((head,)) in scope.functions:
        return _local_setter(form, head)
    if local is None and head not in m.setf_cells:
        macro = m.macro(head)
        if macro is not None:
            return place_of(m, _expand(m, form, macro, scope), scope)
        if head.home == "":
            raise no_place(m, form)
    m.setf_cell(head, listed(SETF, head))
    return setter_place(form, STORE, head)


def _local_setter(form: Cons, head: Symbol) -> Place:
    names, values = temporaries(form.cdr, form)
    name = make("FUNCTION", listed(SETF, head))
    return Place(
        names,
        values,
        Cons(head, make_list(names)),
        lambda stored: make("FUNCALL", name, stored[0], *names),
    )


def _variable(m: Machine, name: Symbol, scope: Any) -> Place:
    found = scope.variables.get(name) if isinstance(scope, Scope) else None
    if found.__class__ is SymbolMacro:
        return _expansion(m, found.expansion, scope)
    if not isinstance(found, Variable) and name in m.symbol_macros:
        return _expansion(m, m.symbol_macros[name], scope)
    if name.constant:
        raise problem("E-REDEFINE", f"{name!r} is a constant and cannot be assigned")
    return Place([], [], name, lambda stored: make("SETQ", name, stored[0]))


def _expansion(m: Machine, form: Value, scope: Any) -> Place:
    """A symbol macro's expansion as a place: E-LIMIT-DEPTH where it expands into itself."""
    m.depth += 1
    try:
        if m.depth > m.depth_limit:
            raise problem("E-LIMIT-DEPTH", f"the symbol macro {brief(form)} expands into itself")
        return place_of(m, form, scope)
    finally:
        m.depth -= 1


def temporaries(arguments: Value, whole: Cons) -> tuple[list[Symbol], list[Value]]:
    """A fresh variable for each subform."""
    values = items_of(arguments, whole)
    return [fresh("T") for _ in values], values


def setter_place(form: Cons, setter: Symbol, *first: Value) -> Place:
    """A call whose setter takes `first`, the same arguments and then the value, and returns it."""
    names, values = temporaries(form.cdr, form)
    return Place(
        names,
        values,
        Cons(form.car, make_list(names)),
        lambda stored: Cons(setter, make_list([*first, *names, stored[0]])),
    )


def _five_values(expansion: Value, form: Cons) -> Place:
    """What a setf expander of the user returns, as a Place."""
    parts = list(expansion) if expansion.__class__ is MultipleValues else [expansion]
    if len(parts) != 5:
        raise problem(
            "E-PLACE", f"the setf expander of {form.car!r} gave {len(parts)} values, not 5"
        )
    names, values, stores = (items_of(part, form) for part in parts[:3])

    def write(stored: list[Value]) -> Value:
        bindings = make_list([listed(name, value) for name, value in zip(stores, stored)])
        return make("LET*", bindings, parts[3])

    return Place(names, values, parts[4], write, len(stores))


def no_place(m: Machine, form: Value) -> Exception:
    """E-PLACE, with the nearest place of a similar name."""
    shown = brief(form)
    hint = None
    if form.__class__ is Cons and form.car.__class__ is Symbol:
        known = [n[6:-1] for n in BUILTINS if n.startswith("(SETF ")]
        near = nearest(form.car.name, [*known, *PLACES])
        hint = f"did you mean ({near.lower()} ...)?" if near else None
        if hint is None and form.car.home != "":  # of the standard nothing can be defined
            hint = f"define what it means: (defun (setf {form.car!r}) (value ...) ...)"
    return problem("E-PLACE", f"{shown} is no place", hint=hint)


def binding_list(found: Place) -> list[Value]:
    """`((name value) ...)` of a place's subforms."""
    return [listed(name, value) for name, value in zip(found.names, found.values)]


def wrap(found: Place, body: Value) -> Value:
    """A form with the place's subforms bound around it."""
    bindings = binding_list(found)
    return make("LET*", make_list(bindings), body) if bindings else body


def _two(form: Cons, wants: str) -> list[Value]:
    """The two operands of a place."""
    parts = items_of(form.cdr, form)
    if len(parts) != 2:
        raise shape(repr(form.car), wants)
    return parts


@place("the")
def _the(m: Machine, form: Cons, scope: Any) -> Place:
    kind, inner = _two(form, "(the type place)")
    found = place_of(m, inner, scope)
    return found._replace(
        read=make("THE", kind, found.read),
        write=lambda stored: found.write([make("THE", kind, stored[0]), *stored[1:]]),
    )


@place("values")
def _values(m: Machine, form: Cons, scope: Any) -> Place:
    places = [place_of(m, item, scope) for item in items_of(form.cdr, form)]
    names = [name for p in places for name in p.names]
    values = [value for p in places for value in p.values]

    def write(stored: list[Value]) -> Value:
        return make("VALUES", *[p.write([value]) for p, value in zip(places, stored)])

    read = make("VALUES", *[p.read for p in places])
    return Place(names, values, read, write, len(places))


@place("getf")
def _getf(m: Machine, form: Cons, scope: Any) -> Place:
    parts = items_of(form.cdr, form)
    if not 2 <= len(parts) <= 3:
        raise no_place(m, form)
    inner = place_of(m, parts[0], scope)
    names = [fresh("T") for _ in parts[1:]]

    def write(stored: list[Value]) -> Value:
        store = fresh("NEW")
        changed = make("%PUTF", inner.read, names[0], store)
        return make("LET", listed(listed(store, stored[0])), inner.write([changed]), store)

    return Place(
        [*inner.names, *names], [*inner.values, *parts[1:]],
        make("GETF", inner.read, *names), write,
    )  # fmt: skip


def _byte_place(reader: str, writer: str) -> Expander:
    def expand(m: Machine, form: Cons, scope: Any) -> Place:
        byte, inner_form = _two(form, f"({form.car!r} byte place)")
        inner = place_of(m, inner_form, scope)
        name = fresh("BYTE")

        def write(stored: list[Value]) -> Value:
            store = fresh("NEW")
            changed = make(writer, store, name, inner.read)
            return make("LET", listed(listed(store, stored[0])), inner.write([changed]), store)

        return Place(
            [name, *inner.names], [byte, *inner.values], make(reader, name, inner.read), write
        )

    return expand


PLACES["LDB"] = _byte_place("LDB", "DPB")
PLACES["MASK-FIELD"] = _byte_place("MASK-FIELD", "DEPOSIT-FIELD")


@place("apply")
def _apply(m: Machine, form: Cons, scope: Any) -> Place:
    parts = items_of(form.cdr, form)
    function = parts[0] if parts else NIL
    if function.__class__ is not Cons or function.cdr.__class__ is not Cons or len(parts) < 2:
        raise no_place(m, form)
    name = function.cdr.car
    names = [fresh("T") for _ in parts[1:]]
    setter = make("FUNCTION", listed(SETF, name))
    return Place(
        names,
        parts[1:],
        make("APPLY", function, *names),
        lambda stored: make("APPLY", setter, stored[0], *names),
    )
