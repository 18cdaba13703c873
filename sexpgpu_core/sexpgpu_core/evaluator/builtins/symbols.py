"""Symbols: names, property lists, fresh names."""

from __future__ import annotations

from typing import Any

from ..definitions import builtin
from ..faults import wrong_type
from ..standard_variables import VARIABLES
from ..values import NIL, String, Symbol, Value
from .association import getf, putf, removef
from .defining import predicate

predicate("symbolp", "(object)", "Whether it is a symbol.", lambda x: x.__class__ is Symbol)
predicate(
    "keywordp",
    "(object)",
    "Whether it is a keyword.",
    lambda x: x.__class__ is Symbol and x.keyword,
)


def symbol_of(name: str, x: Any) -> Symbol:
    """The value, which must be a symbol."""
    if x.__class__ is not Symbol:
        raise wrong_type(name, x, "a symbol")
    return x  # type: ignore[no-any-return]


@builtin("symbol-name", "(symbol)")
def symbol_name(symbol: Any) -> Value:
    """Its name as a string."""
    return String(symbol_of("symbol-name", symbol).name)


@builtin("make-symbol", "(name)")
def make_symbol(name: Any) -> Value:
    """A fresh symbol that belongs to no module."""
    if not isinstance(name, String):
        raise wrong_type("make-symbol", name, "a string")
    made = Symbol(name.text())
    made.plist = NIL
    return made


@builtin("copy-symbol", "(symbol &optional copy-properties)")
def copy_symbol(symbol: Any, copy_properties: Any = NIL) -> Value:
    """A fresh symbol of the same name, with its value and properties if asked."""
    source = symbol_of("copy-symbol", symbol)
    made = make_symbol(String(source.name))
    if copy_properties is not NIL:
        made.value, made.plist = source.value, source.plist
    return made


@builtin("gensym", "(&optional prefix)")
def gensym(prefix: Any = NIL) -> Value:
    """A fresh symbol that belongs to no module, with a number in its name."""
    text = "G"
    counter = VARIABLES["*GENSYM-COUNTER*"]
    if isinstance(prefix, String):
        text = prefix.text()
    elif prefix.__class__ is int and prefix >= 0:
        return make_symbol(String(f"G{prefix}"))
    elif prefix is not NIL:
        raise wrong_type("gensym", prefix, "a string or a non-negative integer")
    number = counter.value
    if number.__class__ is not int or number < 0:
        raise wrong_type("gensym", number, "a non-negative integer in *gensym-counter*")
    counter.value = number + 1
    return make_symbol(String(f"{text}{number}"))


@builtin("symbol-plist", "(symbol)")
def symbol_plist(symbol: Any) -> Value:
    """Its property list."""
    return _plist(symbol_of("symbol-plist", symbol))


def _plist(symbol: Symbol) -> Value:
    return NIL if symbol.plist is None else symbol.plist


@builtin("(setf symbol-plist)", "(new symbol)")
def set_symbol_plist(new: Any, symbol: Any) -> Value:
    """Set its property list."""
    symbol_of("setf symbol-plist", symbol).plist = new
    return new


@builtin("get", "(symbol indicator &optional default)")
def get(symbol: Any, indicator: Any, default: Any = NIL) -> Value:
    """A property of a symbol."""
    return getf(_plist(symbol_of("get", symbol)), indicator, default)


@builtin("(setf get)", "(new symbol indicator &optional default)")
def set_get(new: Any, symbol: Any, indicator: Any, default: Any = NIL) -> Value:
    """Set a property of a symbol."""
    found = symbol_of("setf get", symbol)
    found.plist = putf(_plist(found), indicator, new)
    return new


@builtin("remprop", "(symbol indicator)")
def remprop(symbol: Any, indicator: Any) -> Value:
    """Take a property away; whether it was there."""
    found = symbol_of("remprop", symbol)
    found.plist, had = removef(_plist(found), indicator)
    return had
