"""A name that means nothing here, by the text around it: calls, operators, brackets of other
languages, each with what it is here and, where it is one change of the text, the edit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..diagnostics import Change, Edit, Problem, problem
from ..reader import MadeSpan, element_span, span_of
from ..spans import Span
from .definitions import BUILTINS
from .habits import INFIX, habit_of
from .scope import Variable
from .values import Cons, Symbol, Value

if TYPE_CHECKING:
    from .machine import Machine

Found = tuple[str, "Edit | None"]
"""A hint and an edit."""

CALL = re.compile(r"\(\s*")
ASSIGNED = re.compile(r"\s*(?::=|[-+*/]?=)\s+(?=\S)")
INDEX = re.compile(r"([^\[\]]+)\[([^\[\]]*)\]\Z")
DOTTED = re.compile(r"([A-Za-z_][\w-]*)\.([A-Za-z_][\w.-]*)\Z")


def written(at: Value) -> Span | None:
    """Where the car of a cons stands, if a person wrote it."""
    span = element_span(at)
    return None if isinstance(span, MadeSpan) else span


def replaced(title: str, span: Span, new: str) -> Edit:
    return Edit(title, (Change(span, new),))


# Variables


def _called(name: str, span: Span, after: str) -> Found | None:
    found = CALL.match(after)
    if found is None:
        return None
    whole = Span(span.source, span.start, span.end + found.end())
    return f"a call is written ({name} ...)", replaced("move the (", whole, f"({span.text} ")


def _assigned(name: str, span: Span, after: str) -> Found | None:
    if ASSIGNED.match(after) is None:
        return None
    hint = f"a variable is made by (defparameter {name} value) and set by (setf {name} value)"
    return hint, None


def _prefixed(name: str, span: Span, after: str) -> Found | None:
    if not after.startswith('"') or len(name) > 1:
        return None
    return 'text with values in it is (format nil "... ~a ..." value)', None


def _indexed(name: str, span: Span, after: str) -> Found | None:
    found = INDEX.match(span.text)
    if found is None:
        return None
    one = f"(aref {found[1]} {found[2] or 'index'})"
    hint = f"an element of a vector is {one}, of a list (nth index list)"
    return hint, replaced(f"write {one}", span, one) if found[2] else None


def _dotted(name: str, span: Span, after: str) -> Found | None:
    found = DOTTED.match(name)
    if found is None:
        return None
    word = word_here(found[2])
    if word is not None and "." not in found[2]:
        one = f"({word} {found[1]})"
        return f"write {one}: names hold no dots here", replaced(f"write {one}", span, one)
    return f"a part of a structure is read by its accessor: ({found[1]}-{found[2]} object)", None


def _defined(name: str, span: Span, after: str) -> Found | None:
    if name not in ("def", "function", "func", "fn"):
        return None
    return "a function is (defun name (parameter...) form...)", None


def _bracketed(name: str, span: Span, after: str) -> Found | None:
    if name[:1] not in ("[", "{"):
        return None
    return "a vector is #(...) or (vector ...), a list (list ...)", None


VARIABLES: tuple[Callable[[str, Span, str], Found | None], ...] = (
    _called, _assigned, _prefixed, _bracketed, _indexed, _dotted, _defined,
)  # fmt: skip
"""In the order in which they are asked."""


def variable_habit(name: str, span: Span | None) -> Found | None:
    """What a name that no variable has may be, by the text at and after it."""
    if span is None or isinstance(span, MadeSpan):
        return None
    after = span.source.text[span.end : span.end + 40]
    for habit in VARIABLES:
        found = habit(name, span, after)
        if found is not None:
            return found
    return None


def with_habit(error: Problem, name: str, span: Span | None) -> Problem:
    """The same error with the hint and edit of a habit, where the text shows one."""
    found = variable_habit(name, span)
    if found is None:
        return error
    return Problem(error.diagnostic._replace(hint=found[0], edit=found[1]))


# Calls


def call_habit(form: Value, name: str, m: Machine, variables: Any = ()) -> Found | None:
    """What a call of a name without a function may be, where some variables are bound."""
    return _definition(form, name) or operand_first(form) or _method(form, name, m, variables)


def operand_first(form: Value) -> Found | None:
    """(1 + 2), (x == 1), (x = 1); the (1) of f(1)."""
    span = span_of(form)
    if span is not None and span.__class__ is Span and span.start > 0:
        before = span.source.text[span.start - 1]
        if before.isalnum() or before in "-*+_!?":
            return "a call is written (name argument ...): the name stands inside", None
    rest = form.cdr if form.__class__ is Cons else None
    if rest.__class__ is not Cons or rest.car.__class__ is not Symbol:
        return None
    operator = rest.car.name
    if operator in ("=", ":="):
        return "to compare is (= a b), to set (setf place value): the operator stands first", None
    word = INFIX.get(operator)
    if word is None or rest.cdr.__class__ is not Cons:
        return None
    left, middle, right = written(form), written(rest), written(rest.cdr)
    hint = f"the operator stands first: ({word} a b)"
    if left is None or middle is None or right is None:
        return hint, None
    between = Span(left.source, left.start, middle.end)
    return hint, replaced(f"write {word} first", between, f"{word} {left.text}")


def _method(form: Value, name: str, m: Machine, variables: Any) -> Found | None:
    """np.sqrt, torch.cat, nn.linear, x.mean: the last part may be a function."""
    found, span = DOTTED.match(name), written(form)
    if found is None:
        return None
    head, last = found[1], found[2].rpartition(".")[2]
    module = m.module.prefixes.get(head.upper())
    if module is not None and last.upper() in module.exports:
        word: str | None = f"{head}:{last}"
    else:
        word = word_here(last)
    if span is None or word is None:
        return "names hold no dots here: a function is called by its name alone", None
    if owner_of(name.upper(), variables):
        new = f"{word} {head}"
        return f"write ({new} ...): names hold no dots here", replaced(f"write {new}", span, new)
    return f"write {word}: names hold no dots here", replaced(f"write {word}", span, word)


def owner_of(name: str, variables: Any) -> bool:
    """Whether an upper-case name is `x.name` of a variable; that is then used."""
    head, dot, _ = name.partition(".")
    owners = [v for s, v in dict(variables).items() if s.name == head] if dot else []
    for owner in owners:
        if owner.__class__ is Variable:
            owner.used = True  # it is meant
    return bool(owners)


def word_here(name: str) -> str | None:
    """A function by its name here or elsewhere; of a library, with the prefix `nn:`."""
    if name.upper() in BUILTINS:
        return name
    habit = habit_of(name.upper())
    return habit if habit is not None and " " not in habit else None


def _definition(form: Value, name: str) -> Found | None:
    """Scheme's (define (f x) ...) and (define x 1)."""
    span = written(form)
    if name != "define" or span is None or form.cdr.__class__ is not Cons:
        return None
    if form.cdr.car.__class__ is Symbol:
        return "write defparameter", replaced("write defparameter", span, "defparameter")
    head, at = form.cdr.car, span_of(form.cdr.car)
    if head.__class__ is not Cons or at is None or isinstance(at, MadeSpan):
        return None
    first = written(head)
    if first is None or head.car.__class__ is not Symbol:
        return None
    changes = (
        Change(span, "defun"),
        Change(Span(at.source, at.start, first.end), f"{first.text} ("),
    )
    if head.cdr.__class__ is Cons:  # no space between the bracket and the first parameter
        text, end = at.source.text, first.end
        while text[end] == " ":
            end += 1
        changes = (changes[0], Change(Span(at.source, at.start, end), f"{first.text} ("))
    return "write (defun name (parameter...) form...)", Edit("write defun", changes)


