"""defoutput and load-params: kept as declared; what serves and loads them reads the declaration."""

from __future__ import annotations

from typing import Any

from ...diagnostics import problem
from ...evaluator.definitions import core_symbol, native_macro
from ...evaluator.values import Cons, Symbol, T, Value, make_list
from ...records import NamedTuple
from ..host import host
from ..syntax import Declaration, Slot, is_literal_list, keyword_pairs, literal, tails, take_doc

LOAD_OPTIONS = ("into", "from", "map", "ignore", "missing", "transpose", "cast")


class Output(NamedTuple):
    """A graph for use. `fields`: name -> None (the loader's) or its options as slots' values."""

    name: str
    doc: str
    fields: dict[str, Any]
    autoregressive: bool
    state: bool
    function: Any
    span: Any


class Load(NamedTuple):
    """A `load-params`: `source` a path or ("run", name, options)."""

    source: Any
    options: dict[str, Any]
    span: Any


@native_macro("defoutput")
def defoutput(form: Cons, environment: Value) -> Value:
    """(defoutput name (&key field...) [doc] [(:autoregressive t)] [(:state t)] form...)"""
    d = Declaration(form)
    parts = tails(form.cdr)
    name = d.name(form.cdr, "the name of the output").name.lower()
    if len(parts) < 3:
        raise d.refuse("name, fields and forms", hint="(defoutput next (&key tokens) form...)")
    fields, names = _fields(d, parts[1])
    doc, rest = take_doc(parts[1].cdr)
    flags = {"AUTOREGRESSIVE": False, "STATE": False}
    while (
        rest.__class__ is Cons
        and rest.car.__class__ is Cons
        and getattr(rest.car.car, "keyword", False)
    ):
        word = rest.car.car.name
        if word not in flags:
            raise d.refuse(f"no option {rest.car.car!r}", rest)
        flags[word] = True
        rest = rest.cdr
    lambda_list = make_list([core_symbol("&KEY"), *names])
    body = d.made_slot(Cons(core_symbol("LAMBDA"), Cons(lambda_list, rest)), d.span, "an output")

    def finish() -> Value:
        collector = host().collector
        collector.claim("output", name, d.span)
        filled = {k: _filled(v) for k, v in fields.items()}
        collector.outputs[name] = Output(
            name, doc, filled, flags["AUTOREGRESSIVE"], flags["STATE"], body.function(), d.span
        )
        return T

    d.finish = finish
    return d.expansion()


def _fields(d: Declaration, tail: Cons) -> tuple[dict[str, Any], list[Symbol]]:
    found: dict[str, Any] = {}
    names: list[Symbol] = []
    for at in literal(d, tail, "the fields"):
        word = at.car
        if word.__class__ is Symbol and word.name == "&KEY":
            continue
        if is_literal_list(word):
            parts = literal(d, at, "a field")
            symbol = d.name(parts[0], "a field")
            options = keyword_pairs(d, parts[0].cdr, ("shape", "dtype", "random"), "a field")
            found[symbol.name.lower()] = {k: _option(d, k, t) for k, t in options.items()}
        else:
            symbol = d.name(at, "a field")
            found[symbol.name.lower()] = None
        names.append(symbol)
    return found, names


def _option(d: Declaration, key: str, tail: Cons) -> Any:
    if key == "shape" and is_literal_list(tail.car):
        return [d.slot(t, "a size") for t in literal(d, tail, ":shape")]
    return d.slot(tail, f":{key} of a field")


def _filled(value: Any) -> Any:
    if isinstance(value, Slot):
        return value.value if isinstance(value.value, tuple) else value.python()
    if isinstance(value, dict):
        return {k: _filled(v) for k, v in value.items()}
    if isinstance(value, list):
        return tuple(_filled(v) for v in value)
    return value


@native_macro("load-params")
def load_params(form: Cons, environment: Value) -> Value:
    """(load-params FROM option...): published weights, or another run's checkpoint (R35)."""
    d = Declaration(form)
    parts = tails(form.cdr)
    if not parts:
        raise d.refuse("it names a file", hint='(load-params "gpt2.safetensors" :into "gpt")')
    source = _read_from(d, parts[0])
    options = {
        key: [d.slot(t, f":{key}") for t in literal(d, at, f":{key}")]
        if key in ("ignore", "missing", "transpose")
        else _pairs(d, at)
        if key == "map"
        else d.slot(at, f":{key}")
        for key, at in keyword_pairs(d, parts[0].cdr, LOAD_OPTIONS).items()
    }

    def finish() -> Value:
        filled = {k: _filled(v) for k, v in options.items()}
        host().collector.loads.append(Load(_filled(source), filled, d.span))
        return T

    d.finish = finish
    return d.expansion()


def _pairs(d: Declaration, tail: Cons) -> list[list[Slot]]:
    return [
        [d.slot(p, "a name") for p in literal(d, t, "a pair")] for t in literal(d, tail, ":map")
    ]


def _read_from(d: Declaration, tail: Cons) -> Any:
    form = tail.car
    if (
        form.__class__ is Cons
        and form.car.__class__ is Symbol
        and form.car.name == "RUN-CHECKPOINT"
    ):
        parts = tails(form.cdr)
        if not parts:
            raise problem("E-FORM-SHAPE", "run-checkpoint names a run").locate(d.span)
        options = keyword_pairs(d, parts[0].cdr, ("at", "weights"), "run-checkpoint")
        return [
            "run",
            d.slot(parts[0], "the run"),
            {k: d.slot(t, f":{k}") for k, t in options.items()},
        ]
    return d.slot(tail, "the file of load-params")
