"""What `check` says of sweeps: names of knobs and variants, values, and that there are points."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..diagnostics import Diagnostic, Problem, Problems, nearest, problem
from ..evaluator.builtins.listing import proper
from ..evaluator.evaluator import Evaluator
from ..evaluator.macro_functions import MacroFunction
from ..evaluator.values import NIL, QUOTE, Cons, T, Value
from ..experiment.declarations import Experiment, Sweep
from ..spans import Span
from ..staging.faults import operand_spans, option_span
from ..staging.forms.knobs import check_knob
from ..staging.scan import symbols_of
from .points import TEST, draws, few, over, rank, repeated, rows, shape

DRAWN = {"E-SWEEP-SHAPE": ["random"]}
"""What is wrong with a draw, where no other option is named."""


def check_sweeps(experiment: Experiment, evaluator: Evaluator) -> None:
    """Raises Problems with what is wrong of any sweep."""
    wrong: list[Diagnostic] = []
    for sweep in experiment.sweeps.values():
        try:
            _check(sweep, experiment, evaluator)
        except Problem as error:
            wrong.append(_placed(error.diagnostic, sweep))
    if wrong:
        raise Problems(wrong)


def check_shape(sweep: Sweep, experiment: Experiment) -> None:
    """Raises Problem for what makes a sweep none, whatever its values are."""
    try:
        _shaped(sweep, experiment)
    except Problem as error:
        raise Problem(_placed(error.diagnostic, sweep)) from None


def _shaped(sweep: Sweep, experiment: Experiment) -> None:
    seen: set[str] = set()
    for knob in _knobs(sweep):
        _known("E-KNOB-UNKNOWN", f"sweep {sweep.name} names no knob", knob, experiment.knobs)
        if knob in seen:
            raise problem("E-KNOB-TWICE", f"sweep {sweep.name}: {knob} stands twice", knob=knob)
        seen.add(knob)
    for knob in over(sweep):
        if over(sweep).count(knob) > 1:
            raise problem("E-KNOB-TWICE", f"sweep {sweep.name}: :over {knob} twice", knob=knob)
        _known("E-KNOB-UNKNOWN", f"sweep {sweep.name}: :over no knob", knob, experiment.knobs)
        if knob not in seen:
            raise shape(sweep, f":over {knob}, which the sweep does not vary")
    variant = sweep.options.get("variant")
    if variant is not None:
        told = f"sweep {sweep.name} is over no variant"
        _known("E-VARIANT-UNKNOWN", told, variant, experiment.variants)
    if not seen and "seeds" not in sweep.options:
        raise shape(sweep, "it varies nothing: :grid, :zip, :random or :seeds")
    if ("n" in sweep.options) != ("random" in sweep.options):
        raise shape(sweep, ":random and :n, the number of draws, go together")
    few(sweep)
    _ranked(sweep, experiment)


def _check(sweep: Sweep, experiment: Experiment, evaluator: Evaluator) -> None:
    _shaped(sweep, experiment)
    for knob, values in _rows(sweep):
        kind, allowed = evaluator.host.collector.knob_types[knob]
        for value in values:
            check_knob(knob, value, kind, allowed, sweep.span)
    own = sweep.options.get("variant") == experiment.selection.get("variant")
    if own or "where" not in sweep.options:  # which reads the variant's knobs
        said = len(evaluator.diagnostics)
        try:
            same = repeated(sweep, rows(sweep, evaluator), evaluator)
        finally:
            del evaluator.diagnostics[said:]  # of forms that are made for :where
        if same is not None:
            evaluator.warn(same)
    _filters(sweep, evaluator)


def _filters(sweep: Sweep, evaluator: Evaluator) -> None:
    """E-SWEEP-SHAPE of a `:where` that reads none of the knobs that are varied."""
    where = sweep.options.get("where", T)
    if where is T or where is NIL:
        return
    quoted = where.__class__ is Cons and where.car is QUOTE
    read, symbols = symbols_of(*[] if quoted else [where]), evaluator.host.collector.knob_symbols
    made = any(isinstance(evaluator.macros.get(s), MacroFunction) for s in read)
    if not made and read.isdisjoint(symbols[knob] for knob in _knobs(sweep)):
        told = ":where reads no knob that it varies: it leaves out all points or none"
        raise shape(sweep, told, TEST)


def _knobs(sweep: Sweep) -> list[str]:
    """Every knob that is varied, as often as it is named."""
    return [row[0] for key in ("grid", "zip", "random") for row in sweep.options.get(key, ())]


def _ranked(sweep: Sweep, experiment: Experiment) -> None:
    """E-SWEEP-SHAPE for `:at` a step at which the pass of the series does not run."""
    ranked = rank(sweep)
    if ranked is None or not isinstance(ranked.at, int):
        return
    of = experiment.passes.get(ranked.metric.partition("/")[0])
    if of is None or ranked.at in of.at or "end" in of.at:
        return
    if of.every is None or ranked.at % of.every:
        raise shape(sweep, f":at {ranked.at} of :rank, a step at which {of.name} does not run")


def _placed(found: Diagnostic, sweep: Sweep) -> Diagnostic:
    """At the words of the sweep that are wrong; where it has no place or one in a form that was
    made for `:where`, at the sweep."""
    own = sweep.span.source if sweep.span is not None else None
    if found.span is not None and found.span.source is own and found.span != sweep.span:
        return found
    return found._replace(span=_words(found, sweep) or sweep.span, edit=None)


def _words(found: Diagnostic, sweep: Sweep) -> Span | None:
    """The value, row or option that a diagnostic names."""
    options = _options(sweep)
    if found.code == "E-VARIANT-UNKNOWN":
        return options.get("variant")
    knob, value = found.facts.get("knob") or found.facts.get("written"), found.facts.get("value")
    named = re.findall(r":([a-z]+)", found.message) + DRAWN.get(found.code, [])
    asked = [key for key in named if key in options]
    if knob is None and asked:
        return options[asked[0]]
    if "over" in asked:
        return _first(operand_spans(options["over"]), knob)
    varied = [key for key in ("grid", "zip", "random") if key in options]
    found_rows = [
        parts
        for key in varied
        for row in operand_spans(options[key])
        for parts in [operand_spans(row)]
        if parts and parts[0].text.lower() == knob
    ]
    if not found_rows:
        return None
    parts = found_rows[-1 if found.code == "E-KNOB-TWICE" else 0]
    if value is None:
        return parts[0]
    written = [s for part in parts[1:] for s in operand_spans(part)]
    made = option_span(parts[-1], "form")  # gives the values
    return _first(written, value) or made or parts[-1]


def _first(spans: list[Span], text: str | None) -> Span | None:
    return next((s for s in spans if s.text.lower() == str(text).lower()), None)


def _options(sweep: Sweep) -> dict[str, Span]:
    """Where the value of each option stands."""
    places = {key: option_span(sweep.span, key) for key in sweep.options}
    return {key: span for key, span in places.items() if span is not None}


def _rows(sweep: Sweep) -> Iterator[tuple[str, list[Value]]]:
    """Each knob with the values that are written for it."""
    for key in ("grid", "zip"):
        for knob, values in sweep.options.get(key, ()):
            made: Any = values if isinstance(values, tuple) else proper("defsweep", values)
            yield knob, list(made)
    for knob, word, bounds in sweep.options.get("random", ()):
        if word == "choice" or "n" not in sweep.options:
            yield knob, list(bounds) if word == "choice" else []
        else:  # each draw is known: it follows from names
            yield knob, draws(sweep, knob, word, bounds)


def _known(code: str, told: str, name: str, known: Any) -> None:
    if name in known:
        return
    near = nearest(name, known)
    hint = f"did you mean {near}?" if near else "there are: " + (" ".join(known) or "none")
    raise problem(code, f"{told}: {name}", hint=hint, written=name, nearest=near)
