"""The grammar of declarations: list structure is syntax, each leaf an evaluated form (65 C26).

A form is taken apart once, when its macro is expanded; the expansion evaluates the leaves and
hands them to the declaration, which checks their values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..diagnostics import Change, Edit, Problem, nearest, problem
from ..evaluator.definitions import BUILTINS, builtin, core_symbol
from ..evaluator.values import (
    NIL,
    QUOTE,
    Cons,
    Function,
    Ratio,
    String,
    Symbol,
    T,
    Value,
    make_list,
)
from ..reader import element_span, place, span_of
from ..spans import Span
from .faults import describe

LIST = core_symbol("LIST")
LARGEST = 2**53
"""The greatest integer of a declaration: doubles, which counts meet, hold all up to it."""


class Slot:
    """A leaf: its form, where it stands, and its value once the declaration is evaluated."""

    __slots__ = ("form", "span", "value", "what")

    def __init__(self, form: Value, span: Span | None, what: str) -> None:
        self.form = form
        self.span = span
        self.what = what
        self.value: Value = NIL

    def refuse(self, wanted: str, code: str = "E-OPTION-VALUE") -> Problem:
        """A value of another type or range than wanted."""
        found = problem(
            code, f"{self.what} is {describe(self.value)}, wants {wanted}", hint=f"give {wanted}"
        )
        return found.locate(self.span)

    def integer(self, least: int | None = None, most: int | None = LARGEST) -> int:
        wrong = self.value.__class__ is not int
        if wrong or (least is not None and self.value < least):
            raise self.refuse("an integer" if least is None else f"an integer from {least}")
        if most is not None and self.value > most:
            raise self.refuse(f"an integer {'' if least is None else f'from {least} '}to {most:,}")
        return self.value  # type: ignore[no-any-return]

    def number(self) -> float:
        if self.value.__class__ not in (int, float, Ratio):
            raise self.refuse("a number")
        try:
            return float(self.value)
        except OverflowError:
            raise self.refuse("a number that a double can be") from None

    def above(self, bound: float) -> float:
        """A number above a bound."""
        found = self.number()
        if not found > bound:
            raise self.refuse(f"a number above {bound:g}")
        return found

    def text(self) -> str:
        if not isinstance(self.value, String):
            raise self.refuse("a string")
        return self.value.text()

    def flag(self) -> bool:
        """t or nil. What other languages have for them, as :false and 0, is no truth here."""
        odd = self.value.__class__ in (int, float, Ratio) or isinstance(self.value, String)
        if odd or (self.value.__class__ is Symbol and self.value.keyword):
            raise self.refuse("t or nil")
        return self.value is not NIL

    def function(self) -> Function:
        if not isinstance(self.value, Function):
            raise self.refuse("a function, as (lambda (x) ...)")
        return self.value

    def choice(self, known: Sequence[str]) -> str:
        """One of a few keywords, without its colon."""
        name = self.value.name.lower() if self.value.__class__ is Symbol else None
        if name not in known:
            near = nearest(name or "", known)
            meant = (
                f"did you mean :{near}?" if near else "one of " + " ".join(f":{k}" for k in known)
            )
            shown, edit = describe(self.value), None
            if near and self.span is not None and self.span.text.startswith(":"):
                edit = Edit(f"write :{near}", (Change(self.span, f":{near}"),))
            raise problem(
                "E-OPTION-VALUE", f"{self.what} is {shown}", hint=meant, edit=edit
            ).locate(self.span)
        return str(name)

    def optional(self, read: Callable[[Slot], Any]) -> Any:
        """None for nil."""
        return None if self.value is NIL else read(self)

    def python(self) -> Any:
        """As `declarations` keeps it: str, ":keyword", tuples, numbers, True and None."""
        return python_value(self.value)


def python_value(value: Value) -> Any:
    """A Lisp datum as plain Python."""
    if isinstance(value, String):
        return value.text()
    if value is NIL or value is T:
        return True if value is T else None
    if value.__class__ is Symbol:
        return (":" if value.keyword else "") + value.name.lower()
    if value.__class__ is Ratio:
        return value.numerator / value.denominator
    if value.__class__ is Cons:
        items = []
        while value.__class__ is Cons:
            items.append(python_value(value.car))
            value = value.cdr
        return tuple(items)
    return value


class Declaration:
    """One form taken apart. `finish` is called with the slots filled: the form's value. `option`:
    the option or clause that is being read."""

    __slots__ = ("finish", "head", "option", "slots", "span")

    def __init__(self, form: Cons) -> None:
        self.head = form.car.name.lower() if form.car.__class__ is Symbol else "form"
        self.option = ""
        self.span = span_of(form)
        self.slots: list[Slot] = []
        self.finish: Callable[[], Value] = lambda: NIL

    def slot(self, tail: Cons, what: str) -> Slot:
        """The leaf that stands at a tail."""
        found = Slot(tail.car, element_span(tail), what)
        self.slots.append(found)
        return found

    def made_slot(self, form: Value, span: Span | None, what: str) -> Slot:
        """A leaf whose form is made of what was written, such as a lambda around it."""
        found = Slot(form, span, what)
        self.slots.append(found)
        return found

    def expansion(self) -> Value:
        """(%declare declaration leaf...); a leaf stands where it was written."""
        leaves: Value = NIL
        for slot in reversed(self.slots):
            leaves = Cons(place(slot.form, self.span), leaves)
            leaves.span = slot.span or self.span
        return Cons(core_symbol("%DECLARE"), Cons(self, leaves))

    def refuse(self, message: str, tail: Value = None, hint: str | None = None) -> Problem:
        """E-FORM-SHAPE of this form; without a hint the form is shown."""
        from .shown import shown

        hint = hint or shown(self.head, self.option)
        found = problem("E-FORM-SHAPE", f"{self.head}: {message}", hint=hint)
        return found.locate((element_span(tail) if tail is not None else None) or self.span)

    def name(self, tail: Value, what: str = "a name") -> Symbol:
        """A symbol that is written there."""
        if tail.__class__ is not Cons or tail.car.__class__ is not Symbol or tail.car.keyword:
            raise self.refuse(f"{what} is missing", tail if tail.__class__ is Cons else None)
        return tail.car  # type: ignore[no-any-return]


@builtin("%declare", "(declaration &rest values)")
def declare(declaration: Declaration, *values: Value) -> Value:
    """Fills the slots of a declaration and finishes it."""
    for slot, value in zip(declaration.slots, values):
        slot.value = value
    return declaration.finish()


def tails(value: Value) -> list[Cons]:
    """The conses of a list, each with its element as car."""
    found = []
    while value.__class__ is Cons:
        found.append(value)
        value = value.cdr
    return found


def literal(declaration: Declaration, tail: Cons, what: str) -> list[Cons]:
    """Tails of a list that is syntax; a quote or (list ...) there is E-OPTION-VALUE."""
    form = tail.car
    if form is NIL:
        return []
    if form.__class__ is not Cons:
        raise declaration.refuse(f"{what} is a list", tail)
    if form.car is QUOTE or form.car is LIST:
        raise _quoted(form, what)
    return tails(form)


def no_more(declaration: Declaration, rest: Value, what: str) -> None:
    """E-FORM-SHAPE where something follows that would say nothing."""
    if rest is not NIL:
        tail = rest if rest.__class__ is Cons else None
        raise declaration.refuse(f"{what} takes nothing more", tail)


def elements(declaration: Declaration, tail: Cons, what: str, count: int) -> list[Cons]:
    """The tails of a list that is syntax and has so many elements, which `what` shows."""
    found = literal(declaration, tail, what)
    if len(found) != count:
        raise declaration.refuse(f"{what} has {count} elements, and here {len(found)}", tail)
    return found


def is_literal_list(form: Value) -> bool:
    """Whether a list stands there, so that it is syntax."""
    return form.__class__ is Cons or form is NIL


def unquoted(text: str) -> str:
    """The text of a list, of '(list) or (list ...)."""
    if text.startswith("(list "):
        return "(" + text[5:].lstrip()
    return text[1:] if text.startswith("'") else text


