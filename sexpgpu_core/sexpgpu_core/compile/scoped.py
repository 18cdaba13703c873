"""The pieces of a graph's or a plan's text that are of a scope: `ir --scope GLOB`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from ..diagnostics import Problem, nearest, problem
from ..ir.text import Piece


def whole(pieces: Iterable[Piece]) -> str:
    return "\n".join(text for _, text in pieces) + "\n"


def of_scope(pieces: Iterable[Piece], glob: str) -> str:
    """The pieces of a scope that the glob matches or that lies below one. Raises E-USAGE-VALUE
    where there is none."""
    known: dict[str, bool] = {}
    kept = []
    for origins, text in pieces:
        around = [scope for origin in origins for scope in _around(origin.scope)]
        known.update({scope: fnmatchcase(scope, glob) for scope in around if scope not in known})
        if any(known[scope] for scope in around):
            kept.append(text)
    if not kept:
        raise _none(glob, list(known))
    return "\n".join(kept) + "\n"


def _around(scope: str) -> Iterator[str]:
    """A scope and those that it lies in."""
    words = scope.split("/") if scope else []
    yield from ("/".join(words[: n + 1]) for n in range(len(words)))


def _none(glob: str, known: list[str]) -> Problem:
    near = nearest(glob, known)
    hint = f"did you mean {near}?" if near else f"there are: {' '.join(known[:8]) or 'none'}"
    return problem("E-USAGE-VALUE", f"no scope matches {glob}", hint=hint, nearest=near)
