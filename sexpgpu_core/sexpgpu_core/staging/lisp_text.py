"""Lisp data to text and back, for values that come from outside or go into documents."""

from __future__ import annotations

from ..diagnostics import problem
from ..evaluator.declarations import items_of
from ..evaluator.printer import Settings, print_text
from ..evaluator.values import NIL, Cons, String, Symbol, Value
from ..reader import Reader
from ..spans import Source


def lisp_text(value: Value) -> str:
    """A value as `--set` takes it: canonical Lisp text."""
    return print_text(value, Settings())


class DataNames:
    """Symbols of a datum from outside: core's where there is one, else fresh ones by name."""

    def __init__(self) -> None:
        self.known: dict[str, Symbol] = {}

    def intern(self, name: str) -> Symbol:
        from ..evaluator.definitions import CORE_SYMBOLS

        found = CORE_SYMBOLS.get(name) or self.known.get(name)
        if found is None:
            found = self.known[name] = Symbol(name, None)
        return found

    def qualified(self, prefix: str, name: str, private: bool) -> Symbol:
        raise problem("E-READ-MODULE", f"{prefix}:{name} names a module's symbol")


def read_datum(text: str, what: str) -> Value:
    """The one datum of a text; E-KNOB-VALUE where it is none or several."""
    reader = Reader(Source("-", text), DataNames())
    forms = list(reader.forms())
    if len(forms) != 1 or reader.diagnostics:
        raise problem(
            "E-KNOB-VALUE",
            f"{what}: {text!r} is not one Lisp datum",
            hint="a number, :keyword, \"text\", t, nil, or a list such as '(1 2)'",
            value=text,
        )
    return forms[0]


def knob_datum(name: str, text: str, specifier: Value) -> Value:
    """The datum that a text from outside means: a string knob takes raw text (65 C19)."""
    if _admits_string(specifier) and not text.lstrip().startswith('"'):
        return NIL if text == "nil" and specifier.__class__ is Cons else String(text)
    if text.strip().lower() in ("true", "false", "none", "yes", "no"):
        raise problem(
            "E-KNOB-VALUE", f"{name} = {text}", hint=f"write t or nil: -s {name}=t", knob=name
        )
    datum = read_datum(text, f"the value of knob {name}")
    if _quoted(datum):  # nothing evaluates it
        hint = f"without the quote: -s '{name}={lisp_text(datum.cdr.car)}'"
        raise problem("E-KNOB-VALUE", f"{name} = {text} is quoted", hint=hint, knob=name)
    return datum


def _quoted(datum: Value) -> bool:
    quote = datum.__class__ is Cons and getattr(datum.car, "name", "") == "QUOTE"
    return quote and datum.cdr.__class__ is Cons


def _admits_string(specifier: Value) -> bool:
    """string, or a type such as (or null string)."""
    if specifier.__class__ is Cons:
        return any(_admits_string(s) for s in items_of(specifier.cdr, specifier))
    return specifier.__class__ is Symbol and specifier.name in ("STRING", "SIMPLE-STRING")
