"""Sources of a loader, `(KIND FORM* option*)`, and mixtures of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...diagnostics import Change, Edit, Problem, nearest, problem
from ...evaluator.values import NIL, Cons, Function, String, Symbol
from ...experiment.declarations import SourceDeclaration
from ...reader import element_span
from ...spans import Span
from ..host import host
from ..syntax import Declaration, Slot, is_literal_list, keyword_pairs, literal, tails

EMBEDDED = {"none": ("examples",)}
"""Kinds that are syntax of core and no rows of a plug-in, with their options."""


class ReadSource:
    """(KIND FORM* option*) taken apart."""

    __slots__ = ("arguments", "kind", "options", "span")

    def __init__(
        self, kind: str, arguments: list[Any], options: dict[str, Any], span: Span | None
    ) -> None:
        self.kind = kind
        self.arguments = arguments
        self.options = options
        self.span = span


def read_source(d: Declaration, tail: Cons, more: tuple[str, ...] = ()) -> ReadSource:
    """A source; E-SOURCE-UNKNOWN and E-OPTION name the nearest. `more`: options beside a kind's."""
    form = tail.car
    if form.__class__ is not Cons or form.car.__class__ is not Symbol:
        hint = '(npy "a.npy")' if d.head == "file-tensor" else '(text-files "a.txt")'
        raise d.refuse("a source is a list with its kind first", tail, hint=hint)
    kind, span = form.car.name.lower(), form.span
    if kind == "mixture":
        rows: list[Any] = []
        for part in tails(form.cdr):
            rows.append(_mixed(d, part, [name for name, _, _ in rows]))
        return ReadSource(kind, rows, {}, span)
    entries = host().collector.sources
    keyed: set[str] = set()
    if kind in EMBEDDED:
        known: list[str] | tuple[str, ...] = EMBEDDED[kind]
    elif kind in entries:
        known = [o.name for o in entries[kind].options]
        keyed = {o.name for o in entries[kind].options if o.type == "keys"}
    else:
        raise _unknown_kind(kind, form, entries)
    arguments, at = [], form.cdr
    while at.__class__ is Cons and not getattr(at.car, "keyword", False):
        arguments.append(d.slot(at, f"an argument of {kind}"))
        at = at.cdr
    options: dict[str, Any] = {}
    if "*" in known:  # any keyword: a field's name
        known = [t.car.name.lower() for t in tails(at)[::2] if getattr(t.car, "keyword", False)]
    for key, value in keyword_pairs(d, at, (*known, *more), kind).items():
        what = f":{key} of {kind}"
        options[key] = _keys(d, value, what) if key in keyed else _literal_or_slot(d, value, what)
    return ReadSource(kind, arguments, options, span)


def _keys(d: Declaration, tail: Cons, what: str) -> list[Any]:
    """((NAME [:weight FORM])+): names of columns, each with a weight. A string is a name as it is
    written, a symbol one of small letters."""
    hint = f"{what.split()[0]} ((prompt :weight 0) (answer :weight 1))"
    if not is_literal_list(tail.car) or tail.car is NIL:
        raise d.refuse(f"{what} is a list of keys", tail, hint=hint)
    found = []
    for part in literal(d, tail, what):
        if part.car.__class__ is not Cons:
            raise d.refuse(f"a key of {what} is a list, (name :weight 1)", part, hint=hint)
        name, *rest = literal(d, part, f"a key of {what}")
        given = keyword_pairs(d, rest[0] if rest else NIL, ("weight",), f"a key of {what}")
        written = name.car
        named = (
            written.text() if isinstance(written, String) else d.name(name, "a key").name.lower()
        )
        weight = d.slot(given["weight"], f":weight of {named}") if "weight" in given else None
        found.append(Key(named, weight))
    return found


class Key:
    """A name and the slot of its weight, 1 where none is said."""

    __slots__ = ("name", "weight")

    def __init__(self, name: str, weight: Slot | None) -> None:
        self.name, self.weight = name, weight

    def value(self) -> tuple[str, float]:
        weight = 1.0 if self.weight is None else self.weight.number()
        if self.weight is not None and not 0 <= weight < float("inf"):
            raise self.weight.refuse("a number from 0")
        return self.name, weight


def _literal_or_slot(d: Declaration, tail: Cons, what: str) -> Any:
    """An option of a source: a form, or a literal list whose head is no function: a list, a number
    or a keyword, as of (:hf "tokenizer.json")."""
    form = tail.car
    head = form.car if form.__class__ is Cons else None
    if head.__class__ in (Cons, int) or getattr(head, "keyword", False):
        return [_literal_or_slot(d, t, what) for t in tails(form)]
    return d.slot(tail, what)


def _mixed(d: Declaration, tail: Cons, before: list[str]) -> tuple[str, Slot, ReadSource]:
    """(NAME WEIGHT SOURCE), of another name than those before it."""
    parts = literal(d, tail, "a source of mixture")
    if len(parts) != 3:
        hint = '(mixture (web 0.7 (text-files "web.txt")) (code 0.3 (text-files "code.txt")))'
        raise d.refuse("a source of mixture is (name weight source)", tail, hint=hint)
    name, source = d.name(parts[0]).name.lower(), read_source(d, parts[2])
    if name in before:
        told = f"a mixture has two sources {name}"
        raise problem("E-TWICE", told, name=name).locate(element_span(parts[0]))
    if source.kind in ("mixture", "none"):
        told = f"{name} of a mixture is ({source.kind} ...): a source in it has rows of its own"
        hint = "write the sources of both in one mixture" if source.kind == "mixture" else ""
        raise problem("E-OPTION-VALUE", told, hint=hint or "leave it out", option="source").locate(
            source.span
        )
    return name, d.slot(parts[1], f"the weight of {name}"), source


def _weight(slot: Slot) -> float:
    found = slot.number()
    if not 0 < found < float("inf"):
        raise slot.refuse("a number above 0")
    return found


def _unknown_kind(kind: str, form: Cons, entries: Mapping[str, Any]) -> Problem:
    known = [*entries, *EMBEDDED, "mixture"]
    near = nearest(kind, known)
    span = element_span(form)
    edit = Edit(f"write {near}", (Change(span, near),)) if near and span is not None else None
    hint = f"did you mean {near}?" if near else "kinds: " + " ".join(sorted(known))
    return problem(
        "E-SOURCE-UNKNOWN", f"no source kind {kind}", hint=hint, edit=edit, kind=kind
    ).locate(span)


def made_source(read: ReadSource) -> SourceDeclaration:
    """The declaration, with the slots' values."""
    if read.kind == "mixture":
        rows = tuple((name, _weight(w), made_source(s)) for name, w, s in read.arguments)
        return SourceDeclaration(read.kind, rows, {}, read.span)
    options = {key: _source_value(value) for key, value in read.options.items()}
    arguments = tuple(_source_value(a) for a in read.arguments)
    return SourceDeclaration(read.kind, arguments, options, read.span)


def _source_value(value: Any) -> Any:
    if isinstance(value, Slot):
        return value.value if isinstance(value.value, Function) else value.python()
    if isinstance(value, Key):
        return value.value()
    return tuple(_source_value(v) for v in value)
