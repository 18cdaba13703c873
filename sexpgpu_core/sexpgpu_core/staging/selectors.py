"""Selectors of parameters: globs, comparisons, and their combinations (R20, R30)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..evaluator.values import NIL, Function, first_value, make_list
from ..records import NamedTuple
from .traced import Parameter

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
        return "(select " + " ".join(f":{what} {_shown(a)}" for what, a in self.tests) + ")"


def _shown(argument: Any) -> str:
    if isinstance(argument, Selector):
        return argument.text().replace("select ", "", 1)
    if isinstance(argument, tuple):
        inside = " ".join(_shown(a) for a in argument)
        return f"({inside})"
    return f'"{argument}"' if isinstance(argument, str) and "/" in argument else str(argument)


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
    return first_value(function.call(facts)) is not NIL


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
