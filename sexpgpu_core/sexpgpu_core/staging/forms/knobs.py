"""defknob, defvariant, defsweep: what may vary, and which value was chosen from outside."""

from __future__ import annotations

from typing import Any

from ...diagnostics import Problem, problem
from ...evaluator import machine
from ...evaluator.builtins.listing import proper
from ...evaluator.definitions import BUILTINS, builtin, core_symbol, native_macro
from ...evaluator.values import (
    NIL,
    UNBOUND,
    Cons,
    Ratio,
    String,
    Symbol,
    T,
    Value,
    make_list,
)  # fmt: skip
from ...experiment.declarations import Knob, Sweep, Variant
from ...reader import element_span
from ...spans import Span
from ..faults import describe
from ..host import host
from ..lisp_text import knob_datum, lisp_text
from ..scan import adopted
from ..syntax import (
    Declaration,
    Slot,
    check_type,
    each,
    elements,
    keyword_pairs,
    literal,
    option_name,
    tails,
    take_doc,
)  # fmt: skip


@native_macro("defknob")
def defknob(form: Cons, environment: Value) -> Value:
    """(defknob name default [doc] &key type choices): a variable that may be set from outside."""
    d = Declaration(form)
    parts = tails(form.cdr)
    if len(parts) < 2:
        raise d.refuse(
            "a knob has a name and a default", hint='(defknob width 128 "Doc." :type (integer 1))'
        )
    symbol = d.name(parts[0], "the name of the knob")
    _definable(symbol, element_span(parts[0]))
    default = d.slot(parts[1], f"the default of {symbol.name.lower()}")
    doc, rest = take_doc(parts[1].cdr)
    options = keyword_pairs(d, rest, ("type", "choices"))
    kind, at = None, None
    if "type" in options:
        kind, at = _type_slots(d, options["type"]), element_span(options["type"])
    choices = []
    if "choices" in options:
        choices = [d.slot(t, "a choice") for t in literal(d, options["choices"], ":choices")]
        if not choices:
            raise d.refuse(":choices has none", options["choices"])
    name = knob_name(symbol)
    host().collector.knob_symbols[name] = symbol
    chosen = host().collector.variant_forms.get(name)
    variant = None
    if chosen is not None:
        form = adopted(chosen, machine.current().module)
        variant = d.made_slot(form, None, f"the variant's {name}")
    d.finish = lambda: _finish(d, name, default, kind, at, choices, doc, variant)
    return make_list([core_symbol("%KNOB-VARIABLE"), Quoted(symbol), d.expansion()])


def _definable(symbol: Symbol, span: Span | None) -> None:
    """E-REDEFINE of a constant, a variable of core's or a name of another module. A name of a
    function of core's may be a knob's: its value is free."""
    m = machine.current()
    free = symbol.home == "" and (symbol.value is UNBOUND or symbol in m.core_values)
    if free or symbol.home is None or m.module is None or symbol.home == m.module.home:
        return
    where, name = symbol.home or "the standard or of core", symbol.name.lower()
    hint = f"give the knob another name, such as my-{name}"
    told = f"{name} is a name of {where}"
    raise problem("E-REDEFINE", told, hint=hint, name=name).locate(span)


class Quoted:
    """A symbol that evaluates to itself in an expansion."""

    __slots__ = ("symbol",)

    def __init__(self, symbol: Symbol) -> None:
        self.symbol = symbol


@builtin("%knob-variable", "(symbol value)")
def knob_variable(quoted: Quoted, value: Value) -> Value:
    """Gives the knob's variable its value, that of a name of core's in this file alone."""
    machine.current().keep(quoted.symbol)
    quoted.symbol.value = value
    return quoted.symbol


def knob_name(symbol: Symbol) -> str:
    """name, or module:name for a module's knob (R42)."""
    home = symbol.home
    text = symbol.name.lower()
    return text if not home or home == host().collector.main else f"{_last(home)}:{text}"


def _last(module: str) -> str:
    return module.rsplit("/", 1)[-1].removesuffix(".lisp")


def _type_slots(d: Declaration, tail: Cons) -> Any:
    """A type specifier with slots for its bounds: `(integer 1 (* 2 heads))`, `(float (0) 1)`."""
    form = tail.car
    if form.__class__ is not Cons:
        return form
    head, *bounds = tails(form)
    name = head.car.name if head.car.__class__ is Symbol else ""
    if name not in (
        "INTEGER",
        "FLOAT",
        "REAL",
        "RATIONAL",
        "NUMBER",
        "MOD",
        "UNSIGNED-BYTE",
        "SIGNED-BYTE",
    ):
        return form
    return [head.car, *(_bound(d, b) for b in bounds)]


def _bound(d: Declaration, tail: Cons) -> Any:
    form = tail.car
    if form.__class__ is Cons and form.cdr is NIL:  # (0): the bound itself is left out
        return [d.slot(form, "a bound of :type")]
    if form.__class__ is Symbol and form.name == "*":
        return form
    return d.slot(tail, "a bound of :type")


