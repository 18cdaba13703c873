"""Macro expansion: one step, where it stands and how it fails; top-level forms to the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..diagnostics import Problem, problem
from ..reader import made_span, place
from . import raising
from .declarations import DECLARE, items_of
from .definitions import BODY_MACROS, core_symbol
from .machine import Machine
from .macro_functions import MacroFunction, macro_failed
from .scope import Scope, global_scope
from .values import NIL, Cons, Symbol, Value, make_list

if TYPE_CHECKING:
    from .analyzer import Analyzer
    from .nodes import Node
    from .scope import Tail

    Handler = Callable[[Analyzer, Cons, Scope, Tail | None], Node]

SPECIAL_FORMS: dict[str, Handler] = {}
"""Analyzers of special forms and definitions, by upper-case name."""

PROGN = core_symbol("PROGN")
MOST_EXPANSIONS = 1_000
"""Expansions of one form, each into another macro call."""

EXPANSION_STEPS = 60
"""What one expansion costs: about the time of so many steps."""


class Expander:
    """Expands the macro calls of one machine."""

    def __init__(self, machine: Machine) -> None:
        self.m = machine
        self.depth = 0  # of the form being analyzed

    def enter(self) -> None:
        """One form deeper: E-LIMIT-DEPTH beyond a quarter of the depth that calls may have."""
        self.depth += 1
        if self.depth > self.m.limits.depth // 4:
            self.depth = 0
            raise problem(
                "E-LIMIT-DEPTH",
                f"forms are nested over {self.m.limits.depth // 4:,} deep, "
                "or a macro expands into itself",
            )

    def expand(self, form: Cons, expander: Callable[[Value, Any], Value], scope: Scope) -> Value:
        """One expansion; what it makes stands where the call stands."""
        m = self.m
        m.fuel -= EXPANSION_STEPS
        if m.fuel < 0:
            m.add_fuel("macro expansion")
        try:
            result = expander(form, scope)
        except raising.Poisoned:
            raise
        except Exception as error:
            raise self._macro_failed(form, expander, error) from None
        if result.__class__ is Cons and result.span is None:
            name = repr(form.car) if isinstance(expander, MacroFunction) else None
            place(result, made_span(name, form.span))
        return result

    def _macro_failed(self, form: Cons, expander: Any, error: Exception) -> Exception:
        if isinstance(expander, MacroFunction):
            return macro_failed(form, error)
        if isinstance(error, Problem):
            return error
        if isinstance(error, TypeError) and "proper list" in str(error):
            return problem("E-FORM-SHAPE", f"({form.car!r} ...) holds what is no proper list")
        return raising.internal(error)

    def expand_top(self, form: Value) -> Value:
        """A top-level form expanded until it is no macro call."""
        scope = global_scope()
        for _ in range(MOST_EXPANSIONS):
            if form.__class__ is not Cons or form.car.__class__ is not Symbol:
                return form
            if form.car.home == "" and form.car.name in SPECIAL_FORMS:
                return form
            expander = self.m.macro(form.car)
            if expander is None:
                return form
            form = self.expand(form, expander, scope)
        raise endless(form)


def over_rest(
    head: Symbol, form: Cons, forms: Cons, failed: Callable[[Problem, Value], object]
) -> Cons:
    """One form instead of a body whose first binds a name over the rest."""
    try:
        replaced = BODY_MACROS[head.name](form, forms.cdr)
    except Problem as error:
        failed(error, form)
        replaced = _bound_anyway(form, forms.cdr)
    place(replaced, made_span(None, form.span))
    return Cons(replaced, NIL, form.span)


def copied(form: Value) -> Value:
    """A copy of a form without spans, so that it can be placed anew."""
    if form.__class__ is not Cons:
        return form
    return Cons(copied(form.car), copied(form.cdr))


def spliced(expansion: Value, forms: Cons) -> Value:
    """Forms with the first replaced by its expansion, whose progn is opened."""
    if expansion.__class__ is Cons and expansion.car is PROGN:
        rest: Value = forms.cdr
        for form in reversed(items_of(expansion.cdr, expansion)):
            rest = Cons(form, rest, forms.span)
        return rest if rest is not NIL else Cons(NIL, NIL, forms.span)
    return Cons(expansion, forms.cdr, forms.span)


def _bound_anyway(form: Cons, rest: Value) -> Cons:
    """The rest of a body after a form that should have bound a name over it and is wrong: what
    uses the name is no further mistake."""
    name = form.cdr.car if form.cdr.__class__ is Cons else NIL
    if name.__class__ is not Symbol or name.keyword or name.home == "":
        return Cons(PROGN, rest)
    bindings = make_list([make_list([name, NIL])])
    ignorable = make_list([DECLARE, make_list([core_symbol("IGNORABLE"), name])])
    return Cons(core_symbol("LET"), Cons(bindings, Cons(ignorable, rest)))


def endless(form: Value) -> Problem:
    """A macro or symbol macro whose expansion is a call of it, again and again."""
    shown = f"({form.car!r} ...)" if form.__class__ is Cons else repr(form)
    return problem("E-FORM-MACRO", f"{shown} expands over {MOST_EXPANSIONS:,} times without end")