def _quoted(form: Cons, what: str) -> Problem:
    span = span_of(form)
    edit = None
    if span is not None and unquoted(span.text) != span.text:
        title = "take the quote away" if form.car is QUOTE else "write the list itself"
        edit = Edit(title, (Change(span, unquoted(span.text)),), safe=True)
    return problem(
        "E-OPTION-VALUE",
        f"{what}: a list in a declaration is syntax and is neither quoted nor made",
        hint="write (a b): each element is evaluated",
        edit=edit,
        kind="quoted",
    ).locate(span)


def keyword_pairs(
    declaration: Declaration, rest: Value, known: Sequence[str], what: str | None = None
) -> dict[str, Cons]:
    """Keyword -> tail of its value. E-OPTION names the nearest of the known ones."""
    found: dict[str, Cons] = {}
    at = rest
    while at.__class__ is Cons:
        name = option_name(declaration, at, known, what)
        if at.cdr.__class__ is not Cons:
            declaration.option = f"{declaration.option} {name}".strip()
            raise declaration.refuse(f":{name} has no value", at)
        if name in found:
            what = what or declaration.head
            raise problem("E-TWICE", f":{name} of {what} stands twice", name=name).locate(
                element_span(at)
            )
        found[name] = at.cdr
        at = at.cdr.cdr
    return found


