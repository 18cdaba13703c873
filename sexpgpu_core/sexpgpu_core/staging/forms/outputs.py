"""defoutput and load-params: kept as declared; what serves and loads them reads the declaration."""

from __future__ import annotations

from typing import Any

from ...diagnostics import Change, Edit, problem
from ...evaluator.definitions import core_symbol, native_macro
from ...evaluator.values import NIL, Cons, Symbol, T, Value, make_list
from ...ir.types import FLOATS, Type
from ...reader import element_span
from ...records import NamedTuple
from ...spans import Span
from ..host import host
from ..initialize import Initializer, initializer_of
from ..syntax import (
    Declaration,
    Slot,
    is_literal_list,
    keyword_pairs,
    literal,
    option_name,
    tails,
    take_doc,
)
from .models import dtype_value, shape_slots, shape_value

OUTPUT_OPTIONS = ("autoregressive", "state")
FIELD_OPTIONS = ("shape", "dtype", "random")


class Field(NamedTuple):
    """A field of an output that has a type of its own. `random`: what draws it, if it may."""

    type: Type
    random: Initializer | None


class Output(NamedTuple):
    """A graph for use. `fields`: name -> its own Field, or None (the loader's or prepare's).

    `state`: it takes and returns states of rows. `other_state`: what turns that round."""

    name: str
    doc: str
    fields: dict[str, Field | None]
    autoregressive: bool
    function: Any
    span: Any
    state: bool = False
    other_state: Edit | None = None


@native_macro("defoutput")
def defoutput(form: Cons, environment: Value) -> Value:
    """(defoutput name (&key field...) [doc] [(:autoregressive f)] [(:state f)] form...).

    A graph for use."""
    d = Declaration(form)
    parts = tails(form.cdr)
    name = d.name(form.cdr, "the name of the output").name.lower()
    if len(parts) < 3:
        raise d.refuse("name, fields and forms", hint="(defoutput next (&key tokens) form...)")
    fields, names = _fields(d, parts[1])
    doc, rest = take_doc(parts[1].cdr)
    options, rest = _options(d, rest)
    if rest.__class__ is not Cons:
        raise d.refuse("it has no form", hint="(defoutput scores (&key image) (network image))")
    lambda_list = make_list([core_symbol("&KEY"), *names])
    body = d.made_slot(Cons(core_symbol("LAMBDA"), Cons(lambda_list, rest)), d.span, "an output")

    def finish() -> Value:
        collector = host().collector
        collector.claim("output", name, d.span)
        made = {k: None if v is None else _field(d, name, k, v) for k, v in fields.items()}
        told, state = (
            name in options and options[name].flag() for name in ("autoregressive", "state")
        )
        function = body.function()
        function.name = f"output {name}"
        edit = _other_state(options, rest, state)
        collector.outputs[name] = Output(name, doc, made, told, function, d.span, state, edit)
        return T

    d.finish = finish
    return d.expansion()


def _options(d: Declaration, rest: Value) -> tuple[dict[str, Slot], Value]:
    """The lists with a keyword first that stand before the forms."""
    found: dict[str, Slot] = {}
    while (
        rest.__class__ is Cons
        and rest.car.__class__ is Cons
        and getattr(rest.car.car, "keyword", False)
    ):
        name = option_name(d, rest.car, OUTPUT_OPTIONS, "an output")
        if rest.car.cdr.__class__ is not Cons:
            raise d.refuse(f":{name} has no value", rest, hint=f"(:{name} t)")
        if rest.car.cdr.cdr is not NIL:
            raise d.refuse(f"(:{name} t) has nothing more", rest.car.cdr.cdr, hint=f"(:{name} t)")
        if name in found:
            raise problem("E-TWICE", f":{name} of an output stands twice").locate(
                element_span(rest)
            )
        found[name] = d.slot(rest.car.cdr, f":{name} of an output")
        rest = rest.cdr
    return found, rest


def _other_state(options: dict[str, Slot], rest: Value, state: bool) -> Edit | None:
    """(:state t) put before the forms, or nil in its place; None where a macro wrote the form."""
    if "state" in options:
        span, new = options["state"].span, "nil" if state else "t"
    else:
        at = element_span(rest)
        span, new = at and at._replace(end=at.start), "(:state t) "
    if span.__class__ is not Span:
        return None
    return Edit(f"write {new.strip()}", (Change(span, new),))


def _fields(d: Declaration, tail: Cons) -> tuple[dict[str, dict[str, Any] | None], list[Symbol]]:
    found: dict[str, dict[str, Any] | None] = {}
    names: list[Symbol] = []
    listed = literal(d, tail, "the fields")
    if listed and getattr(listed[0].car, "name", "") != "&KEY":
        raise d.refuse("fields are keywords", tail, hint="(&key image)")
    for at in listed[1:]:
        word = at.car
        if word is NIL:
            raise d.refuse("a field is ()", at, hint="a name, or (noise :shape (16 8))")
        options = None
        symbol = d.name(literal(d, at, "a field")[0] if is_literal_list(word) else at, "a field")
        if is_literal_list(word):
            _refuse_default(d, symbol.name.lower(), word)
            pairs = keyword_pairs(d, word.cdr, FIELD_OPTIONS, "a field")
            options = {k: _option(d, k, t) for k, t in pairs.items()}
        name = symbol.name.lower()
        if name in found:
            raise d.refuse(f"the field {name} stands twice", at)
        found[name] = options
        names.append(symbol)
    return found, names


def _refuse_default(d: Declaration, name: str, word: Cons) -> None:
    """E-FORM-SHAPE of a field with a default, as a function's keyword has one."""
    rest = word.cdr
    if rest.__class__ is Cons and not getattr(rest.car, "keyword", False):
        raise d.refuse(
            f"the field {name} takes no default",
            rest,
            hint=f"({name} :shape (16 8) :random (normal 1)) is drawn where it is not given",
        )


def _option(d: Declaration, key: str, tail: Cons) -> Any:
    if key == "shape":
        return shape_slots(d, tail)
    return d.slot(tail, f":{key} of a field")


def _field(d: Declaration, output: str, name: str, options: dict[str, Any]) -> Field:
    """A field with a type of its own; E-OUTPUT without a shape."""
    if "shape" not in options:
        raise problem(
            "E-OUTPUT",
            f"the field {name} of {output} has options and no :shape",
            hint=f"({name} :shape (16 8) :dtype :f32), or {name} alone for the loader's",
            field=name,
        ).locate(d.span)
    shape = shape_value(options["shape"])
    dtype = dtype_value(name, options.get("dtype"))
    random = options.get("random")
    if random is None:
        return Field(Type(dtype, shape), None)
    drawn = initializer_of(random.value, name, random.span, "random")
    if drawn.kind != "number" and dtype not in FLOATS:
        raise problem(
            "E-OUTPUT",
            f"the field {name} of {output} is {dtype}, and only floats are drawn",
            hint=":dtype :f32, or no :random",
        ).locate(random.span)
    return Field(Type(dtype, shape), drawn)
