"""require and provide: which text a name means, loaded once, its names under a prefix or bare."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable
from typing import Any

from ..diagnostics import nearest, problem
from ..spans import Source
from .analyzer import Analyzer
from .declarations import items_of
from .mistakes import shape
from .modules import Module, ModuleText, Requirement, no_export
from .nodes import Node
from .prescan import is_run_file
from .printer import brief
from .scope import Scope, Tail
from .special_forms import special_form
from .values import NIL, Cons, String, Symbol, Value

REQUIRE = '(require "name" [:as prefix] [:import (name ...) | :all])'


def parse_require(form: Cons) -> Requirement:
    """The parts of a require form."""
    items = items_of(form.cdr, form)
    if not items or not isinstance(items[0], String) or len(items) % 2 == 0:
        raise shape("require", REQUIRE)
    name = items[0].text()
    prefix = name.rsplit("/", 1)[-1].removesuffix(".lisp")
    imports: Any = None
    for key, value in zip(items[1::2], items[2::2]):
        kind = brief(key)
        if kind == ":as" and isinstance(value, Symbol):
            prefix = value.name
        elif kind == ":import" and brief(value) == ":all":
            imports = "all"
        elif kind == ":import":
            imports = [n.name for n in items_of(value, form) if isinstance(n, Symbol)]
        else:
            near = nearest(kind, (":as", ":import"))
            hint = f"did you mean {near}?" if near else f"write it as {REQUIRE}"
            raise problem("E-FORM-SHAPE", f"require takes no {kind}", hint=hint)
    return Requirement(name, prefix.upper(), imports, form.span)


class Library:
    """Finds and loads modules; one of an evaluator."""

    def __init__(
        self,
        modules: Any,
        read_file: Callable[[str], str] | None,
        load: Callable[[Source, Module, bool], None],
    ) -> None:
        self.modules = modules
        self.read_file = read_file
        self.load = load
        self.loaded: dict[str, Module] = {}
        self.loading: list[str] = []
        self.sources: list[Source] = []  # every text that was required, in order

    def require(self, form: Cons, into: Module) -> None:
        """Do what a require form says for the module it stands in."""
        wanted = parse_require(form)
        module = self._module(wanted.name, into)
        into.needs.append(wanted)
        other = into.prefixes.get(wanted.prefix)
        if other is not None and other is not module:
            raise problem(
                "E-IMPORT-CLASH",
                f"two modules have the prefix {wanted.prefix.lower()}",
                hint="give one of them another with :as",
            )
        into.prefixes[wanted.prefix] = module
        names = list(module.exports) if wanted.imports == "all" else wanted.imports or []
        for name in names:
            self._import(name, module, into)

    def is_installed(self, source: Source) -> bool:
        """Whether a text is a module of an installed distribution, not a file of the user's."""
        return any(m.path == source.name and m.path != key for key, m in self.loaded.items())

    def _import(self, name: str, module: Module, into: Module) -> None:
        symbol = module.exports.get(name)
        if symbol is None:
            raise no_export(module, name)
        there = into.symbols.get(name)
        if name in into.defined or (
            there is not None and there is not symbol and there.home != into.home
        ):
            other = f"the module {there.home}" if there is not None else ""
            whose = "this file" if name in into.defined else other
            raise problem(
                "E-IMPORT-CLASH",
                f"{name.lower()} of {module.name} is also a name of {whose}",
                hint="leave it out of :import and write it with its prefix",
                name=name.lower(),
            )
        into.symbols[name] = symbol
        if name in into.exports:
            into.exports[name] = symbol

    def _module(self, name: str, into: Module) -> Module:
        relative = name.startswith((".", "/"))
        key = self._path(name, into) if relative else name
        found = self.loaded.get(key)
        if found is not None:
            return found
        if key in self.loading:
            cycle = [*self.loading[self.loading.index(key) :], key]
            raise problem("E-REQUIRE-CYCLE", "modules require each other: " + " -> ".join(cycle),
                          cycle=cycle)  # fmt: skip
        text = self._file(name, key) if relative else self._installed(name)
        if is_run_file(text.text):
            raise problem("E-REQUIRE-RUN", f"{name} holds a defrun, so it is no module")
        source = Source(text.path, text.text)
        self.sources.append(source)
        module = Module(key.removesuffix(".lisp") if relative else name, text.path)
        self.loading.append(key)
        try:
            self.load(source, module, text.tried)
        finally:
            self.loading.pop()
        self.loaded[key] = module
        return module

    def _path(self, name: str, into: Module) -> str:
        return posixpath.normpath(posixpath.join(posixpath.dirname(into.path), name))

    def _file(self, name: str, path: str) -> ModuleText:
        if self.read_file is None:
            raise problem("E-REQUIRE-MISSING", f"{name} cannot be read here")
        try:
            return ModuleText(path, self.read_file(path))
        except OSError as error:
            why = error.strerror or str(error)
            raise problem("E-REQUIRE-MISSING", f"the file {path} cannot be read: {why}") from None
        except UnicodeDecodeError:
            raise problem("E-READ-ENCODING", f"{path} holds bytes that are not UTF-8") from None

    def _installed(self, name: str) -> ModuleText:
        if callable(self.modules):
            found = self.modules(name)
            known: Iterable[str] = getattr(self.modules, "names", tuple)()
        else:
            known = self.modules or ()
            found = self.modules.get(name) if self.modules else None
        if found is None:
            near = nearest(name, known)
            raise problem(
                "E-REQUIRE-MISSING",
                f"no installed distribution offers the module {name}",
                hint=f"did you mean {near}?" if near else None,
                name=name,
                written=name,
                nearest=near,
            )
        return ModuleText(*found)


def provide(form: Cons, module: Module) -> None:
    """Do what a provide form says: its names, own or imported, are exported."""
    told: set[str] = set()
    for name in items_of(form.cdr, form):
        if not isinstance(name, Symbol) or name is NIL or name.keyword:
            raise shape("provide", "(provide name ...)", f"{brief(name)} is no name")
        if name.name in told:
            raise shape("provide", "(provide name ...)", f"{brief(name)} stands twice")
        told.add(name.name)
        module.exports[name.name] = module.offered(name.name)


def head_name(form: Value) -> str:
    """Lower-case name of the symbol at the head of a form; "" if there is none."""
    if form.__class__ is Cons and form.car.__class__ is Symbol:
        return str(form.car.name.lower())
    return ""


def _nested(an: Analyzer, form: Cons, scope: Scope, tail: Tail | None) -> Node:
    name = head_name(form)
    raise problem("E-FORM-SHAPE", f"{name} stands only at the top level of a file")


special_form("require", REQUIRE)(_nested)
special_form("provide", "(provide name ...)")(_nested)