def _specifier(kind: Any) -> Value:
    if isinstance(kind, Slot):
        return kind.value
    if isinstance(kind, list):
        return make_list(_specifier(k) for k in kind)
    return kind


def _finish(
    d: Declaration,
    name: str,
    default: Slot,
    kind: Any,
    at: Span | None,
    choices: list[Slot],
    doc: str,
    variant: Slot | None,
) -> Value:
    collector = host().collector
    collector.claim("knob", name, d.span)
    if lisp_text(default.value).startswith("#<"):
        raise default.refuse("what can be written: a number, text, keyword, t, nil or a list")
    specifier = _specifier(kind) if kind is not None else default_type(default.value)
    check_type(specifier, at)
    allowed = [check_knob(name, c.value, specifier, [], c.span) for c in choices]
    collector.knob_types[name] = (specifier, allowed)
    value = check_knob(name, default.value, specifier, allowed, default.span or d.span)
    default_text = lisp_text(value)
    if variant is not None:
        value = check_knob(name, variant.value, specifier, allowed, None)
    text = collector.chosen.get(name)
    if text is not None:
        value = check_knob(name, knob_datum(name, text, specifier), specifier, allowed, None, text)
    collector.knobs[name] = Knob(
        name,
        default_text,
        lisp_text(value),
        value,
        lisp_text(specifier) if kind is not None else None,
        tuple(lisp_text(c) for c in allowed),
        doc,
        d.span,
    )
    return value


def default_type(value: Value) -> Value:
    """The type of a knob that has no `:type`."""
    if value is T or value is NIL:
        return core_symbol("BOOLEAN")
    for kind, word in ((int, "INTEGER"), (float, "REAL"), (Ratio, "REAL"), (Cons, "LIST")):
        if value.__class__ is kind:
            return core_symbol(word)
    if isinstance(value, String):
        return core_symbol("STRING")
    if value.__class__ is Symbol:
        return core_symbol("KEYWORD" if value.keyword else "SYMBOL")
    return T


def check_knob(
    name: str,
    value: Value,
    specifier: Value,
    choices: list[Value],
    span: Any,
    text: str | None = None,
) -> Value:
    """The value, a whole number made a float where the type wants one; E-KNOB-VALUE."""
    shown = text if text is not None else describe(value)
    if value.__class__ is int and wants_float(specifier):
        value = float(value)
    if BUILTINS["TYPEP"].call(value, specifier) is NIL:
        raise problem(
            "E-KNOB-VALUE",
            f"{name} = {shown} is not of type {lisp_text(specifier)}",
            hint=f"as in -s '{name}=VALUE' with a VALUE of type {lisp_text(specifier)}",
            knob=name,
            value=shown,
        ).locate(span)
    if choices and all(BUILTINS["EQUAL"].call(value, c) is NIL for c in choices):
        raise problem(
            "E-KNOB-VALUE",
            f"{name} = {shown} is none of its choices",
            hint="choices: " + " ".join(map(lisp_text, choices)),
            knob=name,
            value=shown,
        ).locate(span)
    return value


def wants_float(specifier: Value) -> bool:
    """Whether a knob of the type holds a whole number as a float."""
    head = specifier.car if specifier.__class__ is Cons else specifier
    return head.__class__ is Symbol and head.name in ("FLOAT", "DOUBLE-FLOAT", "SINGLE-FLOAT")


@native_macro("defvariant")
def defvariant(form: Cons, environment: Value) -> Value:
    """(defvariant name [doc] :from other :knob value ...): a named choice of knobs."""
    d = Declaration(form)
    name = d.name(form.cdr, "the name of the variant").name.lower()
    doc, rest = take_doc(form.cdr.cdr)
    base, forms = variant_parts(d, rest)
    slots = {knob: d.slot(tail, f":{knob} of variant {name}") for knob, tail in forms.items()}
    d.finish = lambda: _finish_variant(d, name, doc, base, slots)
    return d.expansion()


def variant_parts(d: Declaration, rest: Value) -> tuple[str | None, dict[str, Cons]]:
    """:from, and knob -> tail of its form. E-KNOB-TWICE."""
    base, found = None, {}
    at = rest
    while at.__class__ is Cons:
        word = at.car
        if word.__class__ is not Symbol or not word.keyword:
            raise d.refuse("knobs are written flat, :depth 2 :width 64", at)
        name = word.name.lower()
        if at.cdr.__class__ is not Cons:
            raise d.refuse(f":{name} has no value", at)
        if name in found or (name == "from" and base is not None):
            here = element_span(at) or d.span
            raise problem("E-KNOB-TWICE", f":{name} stands twice", knob=name).locate(here)
        if name == "from":
            base = d.name(at.cdr, "the variant of :from").name.lower()
        else:
            found[name] = at.cdr
        at = at.cdr.cdr
    return base, found


