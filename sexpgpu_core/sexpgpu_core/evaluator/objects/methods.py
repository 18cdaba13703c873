"""Methods and what they are for: specializers, qualifiers, and the shape of their lambda lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...diagnostics import Problem, problem
from ...records import NamedTuple
from ..classes import CLASS_OF, Class
from ..equality import eql_key
from ..lambda_lists import LambdaList
from ..printer import COMPOUNDS, brief
from ..values import NIL, Symbol, Value, make_list
from .built_in_classes import built_in


class Shape(NamedTuple):
    """How many arguments a lambda list takes, and which keywords; None: no &key."""

    required: int
    optional: int
    rest: bool
    keys: tuple[Symbol, ...] | None
    other_keys: bool


def shape_of(form: LambdaList) -> Shape:
    """The shape of a lambda list."""
    keys = None if form.keys is None else tuple(p.key for p in form.keys if p.key is not None)
    rest = form.rest is not None
    return Shape(len(form.required), len(form.optional), rest, keys, form.other_keys)


class Eql(NamedTuple):
    """The specializer of one object."""

    value: Value

    @property
    def key(self) -> Any:
        return eql_key(self.value)


Specializer = Any
"""A Class or an Eql."""


class Method:
    """A method. `body(next, has-next, argument...)`; the first two are functions, or anything
    where `continues` is false: it never calls the next method. `native`: of core, not of a file.
    """

    __slots__ = (
        "body", "continues", "doc", "generic", "initial", "lambda_list", "native", "qualifiers",
        "shape", "specializers",
    )  # fmt: skip

    def __init__(
        self,
        qualifiers: tuple[Value, ...],
        specializers: tuple[Specializer, ...],
        shape: Shape,
        body: Callable[..., Value],
        continues: bool = False,
        native: bool = False,
    ) -> None:
        self.qualifiers = qualifiers
        self.specializers = specializers
        self.shape = shape
        self.body = body
        self.continues = continues
        self.native = native
        self.lambda_list = ""
        self.doc = ""
        self.generic: Any = None
        self.initial = False  # of the generic function's own definition


def native_method(specializers: tuple[Class, ...], shape: Shape, call: Any) -> Method:
    """A method that a Python function of its arguments is."""

    def body(following: Any, has_next: Any, *arguments: Value) -> Value:
        return call(*arguments)

    return Method((), specializers, shape, body, native=True)


def shown_specializers(specializers: tuple[Specializer, ...]) -> str:
    """As a message names what a method is for: `(integer (eql 3))`."""
    return "(" + " ".join(shown_specializer(s) for s in specializers) + ")"


def shown_specializer(specializer: Specializer) -> str:
    if isinstance(specializer, Eql):
        return f"(eql {brief(specializer.value)})"
    return str(specializer.shown)


def applies(method: Method, arguments: tuple[Value, ...], classes: list[Class]) -> bool:
    """Whether a method is for arguments of those classes."""
    for specializer, cls, argument in zip(method.specializers, classes, arguments):
        if isinstance(specializer, Eql):
            if specializer.key != eql_key(argument):
                return False
        elif specializer not in cls.ancestors:
            return False
    return True


def rank(method: Method, classes: list[Class], order: tuple[int, ...]) -> tuple[int, ...]:
    """How specific a method is for arguments of those classes: the least comes first."""
    return tuple(
        -1 if isinstance(s := method.specializers[at], Eql) else classes[at].precedence.index(s)
        for at in order
    )


def same_place(a: Method, b: Method) -> bool:
    """Whether one method replaces the other."""
    return a.qualifiers == b.qualifiers and [_key(s) for s in a.specializers] == [
        _key(s) for s in b.specializers
    ]


def _key(specializer: Specializer) -> Any:
    return ("eql", specializer.key) if isinstance(specializer, Eql) else specializer


def check_congruent(name: str, wanted: Shape, wanted_text: str, given: Shape, text: str) -> None:
    """E-FORM-SHAPE if a method's lambda list does not fit its generic function's (CLHS 7.6.4)."""
    why = _misfit(wanted, given)
    if why is not None:
        raise _incongruent(name, why, wanted_text, text)


def _misfit(wanted: Shape, given: Shape) -> str | None:
    if wanted.required != given.required:
        return f"it has {given.required} required parameters, not {wanted.required}"
    if wanted.optional != given.optional:
        return f"it has {given.optional} &optional parameters, not {wanted.optional}"
    if _is_open(wanted) != _is_open(given):
        return "both must have &rest or &key, or neither"
    if wanted.keys and given.keys is not None and not given.other_keys:
        left = [repr(key) for key in wanted.keys if key not in given.keys]
        return f"it leaves out {' '.join(left)}" if left else None
    if wanted.keys and given.keys is None and not given.rest:
        return "it takes no keywords"
    return None


def _is_open(shape: Shape) -> bool:
    return shape.rest or shape.keys is not None


def _incongruent(name: str, why: str, wanted: str, given: str) -> Problem:
    return problem(
        "E-FORM-SHAPE",
        f"the method's lambda list {given} does not fit the generic function {name}: {why}",
        hint=f"the generic function's lambda list is {wanted}",
        name=name,
    )


def qualifiers_list(method: Method) -> Value:
    """The qualifiers as a Lisp list."""
    return make_list(method.qualifiers) if method.qualifiers else NIL


def _shown(method: Method, settings: Any) -> str:
    name = method.generic.name if method.generic is not None else "nil"
    words = [name, *(brief(q) for q in method.qualifiers)]
    return f"#<standard-method {' '.join(words)} {shown_specializers(method.specializers)}>"


COMPOUNDS[Method] = _shown
CLASS_OF[Method] = lambda method: built_in("standard-method")