# Brackets


def brackets(span: Span | None) -> Edit | None:
    """[ and ] of a form as ( and ): names may hold them, so both must be there and balanced."""
    if span is None or isinstance(span, MadeSpan) or '"' in span.text:
        return None
    text = span.text
    if "[" not in text or text.count("[") != text.count("]"):
        return None
    turned = {"[": "(", "]": ")"}
    changes = [
        Change(Span(span.source, span.start + at, span.start + at + 1), turned[char])
        for at, char in enumerate(text)
        if char in turned
    ]
    return Edit("write ( ) for [ ]", tuple(changes))


BINDINGS = re.compile(r"\[([^\[\]()\"]*)\]")


def bindings_in_brackets(span: Span | None) -> Edit | None:
    """Clojure's [x 1 y 2] as ((x 1) (y 2))."""
    found = None if span is None or isinstance(span, MadeSpan) else BINDINGS.search(span.text)
    if found is None or span is None or len(words := found[1].split()) % 2:
        return None
    pairs = " ".join(f"({name} {value})" for name, value in zip(words[::2], words[1::2]))
    place = Span(span.source, span.start + found.start(), span.start + found.end())
    return replaced("write lists", place, f"({pairs})")


def no_function(text: str) -> Problem:
    """E-NAME-FUNCTION of nil, t, a keyword at the head of a form."""
    hints = {"nil": "an empty list is nil or '()", "t": "true is t, without brackets"}
    hint = hints.get(text, f"the value of a key in a property list is (getf list {text})")
    return problem("E-NAME-FUNCTION", f"{text} is no function", hint=hint, name=text)
