"""Bodies: declarations and docstrings apart from forms."""

from __future__ import annotations

from ..diagnostics import nearest, problem
from ..reader import span_of
from ..records import NamedTuple
from .definitions import core_symbol
from .printer import brief
from .values import NIL, Cons, String, Symbol, Value

DECLARE = core_symbol("DECLARE")
KNOWN = (
    "ignore ignorable special type ftype inline notinline optimize dynamic-extent declaration"
).upper().split()  # fmt: skip


class Declarations:
    """What the declarations of one body say."""

    __slots__ = ("ignored", "special")

    def __init__(self) -> None:
        self.special: set[Symbol] = set()
        self.ignored: set[Symbol] = set()


NOTHING = Declarations()


class Body(NamedTuple):
    """`forms` is the Lisp list of what is left."""

    declared: Declarations
    doc: str
    forms: Value


def parse_body(forms: Value, doc: bool = False) -> Body:
    """Split a body; `doc`: a string before another form is its documentation."""
    declared, text = NOTHING, ""
    while forms.__class__ is Cons:
        form = forms.car
        if form.__class__ is Cons and form.car is DECLARE:
            if declared is NOTHING:
                declared = Declarations()
            _declare(declared, form)
        elif doc and not text and form.__class__ is String and forms.cdr is not NIL:
            text = form.text()
        else:
            break
        forms = forms.cdr
    return Body(declared, text, forms)


def _declare(declared: Declarations, form: Cons) -> None:
    for specifier in items_of(form.cdr, form):
        parts = items_of(specifier, form) if specifier.__class__ is Cons else []
        if not parts or parts[0].__class__ is not Symbol:
            if parts and parts[0].__class__ is Cons:
                continue  # ((integer 0 5) x): a type
            raise problem(
                "E-FORM-SHAPE",
                "a declaration is a list",
                hint="as (declare (ignore x) (type integer n))",
                span=span_of(form),
            )
        _one(declared, parts[0], parts[1:], form)


def _one(declared: Declarations, kind: Symbol, names: list[Value], form: Cons) -> None:
    if kind.name == "SPECIAL":
        declared.special.update(n for n in names if n.__class__ is Symbol)
    elif kind.name in ("IGNORE", "IGNORABLE"):
        declared.ignored.update(n for n in names if n.__class__ is Symbol)
    elif kind.name not in KNOWN:
        near = nearest(kind.name, KNOWN)
        if near and kind.name not in ("FIXNUM",) and kind.home != "":
            raise problem(
                "E-FORM-SHAPE",
                f"no declaration is named {kind!r}",
                hint=f"did you mean {near.lower()}?",
                span=span_of(form),
            )


def items_of(form: Value, whole: Value) -> list[Value]:
    """Elements of a list in a form; E-FORM-SHAPE if it is not a proper list."""
    items = []
    rest = form
    while rest.__class__ is Cons:
        items.append(rest.car)
        rest = rest.cdr
    if rest is not NIL:
        why = "a list that ends in a dot is no form" if items else f"{brief(form)} is no list"
        raise problem("E-FORM-SHAPE", why, span=span_of(whole))
    return items
