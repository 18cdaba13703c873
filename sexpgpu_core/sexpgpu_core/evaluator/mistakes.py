"""Problems about names and shapes, with the word that was meant."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, Any

from ..diagnostics import Change, Edit, Problem, nearest, problem
from ..reader import MadeSpan, element_span, span_of
from ..spans import Span
from .definitions import BUILTINS, CHAPTERS, NATIVE_MACROS
from .printer import brief
from .scope import Variable
from .unsupported import unsupported as left_out
from .values import UNBOUND, Cons, Function, Symbol, Value

if TYPE_CHECKING:
    from .machine import Cell, Machine

UNKNOWN = "define it with defun or defmacro, or bring its module in with require"


def shape(name: str, wants: str, why: str | None = None, edit: Edit | None = None) -> Problem:
    """E-FORM-SHAPE of a form, with the shape it should have."""
    return problem(
        "E-FORM-SHAPE",
        f"{name}: {why}" if why else f"this {name} form is not of its shape",
        hint=f"write it as {wants}",
        edit=edit,
        form=name,
        wants=wants,
    )


def call_mistake(function: Function, given: int, form: Cons | None = None) -> Problem:
    """E-CALL-ARGUMENTS found before the call is made."""
    from .closures import wrong_count

    error = wrong_count(function, given)
    edit = None
    if given > function.least == function.most and form is not None:
        edit = _by_place(function, form) or _as_list(function, form)
    if edit is not None:
        error = Problem(error.diagnostic._replace(edit=edit))
    if function.name == "map" and given == 2:  # as in Scheme
        hint = "(mapcar function list), or (map 'list function sequence)"
        error = Problem(error.diagnostic._replace(hint=hint))
    return error


def _by_place(function: Function, form: Cons) -> Edit | None:
    """Of keywords before arguments that are given by their places: an edit that leaves them out."""
    from .keyword_mistakes import without_keyword

    places = function.lambda_list.strip("()").split(" &")[0].split()
    changes: list[Change] = []
    tail = form.cdr
    while tail.__class__ is Cons:
        word = tail.car
        if word.__class__ is Symbol and word.keyword and word.name.lower() in places:
            edit = without_keyword(tail)
            changes += edit.changes if edit is not None else ()
        tail = tail.cdr
    return Edit("leave out the keywords", tuple(changes)) if changes else None


def _as_list(function: Function, form: Cons) -> Edit | None:
    """The arguments that a list of sizes was given as, one by one, as that list."""
    from .closures import last_is_list

    tail = form.cdr
    for _ in range(function.least - 1):
        tail = tail.cdr
    spans, numbers = [], True
    while tail.__class__ is Cons:
        spans.append(element_span(tail))
        numbers = numbers and tail.car.__class__ is int
        tail = tail.cdr
    first, last = spans[0], spans[-1]
    if not last_is_list(function) or first.__class__ is not Span or last.__class__ is not Span:
        return None
    assert first is not None
    assert last is not None
    whole = Span(first.source, first.start, last.end)
    new = f"'({whole.text})" if numbers else f"(list {whole.text})"
    return Edit(f"write {new}", (Change(whole, new),))


def replacing(at: Value, old: str, new: str) -> Edit | None:
    """An edit of the name at the head of a written form."""
    span = element_span(at)
    if span is None or isinstance(span, MadeSpan) or span.text.lower() != old.lower():
        return None
    return Edit(f"write {new}", (Change(span, new),))


def is_bare_call(clause: Cons, variables: Container[Symbol]) -> bool:
    """Whether a clause of cond is written as a call: its test is a standard function's name, and
    no variable's."""
    test = clause.car
    if test.__class__ is not Symbol or test in variables or test.value is not UNBOUND:
        return False
    return test.home == "" and test.name in BUILTINS and clause.cdr.__class__ is Cons


