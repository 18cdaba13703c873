"""A defgeneric form taken apart: its lambda list and options as data."""

from __future__ import annotations

from typing import Any

from ...diagnostics import problem
from ...records import NamedTuple
from ..declarations import DECLARE, items_of
from ..lambda_lists import LambdaList, parse_lambda_list
from ..mistakes import shape
from ..printer import brief
from ..slot_forms import unknown_option
from ..values import NIL, Cons, String, Symbol, Value, make_list
from .combinations import COMBINATIONS, STANDARD, Combination, Long
from .methods import Shape, shape_of

OPTIONS = (":argument-precedence-order", ":documentation", ":generic-function-class", ":method",
           ":method-class", ":method-combination")  # fmt: skip
WANTS = "(defgeneric name (parameter...) option...)"


class GenericOptions(NamedTuple):
    """`methods`: the (:method ...) options as they stand."""

    lambda_list: Value
    shape: Shape
    order: tuple[int, ...]
    combination: Combination
    methods: list[Cons]
    doc: str


def parse_generic(form: Cons) -> GenericOptions:
    """The parts of `(defgeneric name lambda-list option...)`."""
    lambda_list = form.cdr.cdr.car
    parsed = parse_lambda_list(lambda_list)
    _check_plain(parsed, lambda_list)
    rows: dict[str, list[Value]] = {}
    methods: list[Cons] = []
    for option in items_of(form.cdr.cdr.cdr, form):
        if option.__class__ is not Cons:
            raise shape("defgeneric", WANTS, f"{brief(option)} is no option")
        word = brief(option.car)
        if option.car is DECLARE:
            _check_declaration(option)
        elif word not in OPTIONS:
            raise unknown_option("defgeneric", f"it has no option {word}", word, OPTIONS)
        elif word == ":method":
            methods.append(option)
        elif word in rows:
            raise problem("E-FORM-SHAPE", f"defgeneric: {word} stands twice")
        else:
            rows[word] = items_of(option.cdr, option)
    return GenericOptions(
        lambda_list,
        shape_of(parsed),
        _order(parsed.required, rows.get(":argument-precedence-order")),
        combination_of(rows.get(":method-combination")),
        methods,
        _doc(rows.get(":documentation")),
    )


def _check_plain(parsed: LambdaList, form: Value) -> None:
    """A generic function's parameters have no defaults (CLHS 3.4.2)."""
    if "&aux" in map(brief, items_of(form, form)):
        raise problem("E-FORM-SHAPE", "defgeneric: a generic function has no &aux parameters")
    names = [*parsed.required, *(p.pattern for p in (*parsed.optional, *(parsed.keys or ())))]
    for name in names:
        if names.count(name) > 1:
            raise problem("E-FORM-SHAPE", f"defgeneric: the parameter {name!r} stands twice")
    for parameter in (*parsed.optional, *(parsed.keys or ())):
        item = parameter.at.car if parameter.at.__class__ is Cons else NIL
        named = item is parameter.pattern or item.__class__ is Cons
        if parameter.default is not NIL or parameter.supplied is not None or not named:
            raise problem(
                "E-FORM-SHAPE",
                f"defgeneric: the parameter {brief(parameter.pattern)} has a default",
                hint="the defaults stand in the methods",
            )


def _check_declaration(form: Cons) -> None:
    for specifier in items_of(form.cdr, form):
        head = specifier.car if specifier.__class__ is Cons else specifier
        if brief(head) not in ("optimize", "dynamic-extent", "notinline", "inline"):
            raise problem("E-FORM-SHAPE", f"defgeneric: it takes no declaration {brief(head)}")


def _order(required: list[Any], given: list[Value] | None) -> tuple[int, ...]:
    """Indices of the required parameters, most decisive first."""
    if given is None:
        return ()
    if sorted(map(id, given)) != sorted(map(id, required)):
        raise problem(
            "E-FORM-SHAPE",
            "defgeneric: :argument-precedence-order names each required parameter once",
            hint="they are " + " ".join(map(brief, required)),
        )
    return tuple(required.index(name) for name in given)


def _doc(given: list[Value] | None) -> str:
    if given is None:
        return ""
    if len(given) != 1 or not isinstance(given[0], String):
        raise problem("E-FORM-SHAPE", "defgeneric: :documentation is one string")
    return given[0].text()


def combination_of(given: list[Value] | None) -> Combination:
    """The method combination of `(name option...)`; E-FORM-SHAPE with the nearest name."""
    from ...diagnostics import nearest

    if given is None or (len(given) == 1 and brief(given[0]) == "standard"):
        return STANDARD
    name, *options = given or [NIL]
    found = COMBINATIONS.get(name) if name.__class__ is Symbol else None
    if found is None:
        near = nearest(brief(name), [repr(known) for known in COMBINATIONS])
        hint = f"did you mean {near}?" if near else "define it: (define-method-combination name)"
        message = f"no method combination is named {brief(name)}"
        raise problem("E-FORM-SHAPE", message, hint=hint)
    if isinstance(found, Long):
        return found._replace(options=make_list(options))
    words = [brief(option) for option in options]
    if words not in ([], [":most-specific-first"], [":most-specific-last"]):
        raise problem(
            "E-FORM-SHAPE", f"the order of {name!r} is :most-specific-first or -last, not {words}"
        )
    return found._replace(last=words == [":most-specific-last"])