def each(declaration: Declaration, options: Mapping[str, Cons]) -> Iterator[tuple[str, Cons]]:
    """Options one by one; what is wrong while one is read shows it."""
    around = declaration.option
    for name, tail in options.items():
        declaration.option = f"{around} {name}".strip()
        yield name, tail
    declaration.option = around


def option_name(
    declaration: Declaration, at: Cons, known: Sequence[str], what: str | None = None
) -> str:
    """The keyword that stands at a tail, if it is known."""
    what = what or declaration.head
    word = at.car
    if word.__class__ is not Symbol or not word.keyword:
        raise declaration.refuse(f"{describe(word)} where an option :name value stands", at)
    name = word.name.lower()
    if name not in known:
        raise unknown_option(what, ":" + name, [":" + k for k in known], element_span(at))
    return name


def unknown_option(what: str, found: str, known: Sequence[str], span: Span | None) -> Problem:
    """E-OPTION, with an edit to the nearest, or the form where such an option stands."""
    from .option_habits import meant

    near, elsewhere = meant(found, known)
    edit = None
    if near and span is not None:
        edit = Edit(f"write {near}", (Change(span, near),))
    takes = "options: " + " ".join(known) if known else "it takes no options"
    hint = f"did you mean {near}?" if near else elsewhere or takes
    return problem(
        "E-OPTION", f"{what} has no option {found}", hint=hint, edit=edit, option=found
    ).locate(span)


def take_doc(rest: Value) -> tuple[str, Value]:
    """A docstring that stands first, and what follows it."""
    if rest.__class__ is Cons and isinstance(rest.car, String):
        return rest.car.text(), rest.cdr
    return "", rest


def lambda_of(form: Value) -> Value:
    """(lambda () form)"""
    return make_list([core_symbol("LAMBDA"), NIL, form])


Options = Mapping[str, Slot]


TYPES = ("integer", "float", "real", "string", "boolean", "keyword", "symbol", "list", "member",
         "number", "rational", "or", "and", "not", "null", "cons", "mod")  # fmt: skip


def check_type(specifier: Value, span: Span | None) -> None:
    """E-TYPE of what is no type, at `:type`."""
    try:
        BUILTINS["TYPEP"].call(NIL, specifier)
    except Problem as fault:
        head = specifier.car if specifier.__class__ is Cons else specifier
        near = nearest(head.name.lower(), TYPES) if head.__class__ is Symbol else None
        hint = f"did you mean {near}?" if near else "as in (integer 1 96), (float (0) 1), string"
        raise problem("E-TYPE", fault.diagnostic.message, hint=hint).locate(span) from None
