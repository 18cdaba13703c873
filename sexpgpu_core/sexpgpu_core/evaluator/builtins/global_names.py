"""Names at run time: interning and finding symbols, declaring them special."""

from __future__ import annotations

from typing import Any

from ...diagnostics import problem
from ..definitions import CORE_SYMBOLS, builtin
from ..faults import wrong_type
from ..machine import current
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
    return keyword("INHERITED") if name in CORE_SYMBOLS else NIL


def _is_keyword_package(package: Any) -> bool:
    return package is not None and text_of("intern", package).upper() == "KEYWORD"


@builtin("intern", "(name &optional module)")
def intern(name: Any, module: Any = None) -> Value:
    """The symbol of a name in this module (a keyword with :keyword), and how it was known."""
    text = _string("intern", name)
    if _is_keyword_package(module):
        status = keyword("EXTERNAL") if text in KEYWORDS else NIL
        return MultipleValues((keyword(text), status))
    here = current().module
    status = _status(text, here)
    return MultipleValues((here.intern(text), status))


@builtin("find-symbol", "(name &optional module)")
def find_symbol(name: Any, module: Any = None) -> Value:
    """The symbol of a name if this module has it, and how it is known."""
    text = _string("find-symbol", name)
    if _is_keyword_package(module):
        found = KEYWORDS.get(text)
        return MultipleValues((NIL, NIL) if found is None else (found, keyword("EXTERNAL")))
    if module is not None and text_of("find-symbol", module).upper() in ("CL", "COMMON-LISP"):
        found = CORE_SYMBOLS.get(text)
        return MultipleValues((NIL, NIL) if found is None else (found, keyword("EXTERNAL")))
    here = current().module
    status = _status(text, here)
    return MultipleValues((NIL if status is NIL else here.intern(text), status))


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
    """The name of the module that owns a symbol: :common-lisp, :keyword, a string; nil if none."""
    found = symbol_of("symbol-package", symbol)
    if found.home is None:
        return NIL
    if found.keyword or found.home == "":
        return keyword("KEYWORD" if found.keyword else "COMMON-LISP")
    return String(found.home)


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