def bare_call(clause: Cons) -> Problem:
    """E-FORM-SHAPE of `(cond (> x 2) ...)`, with the clause's own parentheses as its edit."""
    call, span = brief(clause), span_of(clause)
    why = f"the test of the clause {call} is the function {clause.car!r}"
    edit = None
    if span is not None and not isinstance(span, MadeSpan):
        edit = Edit("put the test in parentheses", (Change(span, f"({span.text})"),))
    found = shape("cond", f"({call} form...)", why, edit)
    return found if span is None else found.locate(span)


def no_function_form(form: Cons) -> Problem:
    """The head of a call is neither a name nor a lambda expression."""
    from .foreign import operand_first

    head = form.car
    hint, edit = "a list of values is (list ...), or quoted: '(...)", None
    if head.__class__ is Cons:
        hint = "the value of a form is called by (funcall form argument ...)"
    found = operand_first(form)
    if found is not None:
        hint, edit = found
    return problem("E-FORM-SHAPE", f"{brief(head)} is no function name", hint=hint, edit=edit)


def function_names(m: Machine) -> Iterable[str]:
    """Names that can be called, as the user writes them."""
    from .expansion import SPECIAL_FORMS

    for symbol, cell in m.cells.items():
        if cell.defined and symbol.home != "":
            yield symbol.name.lower()
    for symbol in m.macros:
        yield symbol.name.lower()
    for table in (BUILTINS, NATIVE_MACROS, SPECIAL_FORMS, CHAPTERS):
        for name in table:
            if not name.startswith("%"):
                yield name.lower()


def is_foreign(name: str) -> bool:
    """Whether an upper-case name is a form of elsewhere, or of the standard and left out."""
    from .habits import is_syntax

    return is_syntax(name) or left_out(name) is not None


def is_method(name: str, variables: Any) -> bool:
    """Whether an upper-case name is `X.MEAN`, where x is a variable."""
    if "." not in name:
        return False
    from .foreign import owner_of

    return owner_of(name, variables)


def undefined_function(cell: Cell) -> Exception:
    """What a call of a name without a function raises."""
    from .machine import current
    from .raising import Poisoned

    if cell.poisoned:
        return Poisoned(cell.name)
    error = no_function_named(current(), cell)
    error.cell = cell.name  # type: ignore[attr-defined]
    return error


def no_function_named(m: Machine, cell: Cell, at: Value = None, variables: Any = ()) -> Problem:
    """E-NAME-FUNCTION or, of a standard name, E-UNSUPPORTED."""
    symbol = cell.name
    if symbol.__class__ is not Symbol:
        place = brief(symbol.cdr)
        return problem(
            "E-PLACE",
            f"{place} is no place: no function is named {brief(symbol)}",
            hint=f"define it: (defun (setf {place[1:-1]}) (new ...) ...)",
            kind="undefined-function",
            name=brief(symbol),
        )
    name = repr(symbol)
    if symbol.constant:
        from .foreign import no_function

        return no_function(name)
    from .habits import habit_of

    habit = habit_of(symbol.name)
    instead = None if habit else left_out(symbol.name)
    if instead is not None:
        return _unsupported(symbol, instead)
    if symbol in variables or (symbol.value is not UNBOUND and symbol.home != ""):
        if symbol in variables and variables[symbol].__class__ is Variable:
            variables[symbol].used = True  # it is meant, though called as a function
        return _variable_called(name, at)
    lower = m.module.symbols.get(symbol.name.lower())
    if lower is not None and lower in m.cells and m.cells[lower].defined:
        hint = INTERNED.format(lower.name)
        message = f"no function or macro is named {name}"
        return problem("E-NAME-FUNCTION", message, hint=hint, name=name)
    from .foreign import brackets, call_habit

    found = None
    if habit is None or symbol.name == "DEFINE":
        found = call_habit(at, name, m, variables)
    near = exporter_of(m, symbol.name) or habit or near_name(name, function_names(m))
    near = near if near != name else None
    if found is not None:
        (hint, edit), near = found, None
    else:
        edit = replacing(at, name, near) if near and " " not in near else None
        hint = f"write {near}" if habit else f"did you mean {near}?" if near else UNKNOWN
        turned = brackets(span_of(at)) if habit in ("defun", "lambda") else None
        if edit is not None and turned is not None:
            edit = Edit(edit.title, (*edit.changes, *turned.changes))
    return problem(
        "E-NAME-FUNCTION",
        f"no function or macro is named {name}",
        hint=hint,
        edit=edit,
        name=name,
        written=name,
        nearest=near if near and " " not in near else None,
    )


