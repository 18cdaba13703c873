"""Scopes of parameters: paths, numbers of unnamed calls, sites of random numbers (R13, R21, 45.14).

At the root all calls under one name open the same scope; inside a model unnamed calls are
numbered and a name is used once.
"""

from __future__ import annotations

from ..diagnostics import problem
from ..evaluator.values import Character, String, Symbol, Value


class Scope:
    """One opening of a scope. `path` names parameters, `site` random numbers."""

    __slots__ = ("counts", "drawn", "made", "names", "path", "root", "site")

    def __init__(self, path: str = "", site: str = "", root: bool = False) -> None:
        self.path = path
        self.site = site
        self.root = root
        self.counts: dict[str, int] = {}  # unnamed calls so far
        self.names: set[str] = set()  # names taken
        self.made: set[str] = set()  # parameters and states of this opening
        self.drawn: dict[str, int] = {}  # random operations so far

    def child_name(self, name: str | None, default: str) -> str:
        """The name of a call's scope below this one."""
        if self.root:
            return name or default
        if name is None:
            count = self.counts[default] = self.counts.get(default, 0) + 1
            name = default if count == 1 else f"{default}-{count}"
        if name in self.names:
            raise problem(
                "E-PARAM-DUPLICATE",
                f"two calls in {self.path or 'the root'} have the name {name}",
                hint="give each a :name of its own, or share by (instance model :name ...)",
                path=join(self.path, name),
            )
        self.names.add(name)
        return name

    def next_site(self, operation: str, name: str | None) -> str:
        """The site of a random operation here; `name` fixes it."""
        if name is not None:
            return join(self.site, name)
        count = self.drawn[operation] = self.drawn.get(operation, 0) + 1
        return join(self.site, f"{operation}#{count}")


def join(*parts: str) -> str:
    return "/".join(p for p in parts if p)


def path_text(parts: tuple[Value, ...]) -> str:
    """Parts to a path: strings, symbols (lower case), integers; E-PARAM-PATH."""
    if not parts:
        raise problem("E-PARAM-PATH", "a path has at least one part")
    return "/".join(_part(p) for p in parts)


def _part(value: Value) -> str:
    if isinstance(value, String):
        text = value.text()
    elif value.__class__ is Symbol and value.name != "NIL":
        text = value.name.lower()
    elif value.__class__ is int:
        text = str(value)
    elif value.__class__ is Character:
        text = value.char
    else:
        raise problem("E-PARAM-PATH", "a part of a path is a string, a symbol or an integer")
    if not text or any(piece in ("", "..") for piece in text.split("/")):
        raise problem("E-PARAM-PATH", f"a part of a path is empty or ..: {text!r}", part=text)
    return text
