"""Modules: who owns which symbols, what is exported, and under which prefix others name it."""

from __future__ import annotations

from typing import Any

from ..diagnostics import nearest, problem
from ..records import NamedTuple
from ..spans import Span
from .definitions import standard_symbol
from .values import NIL, Symbol

STANDARD_PREFIXES = ("CL", "COMMON-LISP")
USER_NAMES = ("CL-USER", "COMMON-LISP-USER")


class ModuleText(NamedTuple):
    """A module that can be required: the path that diagnostics show, and its text.

    `tried`: its distribution's tests load all of it, so a definition may wait until it is used.
    """

    path: str
    text: str
    tried: bool = False


class Requirement(NamedTuple):
    """A require form. `imports`: None, "all" or the names, upper case."""

    name: str
    prefix: str
    imports: Any
    span: Span | None


class Module:
    """A scope of names. `symbols`: its own and those imported bare."""

    __slots__ = (
        "defined",
        "exports",
        "home",
        "name",
        "needs",
        "path",
        "prefixes",
        "symbols",
        "used",
    )

    def __init__(self, name: str, path: str = "-") -> None:
        self.name = name
        self.home = name
        self.path = path
        self.symbols: dict[str, Symbol] = {}
        self.exports: dict[str, Symbol] = {}
        self.prefixes: dict[str, Module] = {}
        self.defined: set[str] = set()  # names that its text defines at top level
        self.needs: list[Requirement] = []  # its require forms
        self.used: set[str] = set()  # prefixes that were written

    def intern(self, name: str) -> Symbol:
        """The symbol of an upper-case name: what this module made or imported, core's, or a new
        one.
        """
        found = self.symbols.get(name)
        if found is None:
            found = standard_symbol(name)
            if found is None:
                found = self.own(name)
        return found

    def own(self, name: str) -> Symbol:
        """A symbol of this module, even where core has one of that name."""
        found = self.symbols.get(name)
        if found is None or found.home != self.home:
            found = self.symbols[name] = Symbol(name, self.home)
            found.plist = NIL
        return found

    def offered(self, name: str) -> Symbol:
        """What a name that the module provides means: what it imported, or its own."""
        found = self.symbols.get(name)
        return found if found is not None and name not in self.defined else self.own(name)

    def qualified(self, prefix: str, name: str, private: bool) -> Symbol:
        """`prefix:name`: an exported name of a required module."""
        self.used.add(prefix)
        module = self.prefixes.get(prefix)
        if module is None and self.is_named(prefix):
            return self.intern(name)
        standard = standard_symbol(name) if prefix in STANDARD_PREFIXES else None
        if module is None and standard is not None:
            return standard
        if module is None:
            raise self._no_prefix(prefix, name)
        found = module.exports.get(name)
        if private:
            raise problem(
                "E-IMPORT-NAME",
                f"{prefix.lower()}::{name.lower()} asks for what a module keeps private",
                hint=f"write {prefix.lower()}:{name.lower()} for an exported name",
            )
        if found is None:
            raise no_export(module, name, prefix)
        return found

    def is_named(self, name: str) -> bool:
        """Whether an upper-case name of a package means this module: its own, or the user's."""
        return name in USER_NAMES or name == self.name.upper()

    def _no_prefix(self, prefix: str, name: str) -> Exception:
        from .foreign import word_here

        asked = f"{prefix.lower()}:{name.lower()}"
        close = nearest(prefix, self.prefixes)
        near = f"{close.lower()}:{name.lower()}" if close else word_here(name.lower())
        if close:
            hint = f"did you mean {near}?"
        elif near and near != asked:
            hint = f"here it is {near}, without that prefix"
        else:
            near, hint = None, '(require "...") at the head of the file brings one, (require '
            hint += f'"..." :as {prefix.lower()}) under this prefix'
        return problem(
            "E-READ-MODULE",
            f"no module was required under the prefix {prefix.lower()}",
            hint=hint,
            prefix=prefix.lower(),
            written=asked,
            nearest=near,
        )


def no_export(module: Module, name: str, prefix: str = "") -> Exception:
    """E-IMPORT-NAME with the nearest export, or the word of the language that is meant."""
    from .foreign import word_here
    from .habits import habit_of

    shown = name.lower()
    written, near = shown, word_here(shown)
    if near is not None and ":" not in near:
        hint = f"here it is {near}, without that prefix"
        written = f"{prefix.lower()}:{shown}" if prefix else shown
    else:
        found = (near or "").partition(":")[2].upper()
        found = found if found in module.exports else nearest(name, module.exports) or ""
        near, habit = found.lower() or None, habit_of(name)
        hint = f"write {habit}" if habit else "it exports " + _some_of(module)
        hint = f"did you mean {near}?" if near else hint
    return problem(
        "E-IMPORT-NAME",
        f"the module {module.name} exports no {shown}",
        hint=hint,
        module=module.name,
        name=shown,
        written=written,
        nearest=near,
    )


def _some_of(module: Module) -> str:
    names = sorted(name.lower() for name in module.exports)
    more = f" and {len(names) - 12} more, in `sexpgpu docs {module.name.rpartition('/')[2]}`"
    return " ".join(names[:12]) + (more if len(names) > 12 else "")
