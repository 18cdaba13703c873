"""Names at run time: interning and finding symbols, declaring them special."""

from __future__ import annotations

from typing import Any

from ...diagnostics import problem
from ..definitions import builtin, standard_symbol
from ..faults import wrong_type
from ..machine import current
from ..modules import STANDARD_PREFIXES
from ..values import (
    KEYWORDS,
    NIL,
    MultipleValues,
    String,
    Symbol,
    Value,
    keyword,
)
from .characters import text_of
from .listing import proper
from .symbols import symbol_of

_TEMPORARY = iter(range(1, 1 << 62))


def _changeable(name: str, symbol: Any) -> Symbol:
    found = symbol_of(name, symbol)
    if found.constant:
        raise problem("E-REDEFINE", f"{name}: {found!r} is a constant")
    return found


def _string(name: str, x: Any) -> str:
    if not isinstance(x, String):
        raise wrong_type(name, x, "a string")
    return x.text()


def _status(name: str, module: Any) -> Value:
    """How a name is known: :internal, :inherited (the standard's), or nil."""
    if name in module.symbols:
        return keyword("INTERNAL")
    return keyword("INHERITED") if standard_symbol(name) is not None else NIL


def package_name_of(name: str, package: Any) -> str:
    """What a package designator means: "KEYWORD", "COMMON-LISP" or, of this module, "" ."""
    if package is None or package is NIL:
        return ""
    text = text_of(name, package)
    if text.upper() == "KEYWORD":
        return "KEYWORD"
    if text.upper() in STANDARD_PREFIXES:
        return "COMMON-LISP"
    if current().module.is_named(text.upper()):
        return ""
    raise problem(
        "E-TYPE",
        f"{name}: no package is named {text.lower()}",
        hint="there are common-lisp, keyword, and common-lisp-user, which is the file's own module",
        kind="package-error",
    )


@builtin("find-package", "(name)")
def find_package(name: Any) -> Value:
    """What stands for one: :common-lisp, :keyword, :common-lisp-user (this module); or nil."""
    text = text_of("find-package", name).upper()
    if text == "KEYWORD" or text in STANDARD_PREFIXES:
        return keyword("KEYWORD" if text == "KEYWORD" else "COMMON-LISP")
    return keyword("COMMON-LISP-USER") if current().module.is_named(text) else NIL


@builtin("package-name", "(package)")
def package_name(package: Any) -> Value:
    """The name of a package."""
    return String(package_name_of("package-name", package) or "COMMON-LISP-USER")


@builtin("intern", "(name &optional package)")
def intern(name: Any, package: Any = None) -> Value:
    """The symbol of a name in this module (a keyword with :keyword), and how it was known."""
    text = _string("intern", name)
    if package_name_of("intern", package) == "KEYWORD":
        status = keyword("EXTERNAL") if text in KEYWORDS else NIL
        return MultipleValues((keyword(text), status))
    here = current().module
    status = _status(text, here)
    return MultipleValues((here.intern(text), status))


@builtin("find-symbol", "(name &optional package)")
def find_symbol(name: Any, package: Any = None) -> Value:
    """The symbol of a name if this module has it, and how it is known."""
    text = _string("find-symbol", name)
    where = package_name_of("find-symbol", package)
    if where == "":
        here = current().module
        status = _status(text, here)
        return MultipleValues((NIL if status is NIL else here.intern(text), status))
    found = KEYWORDS.get(text) if where == "KEYWORD" else standard_symbol(text)
    return MultipleValues((NIL, NIL) if found is None else (found, keyword("EXTERNAL")))


@builtin("proclaim", "(declaration)")
def proclaim(declaration: Any) -> Value:
    """Make variables special; other declarations say nothing here."""
    items = proper("proclaim", declaration)
    if items and getattr(items[0], "name", "") == "SPECIAL":
        for name in items[1:]:
            _changeable("proclaim", name).special = True
    return NIL


@builtin("symbol-package", "(symbol)")
def symbol_package(symbol: Any) -> Value:
    """What stands for the package of a symbol, as find-package says; the name of another module as
    a string; nil if it has none."""
    found = symbol_of("symbol-package", symbol)
    if found.home is None:
        return NIL
    if found.keyword or found.home == "":
        return keyword("KEYWORD" if found.keyword else "COMMON-LISP")
    here = current().module
    return keyword("COMMON-LISP-USER") if found.home == here.home else String(found.home)


@builtin("gentemp", "(&optional prefix)")
def gentemp(prefix: Any = None) -> Value:
    """A fresh symbol of this module."""
    stem = "T" if prefix is None else _string("gentemp", prefix)
    here = current().module
    for number in _TEMPORARY:
        name = f"{stem}{number}"
        if _status(name, here) is NIL:
            return here.intern(name)
    return NIL