INTERNED = "there is |{}| in lower case: make symbols by (intern (string-upcase ...))"


def near_name(name: str, known: Iterable[str]) -> str | None:
    """The nearest name; of one or two letters any could be meant, so none is."""
    return nearest(name, known) if len(name) > 2 else None


def exporter_of(m: Machine, name: str) -> str | None:
    """`prefix:name` if a required module exports an upper-case name."""
    for prefix, module in m.module.prefixes.items():
        if name in module.exports:
            return f"{prefix.lower()}:{name.lower()}"
    return None


def _variable_called(name: str, at: Value) -> Problem:
    span = element_span(at)
    edit = None
    if span is not None and not isinstance(span, MadeSpan):
        point = Span(span.source, span.start, span.start)
        edit = Edit(f"write (funcall {name} ...)", (Change(point, "funcall "),))
    return problem(
        "E-NAME-FUNCTION",
        f"no function is named {name}: {name} is a variable here",
        hint=f"use (funcall {name} ...)",
        edit=edit,
        name=name,
    )


def unsupported(m: Machine, cell: Cell, form: Cons, scope: Any) -> Problem:
    """What is wrong with a call of a name that has no function."""
    return no_function_named(m, cell, form, scope.variables)


def _unsupported(symbol: Symbol, instead: str) -> Problem:
    name = repr(symbol)
    return problem(
        "E-UNSUPPORTED",
        f"{name} is a name of Common Lisp that this language leaves out",
        hint=instead,
        name=name,
    )


def unbound_variable(m: Machine, symbol: Symbol, span: Span | None = None) -> Problem:
    """E-NAME-UNBOUND with the nearest variable, or `#'name` for a function."""
    from .foreign import with_habit

    return with_habit(_unbound(m, symbol), repr(symbol), span)


def _unbound(m: Machine, symbol: Symbol) -> Problem:
    name = repr(symbol)
    from .habits import VALUES

    if symbol.name in VALUES:
        value = VALUES[symbol.name]
        return problem("E-NAME-UNBOUND", f"no variable is named {name}", hint=f"write {value}",
                       name=name, written=name,
                       nearest=value if " " not in value else None)  # fmt: skip
    cell = m.cells.get(symbol)
    if (cell is not None and cell.function is not None) or symbol.name in BUILTINS:
        return problem(
            "E-NAME-UNBOUND",
            f"{name} is a function, no variable",
            hint=f"the function itself is #'{name}",
            name=name,
            written=name,
            nearest=f"#'{name}",
        )
    lower = m.module.symbols.get(symbol.name.lower())
    if lower is not None and lower.value is not UNBOUND:
        hint = INTERNED.format(lower.name)
        return problem("E-NAME-UNBOUND", f"no variable is named {name}", hint=hint, name=name)
    near = exporter_of(m, symbol.name) or near_name(name, variable_names(m))
    return problem(
        "E-NAME-UNBOUND",
        f"no variable is named {name}",
        hint=f"did you mean {near}?"
        if near
        else "bind it with let, or define it with defparameter",
        name=name,
        written=name,
        nearest=near,
    )


def variable_names(m: Machine) -> Iterable[str]:
    """Global variables that have a value."""
    for symbol in m.module.symbols.values():
        if symbol.value is not UNBOUND:
            yield symbol.name.lower()
