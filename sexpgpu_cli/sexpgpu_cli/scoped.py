"""The part of a graph's text that is of some scopes: `ir --scope GLOB`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from sexpgpu_core.diagnostics import Problem, nearest, problem

NODE = re.compile(r"  ; (.*)$")
CALL = re.compile(r"// \d+(?: commit)?: (.*)")
"""Where the places of a line of a graph stand, and those of a lowered call."""


def of_scope(text: str, glob: str, lowered: bool) -> str:
    """The lines of a graph, or the calls of its lowered form, of a scope that the glob matches or
    that lies below one. Raises E-USAGE-VALUE where there is none."""
    pieces = _calls(text) if lowered else text.splitlines()
    placed = [(piece, _scopes(piece, CALL if lowered else NODE)) for piece in pieces]
    kept = [piece for piece, scopes in placed if any(_below(scope, glob) for scope in scopes)]
    if not kept:
        raise _none(glob, [scope for _, scopes in placed for scope in scopes])
    return "\n".join(kept) + "\n"


def _calls(text: str) -> list[str]:
    """Every call with its loops: each begins with a line that names its places."""
    return [call.rstrip("\n") for call in re.split(r"^(?=// \d)", text, flags=re.M) if call]


def _scopes(piece: str, places: re.Pattern[str]) -> list[str]:
    """`network/linear x.lisp:3:4 grad, x.lisp:5:1`: the first has a scope, the second has none."""
    found = places.search(piece)
    told = re.split("[,;] ", found[1]) if found is not None else []
    words = [one.split(" ", 1)[0] for one in told]
    return [word for word in words if word not in ("", "grad") and ":" not in word]


def _below(scope: str, glob: str) -> bool:
    return any(fnmatchcase(part, glob) for part in _around(scope))


def _around(scope: str) -> Iterator[str]:
    words = scope.split("/")
    yield from ("/".join(words[: n + 1]) for n in range(len(words)))


def _none(glob: str, known: Iterable[str]) -> Problem:
    scopes = list(dict.fromkeys(known))
    near = nearest(glob, scopes)
    hint = f"did you mean {near}?" if near else f"there are: {' '.join(scopes[:8]) or 'none'}"
    return problem("E-USAGE-VALUE", f"no scope matches {glob}", hint=hint, nearest=near)
