"""Selectors of parameters: globs, comparisons, and their combinations (R20, R30)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..diagnostics import Change, Edit, Problem, problem
from ..evaluator.definitions import native_macro
from ..evaluator.values import (
    NIL,
    Cons,
    Function,
    String,
    Symbol,
    Value,
    first_value,
    keyword,
    make_list,
)  # fmt: skip
from ..ir.types import DTYPES
from ..reader import element_span
from ..records import NamedTuple
from .host import host
from .syntax import Declaration, Slot, keyword_pairs, literal, tails
from .traced import Parameter

SPECS = ("path", "rank", "dtype", "size", "stage", "where", "and", "or", "not")

COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "=": lambda x, n: x == n,
    "/=": lambda x, n: x != n,
    "<": lambda x, n: x < n,
    "<=": lambda x, n: x <= n,
    ">": lambda x, n: x > n,
    ">=": lambda x, n: x >= n,
}


class Selector(NamedTuple):
    """All tests must hold. A test is (what, argument); what is a keyword of `select`."""

    tests: tuple[tuple[str, Any], ...]

    def matches(self, parameter: Parameter, stage: str) -> bool:
        return all(_TESTS[what](argument, parameter, stage) for what, argument in self.tests)

    def text(self) -> str:
        """As it is shown in messages."""
        return "(select " + " ".join(f":{what} {_shown(what, a)}" for what, a in self.tests) + ")"


def _shown(what: str, argument: Any) -> str:
    if isinstance(argument, Selector):
        return argument.text().replace("select ", "", 1)
    if what in ("rank", "size"):
        return str(argument[1]) if argument[0] == "=" else f"({argument[0]} {argument[1]})"
    if isinstance(argument, tuple):
        return "(" + " ".join(_shown("", a) for a in argument) + ")"
    if isinstance(argument, Function):
        return "(lambda ...)"
    return f'"{argument}"' if what == "path" else f":{argument}"


def glob_pattern(glob: str) -> re.Pattern[str]:
    """`*` does not cross `/`, `**` does, `{a,b}` chooses; the whole path must match."""
    out, at = "", 0
    while at < len(glob):
        if glob.startswith("**/", at):
            out, at = out + "(?:.*/)?", at + 3
        elif glob.startswith("**", at):
            out, at = out + ".*", at + 2
        elif glob[at] == "*":
            out, at = out + "[^/]*", at + 1
        elif glob[at] == "{" and "}" in glob[at:]:
            end = glob.index("}", at)
            out += "(?:" + "|".join(map(re.escape, glob[at + 1 : end].split(","))) + ")"
            at = end + 1
        else:
            out, at = out + re.escape(glob[at]), at + 1
    return re.compile(out + r"\Z")


def _where(function: Function, parameter: Parameter, _: str) -> bool:
    from ..evaluator.values import String, keyword

    facts = make_list(
        [
            keyword("PATH"),
            String(parameter.path),
            keyword("SHAPE"),
            make_list(parameter.type.shape),
            keyword("DTYPE"),
            keyword(parameter.type.dtype.upper()),
        ]
    )
    try:
        return first_value(function.call(facts)) is not NIL
    except Problem as fault:
        raise fault.locate(function.span) from None


_TESTS: dict[str, Callable[[Any, Parameter, str], bool]] = {
    "path": lambda glob, p, stage: glob_pattern(glob).match(p.path) is not None,
    "rank": lambda test, p, stage: COMPARISONS[test[0]](p.type.rank, test[1]),
    "size": lambda test, p, stage: COMPARISONS[test[0]](p.type.size, test[1]),
    "dtype": lambda dtype, p, stage: p.type.dtype == dtype,
    "stage": lambda name, p, stage: stage == name,
    "where": _where,
    "and": lambda all_, p, stage: all(s.matches(p, stage) for s in all_),
    "or": lambda any_, p, stage: any(s.matches(p, stage) for s in any_),
    "not": lambda other, p, stage: not other.matches(p, stage),
}


# The form


@native_macro("select")
def select(form: Cons, environment: Value) -> Value:
    """(select &key path rank dtype size stage where and or not): a selector; all must hold."""
    d = Declaration(form)
    _one_path(d, form)
    read = _spec(d, form.cdr)
    d.finish = lambda: _made(read)
    return d.expansion()


def _one_path(d: Declaration, form: Cons) -> None:
    """E-FORM-SHAPE of several globs after one :path, with the edit that asks for any of them."""
    parts = tails(form.cdr)
    if len(parts) < 2 or parts[0].car is not keyword("PATH"):
        return
    several = tails(parts[1].car) if parts[1].car.__class__ is Cons else parts[1:]
    globs = [t.car.text() for t in several if isinstance(t.car, String)]
    if len(globs) < 2 or len(globs) < len(several):
        return
    new = "(select :or (" + " ".join(f'(:path "{glob}")' for glob in globs) + "))"
    edit = Edit("ask for any of them", (Change(d.span, new),)) if d.span is not None else None
    found = problem("E-FORM-SHAPE", "select: :path is one glob", hint=f"any of them: {new}",
                    edit=edit)  # fmt: skip
    raise found.locate(element_span(parts[1]) or d.span)


def _spec(d: Declaration, rest: Value) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, tail in keyword_pairs(d, rest, SPECS, "select").items():
        if key in ("rank", "size"):
            found.append((key, _test(d, key, tail)))
        elif key in ("and", "or"):
            lists = literal(d, tail, f":{key}")
            if any(t.car.__class__ is not Cons for t in lists):
                raise d.refuse(f":{key} is a list of lists", tail, hint=f":{key} ((:rank 2) ...)")
            found.append((key, [_spec(d, t.car) for t in lists]))
        elif key == "not":
            literal(d, tail, ":not")
            found.append((key, _spec(d, tail.car)))
        else:
            found.append((key, d.slot(tail, f":{key} of select")))
    if not found:
        raise d.refuse(
            "says what to select", hint='(select :path "**/bias"), (select :rank (<= 1))'
        )
    return found


def _test(d: Declaration, key: str, tail: Cons) -> tuple[str, Slot]:
    """FORM, or (OP FORM) with the first operand left out."""
    form = tail.car
    parts = tails(form)
    if len(parts) == 2 and form.car.__class__ is Symbol and form.car.name in COMPARISONS:
        return form.car.name, d.slot(parts[1], f":{key} of select")
    return "=", d.slot(tail, f":{key} of select")


def _made(read: list[tuple[str, Any]]) -> Selector:
    return Selector(tuple((key, _argument(key, value)) for key, value in read))


def _argument(key: str, value: Any) -> Any:
    if key in ("rank", "size"):
        return value[0], value[1].integer(0)
    if key in ("and", "or"):
        return tuple(_made(v) for v in value)
    if key == "not":
        return _made(value)
    if key == "path":
        return value.text()
    if key == "where":
        return value.function()
    known = DTYPES if key == "dtype" else _stages()
    return value.choice(known)


def _stages() -> list[str]:
    return [stage for loader in host().collector.loaders.values() for stage in loader.stages]