def _finish_variant(
    d: Declaration, name: str, doc: str, base: str | None, slots: dict[str, Slot]
) -> Value:
    collector = host().collector
    collector.claim("variant", name, d.span)
    knobs = tuple((knob, slot.form) for knob, slot in slots.items())
    collector.variants[name] = Variant(name, doc, base, knobs, d.span)
    collector.variant_values[name] = slots
    return T


SWEEP_OPTIONS = ("grid", "zip", "random", "n", "where", "seeds", "over", "variant", "rank")


@native_macro("defsweep")
def defsweep(form: Cons, environment: Value) -> Value:
    """(defsweep name [doc] &key grid zip random n where seeds over variant rank): points."""
    d = Declaration(form)
    name = d.name(form.cdr, "the name of the sweep").name.lower()
    doc, rest = take_doc(form.cdr.cdr)
    options = keyword_pairs(d, rest, SWEEP_OPTIONS)
    read: dict[str, Any] = {k: _sweep_option(d, k, t) for k, t in each(d, options)}
    d.finish = lambda: _finish_sweep(d, name, doc, read)
    return d.expansion()


def _sweep_option(d: Declaration, key: str, tail: Cons) -> Any:
    if key in ("grid", "zip"):
        return [_sweep_values(d, t) for t in literal(d, tail, f":{key}")]
    if key == "random":
        return [_draw(d, t) for t in literal(d, tail, ":random")]
    if key == "over":
        return tuple(knob_name(d.name(t, "a knob")) for t in literal(d, tail, ":over"))
    if key == "variant":
        return d.name(tail, "the variant").name.lower()
    if key == "rank":
        return _rank(d, tail)
    if key == "where":
        return tail.car
    return d.slot(tail, f":{key}")


def _sweep_values(d: Declaration, tail: Cons) -> tuple[str, Any]:
    name, rest = elements(d, tail, "a row, (knob (value...)),", 2)
    values = literal(d, rest, "the values")
    if (
        values
        and values[0].car.__class__ is Symbol
        and values[0].car.name == "FORM"
        and values[0].car.keyword
    ):
        if len(values) != 2:
            raise d.refuse("(:form FORM) has one form, which gives the values", rest)
        return knob_name(d.name(name)), d.slot(values[1], "the list of values")
    if not values:
        raise _no_values(name.car.name.lower(), element_span(rest))
    return knob_name(d.name(name)), [d.slot(v, "a value") for v in values]


def _no_values(knob: str, span: Span | None) -> Problem:
    return problem(
        "E-SWEEP-SHAPE", f"{knob} has no values", hint=f"({knob} (VALUE...))", knob=knob
    ).locate(span)


def _draw(d: Declaration, tail: Cons) -> tuple[str, str, list[Slot]]:
    name, kind = elements(d, tail, "a row, (knob (uniform low high)),", 2)
    parts = literal(d, kind, "a distribution")
    if not parts:
        raise d.refuse("a distribution is missing", kind, hint="(uniform 0 1), (choice 2 4)")
    head, *rest = parts
    word = d.name(head, "uniform, log-uniform or choice").name.lower()
    if word not in ("uniform", "log-uniform", "choice"):
        raise problem(
            "E-SWEEP-SHAPE", f"{word} is no distribution", hint="uniform, log-uniform or choice"
        ).locate(element_span(head))
    return knob_name(d.name(name)), word, [d.slot(t, "a bound") for t in rest]


def _rank(d: Declaration, tail: Cons) -> tuple[Slot, str, Any]:
    parts = literal(d, tail, ":rank")
    if len(parts) < 2:
        raise d.refuse(':rank is ("val/loss" :min)', tail)
    series = d.slot(parts[0], "the series of :rank")
    goal = option_name(d, parts[1], ("min", "max"), ":rank")
    at = keyword_pairs(d, parts[1].cdr, ("at",), ":rank")
    return series, goal, d.slot(at["at"], ":at") if "at" in at else None


def _check_form(knob: str, slot: Slot) -> None:
    """E-TYPE, E-SWEEP-SHAPE at the form of `(:form FORM)` that gives no list of values."""
    try:
        values = proper(f"(:form ...) of {knob}", slot.value)
    except Problem as error:
        raise error.locate(slot.span) from None
    if not values:
        raise _no_values(knob, slot.span)


def _filled(value: Any) -> Any:
    if isinstance(value, Slot):
        return value.value
    if isinstance(value, (list, tuple)):
        return tuple(_filled(v) for v in value)
    return value


def _finish_sweep(d: Declaration, name: str, doc: str, read: dict[str, Any]) -> Value:
    collector = host().collector
    collector.claim("sweep", name, d.span)
    options = {key: _filled(value) for key, value in read.items()}
    if "rank" in read:
        options["rank"] = (read["rank"][0].text(), *options["rank"][1:])
    for knob, values in (*read.get("grid", ()), *read.get("zip", ())):
        if isinstance(values, Slot):
            _check_form(knob, values)
    collector.sweeps[name] = Sweep(name, doc, options, d.span)
    return T


__all__ = ["check_knob", "defknob", "defsweep", "defvariant", "variant_parts", "wants_float"]
