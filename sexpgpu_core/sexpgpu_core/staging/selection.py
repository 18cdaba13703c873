"""What may be chosen from outside, held once a file is read, and what was chosen, as an experiment
keeps it and its run's documents say it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from ..diagnostics import Change, Diagnostic, Edit, Problem, diagnostic, nearest, problem
from ..evaluator.evaluator import Evaluator
from ..spans import Span
from .collector import Collector
from .faults import describe, operand_spans
from .forms.knobs import check_knob
from .scan import Scan, chosen_forms


def selection(
    variant: str | None,
    point: tuple[str, Mapping[str, str]] | None,
    sets: Mapping[str, str],
    knobs: Mapping[str, Any],
    steps: int | None,
    seed: int | None,
) -> dict[str, str]:
    """What was chosen; the values of knobs as they print, however they were written."""
    named, values = point or (None, {})
    found = {"variant": variant, "point": named, "steps": steps, "seed": seed}
    found.update({f"knob:{n}": knobs[n].text for n in values})
    found.update({f"set:{n}": knobs[n].text for n in sets})
    return {key: str(value) for key, value in found.items() if value is not None}


def choices_checked(evaluator: Evaluator, scanned: Scan) -> list[Diagnostic]:
    """What is wrong with knobs and variants, chosen or not."""
    wrong = _variant_checks(evaluator.host.collector) + _variant_cycles(scanned)
    return wrong + _assigned(evaluator)


def unknown_knob(name: str, knobs: Iterable[str], where: str) -> Problem:
    near = nearest(name, knobs)
    hint = f"did you mean {near}?" if near else "knobs: " + " ".join(knobs)
    of_module = next((k for k in knobs if k.rpartition(":")[2] == name), None)
    if of_module is not None and where.startswith("variant"):
        hint = f"{of_module} is a module's: choose it by -s {of_module}=VALUE, or by a sweep"
    return problem("E-KNOB-UNKNOWN", f"{where} names no knob: {name}", hint=hint, knob=name)


def _variant_checks(collector: Collector) -> list[Diagnostic]:
    """Every variant's names and values, chosen or not (65 C23)."""
    found: list[Diagnostic] = []
    for name, slots in collector.variant_values.items():
        for knob, slot in slots.items():
            try:
                if knob not in collector.knob_types:
                    raise _variant_knob(knob, name, collector)
                check_knob(knob, slot.value, *collector.knob_types[knob], slot.span)
            except Problem as error:
                found.append(error.diagnostic)
    return found


def _variant_knob(knob: str, variant: str, collector: Collector) -> Problem:
    """E-KNOB-UNKNOWN at the keyword, with the edit that writes the nearest."""
    found = unknown_knob(knob, collector.knobs, f"variant {variant}")
    whole = collector.variants[variant].span
    words = [] if whole is None else [s for s in operand_spans(whole) if s.text == f":{knob}"]
    near = nearest(knob, collector.knobs)
    if words and near:
        edit = Edit(f"write :{near}", (Change(words[0], f":{near}"),))
        found.diagnostic = found.diagnostic._replace(edit=edit)
    return found.locate(words[0] if words else whole)


def _variant_cycles(scanned: Scan) -> list[Diagnostic]:
    """E-VARIANT-CYCLE once a cycle, E-VARIANT-UNKNOWN of each :from, chosen or not."""
    found: dict[Any, Diagnostic] = {}
    for name, variant in scanned.variants.items():
        try:
            chosen_forms(scanned, name)
        except Problem as error:
            error.locate(_named_from(variant.span) or variant.span)
            facts = error.diagnostic.facts
            found.setdefault(facts.get("variant") or frozenset(facts["cycle"]), error.diagnostic)
    return list(found.values())


def _named_from(variant: Span | None) -> Span | None:
    """The name behind :from."""
    words = operand_spans(variant) if variant is not None else []
    return next((b for a, b in pairwise(words) if a.text.lower() == ":from"), None)


def _assigned(evaluator: Evaluator) -> list[Diagnostic]:
    """E-REDEFINE of a knob whose variable has another value than was chosen for it."""
    return [
        diagnostic(
            "E-REDEFINE",
            f"the knob {name} is assigned: it is {describe(value)}, and {knob.text} was chosen",
            span=knob.span,
            hint="keep what is computed of a knob in a variable of its own, by defparameter",
            name=name,
        )
        for name, symbol in evaluator.host.collector.knob_symbols.items()
        for knob in [evaluator.host.collector.knobs.get(name)]
        for value in [evaluator.value(symbol)]
        if knob is not None and value is not knob.value
    ]
