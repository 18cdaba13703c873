"""Method combinations: the methods of a call, most specific first, to one function of its
arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ...diagnostics import Problem, problem
from ...records import NamedTuple
from ..definitions import core_symbol
from ..machine import current
from ..made_forms import form as make
from ..made_forms import listed
from ..printer import brief
from ..values import NIL, Function, Symbol, T, Value, make_list
from .methods import Method, qualifiers_list, shown_specializers

Effective = Callable[[tuple[Value, ...]], Value]
"""Takes all arguments of a call."""


class Combination(Protocol):
    """What a generic function is asked for when methods were found for new classes."""

    def effective(self, generic: Any, methods: list[Method]) -> Effective:
        """One function that runs the methods, most specific first."""


def linked(method: Method, rest: Effective | None) -> Effective:
    """A method as a function of its arguments; `rest` is the next one."""
    body = method.body
    if not method.continues:
        return lambda arguments: body(None, None, *arguments)
    has_next = Function("next-method-p", lambda: NIL if rest is None else T, "()", 0, 0)

    def run(arguments: tuple[Value, ...]) -> Value:
        def call(*given: Value) -> Value:
            following = given or arguments
            if rest is None:
                return _no_next(method, following)
            if given:
                _check_same(method, arguments, given)
            return rest(following)

        return body(Function("call-next-method", call), has_next, *arguments)

    return run


def _no_next(method: Method, arguments: tuple[Value, ...]) -> Value:
    ask = current().cell(core_symbol("NO-NEXT-METHOD")).call
    return ask(method.generic, method, *arguments)


def _check_same(method: Method, before: tuple[Value, ...], given: tuple[Value, ...]) -> None:
    """Other arguments of call-next-method must lead to the same methods."""
    generic = method.generic
    if generic is None or generic.key(before) == generic.key(given):
        return
    if generic.applicable(before) != generic.applicable(given):
        raise problem(
            "E-CALL-METHOD",
            f"call-next-method of {generic.name} got arguments that other methods are for",
            hint=f"call {generic.name} itself with them",
            function=generic.name,
        )


def chained(methods: list[Method], last: Effective | None = None) -> Effective:
    """The first method, for which the others are the next ones."""
    rest = last
    for method in reversed(methods):
        rest = linked(method, rest)
    assert rest is not None
    return rest


class Standard:
    """:around, then :before, the primary method, and :after in the other order."""

    def effective(self, generic: Any, methods: list[Method]) -> Effective:
        groups: dict[str, list[Method]] = {"": [], ":around": [], ":before": [], ":after": []}
        for method in methods:
            groups[_group(generic, method, tuple(groups))].append(method)
        if not groups[""]:
            raise no_primary(generic, methods)
        main = chained(groups[""])
        if groups[":before"] or groups[":after"]:
            before = [linked(m, None) for m in groups[":before"]]
            main = _between(before, main, [linked(m, None) for m in reversed(groups[":after"])])
        return chained(groups[":around"], main)


def _between(before: list[Effective], main: Effective, after: list[Effective]) -> Effective:
    def run(arguments: tuple[Value, ...]) -> Value:
        for part in before:
            part(arguments)
        value = main(arguments)
        for part in after:
            part(arguments)
        return value

    return run


def _group(generic: Any, method: Method, known: tuple[str, ...]) -> str:
    words = " ".join(brief(q) for q in method.qualifiers)
    if words not in known:
        raise bad_qualifiers(generic, method, known)
    return words


def bad_qualifiers(generic: Any, method: Method, known: tuple[str, ...]) -> Problem:
    """A method with qualifiers that the combination has no use for."""
    from ...diagnostics import nearest

    shown = brief(qualifiers_list(method))
    where = shown_specializers(method.specializers)
    near = nearest(shown.strip("()"), [k for k in known if k])
    return problem(
        "E-CALL-METHOD",
        f"the method of {generic.name} for {where} has qualifiers {shown}, which mean nothing in"
        " its method combination",
        hint=f"did you mean {near}?" if near else
        "it takes " + ", ".join(k or "no qualifier" for k in known),
        function=generic.name,
    )  # fmt: skip


def no_primary(generic: Any, methods: list[Method]) -> Problem:
    """Only auxiliary methods apply."""
    where = ", ".join(shown_specializers(m.specializers) for m in methods)
    return problem(
        "E-CALL-METHOD",
        f"{generic.name} has no primary method for these arguments, only others for {where}",
        hint="a primary method has no qualifier, or the name of the method combination",
        function=generic.name,
    )


STANDARD: Combination = Standard()

ARGUMENTS = Symbol("ARGUMENTS")
"""The variable that holds the arguments of a call in an effective method written as a form."""
ARGUMENTS.plist = NIL


def compiled(form: Value) -> Effective:
    """A form with calls of call-method as a function of the arguments."""
    declared = make("DECLARE", make("IGNORABLE", ARGUMENTS))
    parameters = listed(core_symbol("&REST"), ARGUMENTS)
    function = current().evaluate_form(
        make("FUNCTION", make("LAMBDA", parameters, declared, form))
    )  # fmt: skip
    return lambda arguments: function.call(*arguments)


def call_form(method: Method) -> Value:
    """`(call-method method)`."""
    return make("CALL-METHOD", method)


class Short(NamedTuple):
    """An operator over the primary methods, whose qualifier is the combination's name.

    `single`: one method alone is its own result. `last`: the most specific one comes last.
    """

    name: Symbol
    operator: Value
    single: bool
    last: bool = False

    def effective(self, generic: Any, methods: list[Method]) -> Effective:
        """Around methods outside, then the operator."""
        known = (repr(self.name), ":around")
        around, primary = [], []
        for method in methods:
            inside = len(method.qualifiers) == 1 and method.qualifiers[0] is self.name
            if not inside and _group(generic, method, known) == ":around":
                around.append(method)
            else:
                primary.append(method)
        if not primary:
            raise no_primary(generic, methods)
        if self.last:
            primary.reverse()
        return chained(around, self._operated(primary))

    def _operated(self, primary: list[Method]) -> Effective:
        if self.single and len(primary) == 1:
            return linked(primary[0], None)
        from ..values import Cons

        return compiled(Cons(self.operator, make_list([call_form(m) for m in primary])))


class Long(NamedTuple):
    """A combination whose `make(generic, options, methods)` gives the form to run."""

    name: Symbol
    make: Function
    options: Value = NIL

    def effective(self, generic: Any, methods: list[Method]) -> Effective:
        """The form that its definition makes of the methods."""
        return compiled(self.make.call(generic, self.options, make_list(methods)))


COMBINATIONS: dict[Symbol, Short | Long] = {
    core_symbol(name): Short(core_symbol(name), core_symbol(name), name not in ("LIST",))
    for name in ["+", "AND", "APPEND", "LIST", "MAX", "MIN", "NCONC", "OR", "PROGN"]
}
"""Method combinations by name, but the standard one."""
