"""`diagnostic`, `defdiagnostic`: numbers of a run, computed only where they are selected."""

from __future__ import annotations

from typing import Any

from ...diagnostics import nearest, problem
from ...evaluator.definitions import core_symbol, native_macro
from ...evaluator.values import Cons, String, Symbol, T, Value
from ...experiment.declarations import DiagnosticDeclaration
from ..arguments import choice
from ..faults import describe
from ..host import host, tracer
from ..origins import called_from_file
from ..promote import node_of
from ..scopes import join
from ..selectors import Selector
from ..syntax import Declaration, Slot, literal, option_name, tails, take_doc
from ..table import tensor_builtin
from ..traced import Written

REDUCERS = ("mean", "max", "min", "sum", "last", "norm", "histogram", "quantiles")

GIVEN = {
    "parameter": ("param", "grad", "update", "new", "state", "optimizer"),
    "step": ("loss", "grad-norm"),
    "scope": ("output",),
}
"""What a body may ask for, by what `:for` says."""


@tensor_builtin("diagnostic", "(name x &key (reduce :mean))")
def diagnostic(name: Value, x: Value, *, reduce: Value = None) -> Value:
    """A number that is computed only where it is selected; adds no node otherwise.

    (diagnostic "gate" g)"""
    t = tracer("diagnostic")
    if not isinstance(name, String):
        raise problem("E-METRIC", f"the name of a diagnostic is a string, not {describe(name)}")
    how = "mean" if reduce is None else choice("diagnostic", "reduce", reduce, REDUCERS)
    t.in_step("diagnostic")
    if t.part in ("prepare", "objective", "evaluate"):
        _write(t, join(t.scope.site, name.text()), node_of("diagnostic", x, t), how)
    return x


def _write(t: Any, name: str, node: Any, reduce: str) -> None:
    """E-METRIC where a name is taken."""

    if name in t.written:
        raise problem(
            "E-METRIC",
            f'two diagnostics are called "{name}"',
            hint="give each a name of its own",
            name=name,
        )
    t.written[name] = Written(name, node, reduce, called_from_file())


@native_macro("defdiagnostic")
def defdiagnostic(form: Cons, environment: Value) -> Value:
    """(defdiagnostic name (&key ...) [doc] (:for ...) [(:reduce ...)] form...): see the grammar."""
    d = Declaration(form)
    parts = tails(form.cdr)
    name = d.name(form.cdr, "the name of the diagnostic").name.lower()
    if len(parts) < 3:
        raise d.refuse("name, lambda list, (:for ...) and forms", hint=_HINT)
    doc, rest = take_doc(parts[1].cdr)
    options, rest = _heads(d, rest)
    if "for" not in options:
        raise d.refuse("(:for ...) says what it is a number of", hint=_HINT)
    on, argument = _for(d, options["for"])
    given = _asked(d, parts[1], on)
    reduce = option_name(d, options["reduce"], REDUCERS, ":reduce") if "reduce" in options else None
    body = d.made_slot(
        Cons(core_symbol("LAMBDA"), Cons(parts[1].car, rest)), d.span, "the diagnostic"
    )

    def finish() -> Value:
        collector = host().collector
        collector.claim("diagnostic", name, d.span)
        selector, scope = _of(on, argument)
        collector.diagnostics[name] = DiagnosticDeclaration(
            name, doc, on, selector, scope, reduce or "mean", given, body.function(), d.span
        )
        return T

    d.finish = finish
    return d.expansion()


_HINT = "(defdiagnostic rank (&key param) (:for (select :rank 2)) form...)"


def _heads(d: Declaration, rest: Value) -> tuple[dict[str, Cons], Value]:
    """(:for X) and (:reduce K), which stand first: the tail of what each says."""
    found: dict[str, Cons] = {}
    while rest.__class__ is Cons and rest.car.__class__ is Cons and _is_keyword(rest.car.car):
        word = option_name(d, rest.car, ("for", "reduce"))
        if rest.car.cdr.__class__ is not Cons:
            raise d.refuse(f"(:{word}) has no value", rest)
        found[word] = rest.car.cdr
        rest = rest.cdr
    return found, rest


def _is_keyword(value: Value) -> bool:
    return value.__class__ is Symbol and value.keyword


def _for(d: Declaration, tail: Cons) -> tuple[str, Slot | None]:
    """parameter, step or scope, and the slot of the selector or glob."""
    form = tail.car
    if _is_keyword(form) and form.name == "STEP":
        return "step", None
    if form.__class__ is Cons and _is_keyword(form.car):
        option_name(d, form, ("scope",), ":for")
        if form.cdr.__class__ is not Cons:
            raise d.refuse('a scope is a glob, (:scope "**/attention")', tail)
        return "scope", d.slot(form.cdr, "the scope of a diagnostic")
    return "parameter", d.slot(tail, "the selector of a diagnostic")


def _of(on: str, argument: Slot | None) -> tuple[Any, str | None]:
    """The selector (None: all) and the glob."""
    if argument is None:
        return None, None
    if on == "scope":
        return None, argument.text()
    value = argument.value
    if value.__class__ is Symbol and value.keyword and value.name == "REST":
        return None, None
    if not isinstance(value, Selector):
        raise argument.refuse("a selector, as (select :rank 2), :step or (:scope glob)")
    return value, None


def _asked(d: Declaration, tail: Cons, on: str) -> tuple[str, ...]:
    """The keywords of the lambda list, each one that there is for `:for`."""
    words = [t.car for t in literal(d, tail, "the lambda list")]
    if not words or words[0] is not core_symbol("&KEY"):
        raise problem("E-CONTRACT", f"{d.head} takes keywords only", hint=_HINT).locate(d.span)
    found = []
    for word in words[1:]:
        name = word.name.lower() if word.__class__ is Symbol else describe(word)
        if name not in GIVEN[on]:
            near = nearest(name, GIVEN[on])
            told = f"did you mean {near}?" if near else "there are " + " ".join(GIVEN[on])
            raise problem(
                "E-FIELD", f"{d.head}: no {name} is given here", hint=told, field=name
            ).locate(d.span)
        found.append(name)
    return tuple(found)
