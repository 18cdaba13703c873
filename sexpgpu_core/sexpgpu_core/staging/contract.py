"""The contract names of a file: which there are, in which order, what they ask for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..diagnostics import Diagnostic, diagnostic, problem
from ..evaluator.evaluator import Evaluator
from ..evaluator.values import Cons, Function, Symbol, Value
from ..reader import span_of
from ..records import NamedTuple
from ..spans import Span
from .syntax import tails

ORDER = {
    "require": (1, "modules"),
    "defknob": (2, "what may vary"),
    "defvariant": (2, "what may vary"),
    "defsweep": (2, "what may vary"),
    "defloader": (3, "data"),
    "prepare": (4, "prepare"),
    "defmodel": (5, "models"),
    "load-params": (5, "models"),
    "objective": (6, "objective"),
    "evaluate": (7, "evaluate"),
    "defeval": (8, "evaluation passes"),
    "deftarget": (8, "evaluation passes"),
    "optimizer": (9, "optimizer"),
    "curriculum": (10, "stages, outputs"),
    "defoutput": (10, "stages, outputs"),
    "defrun": (11, "the run"),
}
"""Contract name -> its row in the table of the run file."""

FUNCTIONS = ("prepare", "objective", "evaluate", "optimizer", "curriculum")

SMALLEST = {
    "defloader": "(defloader text (source (python-stdlib)) (windows 65) (stage :train) (batch 12))",
    "defmodel": "(defmodel net (x) (defparam w ((dim x -1) 10)) (matmul x w))",
    "objective": "(defun objective (&key x label) (mean (cross-entropy (net x) label)))",
    "optimizer": "(defun optimizer () (groups (group :rest (optim:adamw :lr 1e-3))))",
    "defrun": "(defrun :steps 1000)",
}
"""What a missing name's hint shows."""


class Entry(NamedTuple):
    """A contract name where it stands."""

    name: str
    what: str  # text, for messages
    span: Span | None


class Fields(NamedTuple):
    """Keywords of a contract function: name -> whether it is needed; `rest`: takes all others."""

    names: dict[str, bool]
    rest: bool


def contract_entry(form: Value) -> Entry | None:
    """The contract name of a top-level form, or None for a helper."""
    if form.__class__ is not Cons or form.car.__class__ is not Symbol:
        return None
    head = form.car.name.lower()
    second = form.cdr.car if form.cdr.__class__ is Cons else None
    name = second.name.lower() if second.__class__ is Symbol else ""
    if head == "defun" and name in FUNCTIONS:
        return Entry(name, f"(defun {name} ...)", span_of(form))
    if head in ORDER and head not in FUNCTIONS:
        return Entry(head, f"({head} {name})" if name else f"({head} ...)", span_of(form))
    return None


def check_order(entries: Iterable[Entry]) -> list[Diagnostic]:
    """E-ORDER for each name that stands after one that must follow it; E-TWICE for functions."""
    found: list[Diagnostic] = []
    last: Entry | None = None
    seen: dict[str, Entry] = {}
    for entry in entries:
        if entry.name in FUNCTIONS and entry.name in seen:
            found.append(
                diagnostic(
                    "E-TWICE", f"{entry.what} is defined twice", span=entry.span, name=entry.name
                )
            )
        seen[entry.name] = entry
        if last is not None and ORDER[entry.name][0] < ORDER[last.name][0]:
            found.append(
                diagnostic(
                    "E-ORDER",
                    f"{entry.what} stands after {last.what}",
                    span=entry.span,
                    hint="the order: " + ", ".join(dict.fromkeys(w for _, w in ORDER.values())),
                    name=entry.name,
                    after=last.name,
                )
            )
        else:
            last = entry
    return found


def missing(names: Iterable[str], end: Span | None) -> list[Diagnostic]:
    """E-MISSING for each required name, with the smallest form that would do."""
    return [
        diagnostic(
            "E-MISSING",
            f"{'a defmodel' if name == 'defmodel' else name} is missing",
            span=end,
            hint="the smallest: " + SMALLEST[name],
            name=name,
        )
        for name in names
    ]


def lambda_list_of(form: Value) -> Value:
    """The lambda list of a `(defun name (...) ...)`."""
    return form.cdr.cdr.car


def parse_fields(lambda_list: Value, name: str, span: Span | None) -> Fields:
    """What a contract function takes: keywords only (E-CONTRACT otherwise)."""
    names: dict[str, bool] = {}
    mode, rest = "", False
    for tail in tails(lambda_list):
        word: Any = tail.car
        if word.__class__ is Symbol and word.name.startswith("&"):
            mode = word.name
            continue
        if mode == "&REST":
            rest = True
        elif mode == "&KEY":
            names[_key_name(word)] = word.__class__ is not Cons or word.cdr.__class__ is not Cons
        elif mode != "&AUX":
            raise problem(
                "E-CONTRACT",
                f"{name} takes keywords only",
                hint=f"(defun {name} (&key field ...) ...)",
                name=name,
            ).locate(span)
    return Fields(names, rest)


def _key_name(word: Any) -> str:
    if word.__class__ is Cons:
        word = word.car
        if word.__class__ is Cons:  # ((:name var) default)
            word = word.car
    return str(word.name.lower())


def field_names(evaluator: Evaluator, function: Function) -> Fields:
    """The keywords that a contract function asks for."""
    found = evaluator.host.collector.lambda_lists.get(function.name)
    if found is None:
        return Fields({}, True)
    return parse_fields(found, function.name, function.span)
