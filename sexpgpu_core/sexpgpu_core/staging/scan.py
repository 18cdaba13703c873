"""A file's top-level forms before it is evaluated: contract names, variants, uses of knobs.

The forms are read under names of their own; what is taken into the evaluation is adopted first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..diagnostics import nearest, problem
from ..evaluator.definitions import CORE_SYMBOLS
from ..evaluator.values import NIL, Cons, Symbol, Value
from ..reader import Reader
from ..records import NamedTuple
from ..spans import Source, Span
from .contract import FUNCTIONS, Entry, contract_entry, lambda_list_of
from .syntax import Declaration, take_doc

HOME = "scan"


class ScannedVariant(NamedTuple):
    base: str | None
    forms: Mapping[str, Value]
    span: Span | None


class Scan(NamedTuple):
    """What stands at top level. `lambda_lists`: of contract functions. `generates`: some form is
    neither a definition nor a contract name, so it may make declarations."""

    forms: list[Value]
    entries: list[Entry]
    variants: Mapping[str, ScannedVariant]
    lambda_lists: Mapping[str, Value]
    generates: bool


class Names:
    """Symbols of a scan: core's, and one for each other name."""

    def __init__(self) -> None:
        self.known: dict[str, Symbol] = {}

    def intern(self, name: str) -> Symbol:
        found = CORE_SYMBOLS.get(name) or self.known.get(name)
        if found is None:
            found = self.known[name] = Symbol(name, HOME)
        return found

    def qualified(self, prefix: str, name: str, private: bool) -> Symbol:
        return Symbol(f"{prefix}:{name}", HOME)


def scan(source: Source) -> Scan:
    """Reads a text; mistakes of reading are left to the evaluation, which reads it again."""
    forms = list(Reader(source, Names()).forms())
    entries: list[Entry] = []
    variants: dict[str, ScannedVariant] = {}
    lambda_lists: dict[str, Value] = {}
    generates = False
    for form in _opened(forms):
        entry = contract_entry(form)
        if entry is None:
            generates = generates or not _is_definition(form)
            continue
        entries.append(entry)
        if entry.name in FUNCTIONS and _names_something(form):
            lambda_lists.setdefault(entry.name, lambda_list_of(form))
        if entry.name == "defvariant" and _names_something(form):
            variants[form.cdr.car.name.lower()] = _variant(form)
    return Scan(forms, entries, variants, lambda_lists, generates)


def is_library(scanned: Scan) -> bool:
    """Whether a text is a module: it has a (provide name ...) and no defrun."""
    heads = _heads(scanned)
    return "PROVIDE" in heads and "DEFRUN" not in heads


def is_run(scanned: Scan) -> bool:
    """Whether a text has a defrun."""
    return "DEFRUN" in _heads(scanned)


def _heads(scanned: Scan) -> set[str]:
    heads = (form.car for form in scanned.forms if form.__class__ is Cons)
    return {head.name for head in heads if head.__class__ is Symbol}


def _names_something(form: Cons) -> bool:
    """Whether a definition has a name and something after it."""
    rest = form.cdr
    return rest.__class__ is Cons and rest.cdr.__class__ is Cons and rest.car.__class__ is Symbol


def _is_definition(form: Value) -> bool:
    head = form.car if form.__class__ is Cons else None
    return head.__class__ is Symbol and head.name.startswith("DEF")


def _opened(forms: list[Value]) -> Iterator[Value]:
    """Top-level forms, those of a progn among them."""
    for form in forms:
        if form.__class__ is Cons and getattr(form.car, "name", "") == "PROGN":
            inner, at = [], form.cdr
            while at.__class__ is Cons:
                inner.append(at.car)
                at = at.cdr
            yield from _opened(inner)
        else:
            yield form


def _variant(form: Cons) -> ScannedVariant:
    from .forms.knobs import variant_parts

    d = Declaration(form)
    try:
        base, tails = variant_parts(d, take_doc(form.cdr.cdr)[1])
    except Exception:  # what is wrong with it is said when it is evaluated
        return ScannedVariant(None, {}, d.span)
    return ScannedVariant(base, {name: tail.car for name, tail in tails.items()}, d.span)


def chosen_forms(scanned: Scan, variant: str) -> dict[str, Value]:
    """Knob -> form of a variant, that of `:from` first; E-VARIANT-UNKNOWN, E-VARIANT-CYCLE."""
    chain: list[str] = []
    name: str | None = variant
    while name is not None:
        if name not in scanned.variants:
            others = [v for v in scanned.variants if v not in chain]
            near = nearest(name, others)
            hint = f"did you mean {near}?" if near else "variants: " + " ".join(others or ["none"])
            raise problem("E-VARIANT-UNKNOWN", f"no variant {name}", hint=hint, variant=name,
                          written=name, nearest=near)  # fmt: skip
        if name in chain:
            cycle = " from ".join([*chain[chain.index(name) :], name])
            raise problem(
                "E-VARIANT-CYCLE",
                f"variants from each other: {cycle}",
                hint="leave :from out of one of them",
                cycle=chain[chain.index(name) :],
            ).locate(scanned.variants[name].span)
        chain.append(name)
        name = scanned.variants[name].base
    forms: dict[str, Value] = {}
    for one in reversed(chain):
        forms.update(scanned.variants[one].forms)
    return forms


def adopted(form: Value, module: Any) -> Value:
    """A scanned form with the symbols of a module; spans are kept."""
    if form.__class__ is Cons:
        return Cons(adopted(form.car, module), adopted(form.cdr, module), form.span)
    if form.__class__ is Symbol and form.home == HOME:
        return module.intern(form.name)
    return form


def mentioned(scanned: Scan) -> set[str]:
    """Lower-case names of the variables that forms other than variants and sweeps mention.

    The name of a defknob is no mention of it."""
    forms: list[Value] = []
    for form in scanned.forms:
        head = getattr(form.car, "name", "") if form.__class__ is Cons else ""
        if head in ("DEFVARIANT", "DEFSWEEP"):
            continue
        forms.append(form.cdr.cdr if head == "DEFKNOB" and form.cdr.__class__ is Cons else form)
    return {symbol.name.lower() for symbol in symbols_of(*forms)}


def symbols_of(*forms: Value) -> set[Symbol]:
    """Every symbol that stands in forms, nil and keywords left out."""
    found: set[Symbol] = set()
    stack = list(forms)
    while stack:
        value = stack.pop()
        while value.__class__ is Cons:
            stack.append(value.car)
            value = value.cdr
        if value.__class__ is Symbol and value is not NIL and not value.keyword:
            found.add(value)
        elif hasattr(value, "data"):
            stack.extend(value.data)
    return found


def end_span(source: Source) -> Span:
    """The last line that holds something: where a missing name is missing."""
    text = source.text.rstrip()
    start = text.rfind("\n") + 1
    return Span(source, start, len(text))
