"""A run file's text with what was chosen written in: knobs as their defaults, steps and seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .diagnostics import problem
from .evaluator.values import Cons, Symbol, Value
from .reader import element_span, span_of
from .spans import Source, Span
from .staging.scan import scan


def preset(source: Source, knobs: Mapping[str, str], run: Mapping[str, int]) -> str:
    """`knobs`: name to Lisp text; `run`: steps and seed. Raises E-USAGE-VALUE for what has no place
    in the text: a knob of a module, or one that a macro makes."""
    forms = scan(source).forms
    places = dict(_knobs(forms))
    edits: list[tuple[Span, str]] = []
    for name, text in knobs.items():
        if name not in places:
            told = f"{source.name} has no place for {name}"
            raise problem("E-USAGE-VALUE", told, hint=f"run and check take it: -s {name}={text}")
        edits.append((places[name], text))
    defrun = next((f for f in forms if _named(f, "DEFRUN")), None)
    if defrun is not None:
        edits += [_option(defrun, key, str(value)) for key, value in run.items()]
    text = source.text
    for span, new in sorted(edits, key=lambda edit: edit[0].start, reverse=True):
        text = text[: span.start] + new + text[span.end :]
    return text


def _knobs(forms: list[Value]) -> Iterator[tuple[str, Span]]:
    """Where defaults stand."""
    for form in forms:
        items = list(_tails(form)) if _named(form, "DEFKNOB") else []
        if len(items) > 2 and isinstance(items[1].car, Symbol):
            span = element_span(items[2])
            if span is not None:
                yield items[1].car.name.lower(), span


LENGTHS = ("STEPS", "EPOCHS", "UNTIL")
"""Options of defrun that say the same thing: one of them stands."""


def _option(defrun: Cons, key: str, value: str) -> tuple[Span, str]:
    """An option of defrun: in place of the one that is there, else at its end."""
    words = LENGTHS if key == "steps" else (key.upper(),)
    items = list(_tails(defrun))
    for name, given in zip(items[1::2], items[2::2]):
        first, last = element_span(name), element_span(given)
        if first is not None and last is not None and getattr(name.car, "name", "") in words:
            return Span(first.source, first.start, last.end), f":{key} {value}"
    whole = span_of(defrun)
    assert whole is not None, "it was read"
    return Span(whole.source, whole.end - 1, whole.end - 1), f" :{key} {value}"


def _named(form: Value, name: str) -> bool:
    return form.__class__ is Cons and getattr(form.car, "name", "") == name


def _tails(form: Value) -> Iterator[Cons]:
    while form.__class__ is Cons:
        yield form
        form = form.cdr
