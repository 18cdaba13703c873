"""How Python gives Lisp its words: builtin functions, native macros, body macros, core symbols.

The tables here are filled at import by the modules that define words and only read afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..records import NamedTuple
from .values import NIL, READER_SYMBOLS, Function, Symbol, Value, keyword

CORE_SYMBOLS: dict[str, Symbol] = {symbol.name: symbol for symbol in READER_SYMBOLS}
"""Symbols of the standard and of core, by upper-case name; visible in every module."""

CHAPTERS: dict[str, str] = {}
"""Words of chapters of the standard that few files use, with the module that defines them, which
is imported when a text first names one."""

BUILTINS: dict[str, Function] = {}
"""Builtin functions by upper-case name."""

NATIVE_MACROS: dict[str, Callable[[Value, Any], Value]] = {}
"""Expanders written in Python, by upper-case name: (whole form, environment) -> form."""

BODY_MACROS: dict[str, Callable[[Value, Value], Value]] = {}
"""Forms that bind over the rest of their body (`defparam`): (form, list of the forms after it) ->
one form that replaces them all."""

TENSOR_NAMES: set[str] = set()
"""Names that are core's and not the standard's: a file may define them again (W-SHADOW)."""


def core_symbol(name: str) -> Symbol:
    """The shared symbol of an upper-case name; made if it is not there."""
    found = CORE_SYMBOLS.get(name)
    if found is None:
        found = CORE_SYMBOLS[name] = Symbol(name, "")
        found.plist = NIL
    return found


def standard_symbol(name: str) -> Symbol | None:
    """The symbol of an upper-case word of the standard or of core, its chapter loaded."""
    found = CORE_SYMBOLS.get(name)
    if found is None and name in CHAPTERS:
        load_chapter(CHAPTERS[name])
        found = core_symbol(name)
    return found


def load_chapter(module: str) -> None:
    """Import what defines the words of a chapter."""
    import_module(module, __package__)


class Parameters(NamedTuple):
    """A lambda list of a builtin, parsed from its text."""

    required: int
    optional: int
    rest: bool
    keys: tuple[str, ...] | None  # upper-case names, None: no &key
    other_keys: bool


def parse_parameters(text: str) -> Parameters:
    """From `(item list &key key (test #'eql))`: what a call must look like."""
    words = _top_level_words(text)
    mode = "required"
    counts = {"required": 0, "&optional": 0}
    keys: list[str] | None = None
    rest = other = False
    for word in words:
        if word.startswith("&"):
            mode = word
            if word == "&key":
                keys = []
            rest = rest or word == "&rest"
            other = other or word == "&allow-other-keys"
        elif mode in counts:
            counts[mode] += 1
        elif mode == "&key" and keys is not None:
            keys.append(word.lstrip("(").split()[0].rstrip(")").upper())
    found = tuple(keys) if keys is not None else None
    return Parameters(counts["required"], counts["&optional"], rest, found, other)


def _top_level_words(text: str) -> list[str]:
    """Words of a lambda list; `(key default)` is one of them."""
    words: list[str] = []
    depth = 0
    for word in text.strip()[1:-1].split():
        if depth:
            words[-1] += " " + word
        else:
            words.append(word)
        depth += word.count("(") - word.count(")")
    return words


def builtin(name: str, lambda_list: str, *, staged: bool = False) -> Callable[[Any], Any]:
    """Define the builtin NAME (lower case). The docstring of the Python function is its doc.

    Required and &optional parameters are the function's positional ones (give &optional a Python
    default); &rest is `*rest`; &key parameters are keyword-only, dashes as underscores, with
    Python defaults that stand for "not supplied". `staged`: it may build graph nodes.
    """

    def define(implementation: Callable[..., Value]) -> Callable[..., Value]:
        p = parse_parameters(lambda_list)
        said = name.removeprefix("%")  # of a name of the standard that a tensor builtin shares
        call = implementation if p.keys is None else _with_keywords(said, implementation, p)
        most = None if p.rest or p.keys is not None else p.required + p.optional
        doc = (implementation.__doc__ or "").strip()
        upper = name.upper()
        core_symbol(upper)
        BUILTINS[upper] = Function(name, call, lambda_list, p.required, most, doc, staged)
        return implementation

    return define


def _with_keywords(
    name: str, implementation: Callable[..., Value], p: Parameters
) -> Callable[..., Value]:
    positional = p.required + p.optional
    assert p.keys is not None
    known = {keyword(k): k.lower().replace("-", "_") for k in p.keys}

    def call(*arguments: Value) -> Value:
        if p.rest:  # &rest and &key together: keywords begin at the first keyword argument
            split = positional
            while split < len(arguments) and arguments[split] not in known:
                split += 1
        else:
            split = positional
        if len(arguments) <= split:
            return implementation(*arguments)
        return implementation(
            *arguments[:split], **_keywords(name, known, arguments[split:], p.other_keys)
        )

    return call


def _keywords(
    name: str, known: dict[Symbol, str], pairs: tuple[Value, ...], other: bool
) -> dict[str, Value]:
    if len(pairs) % 2:
        from .keyword_mistakes import unpaired

        raise unpaired(name, _shown(known), pairs)
    allowed = [
        v
        for k, v in zip(pairs[::2], pairs[1::2])
        if k.__class__ is Symbol and k.name == "ALLOW-OTHER-KEYS"
    ]
    allow = other or bool(allowed and allowed[0] is not NIL)  # the first one counts
    found: dict[str, Value] = {}
    for key, value in zip(pairs[::2], pairs[1::2]):
        target = known.get(key) if key.__class__ is Symbol else None
        if target is not None:
            found.setdefault(target, value)
        elif not allow and not (key.__class__ is Symbol and key.name == "ALLOW-OTHER-KEYS"):
            from .keyword_mistakes import unknown

            raise unknown(name, key, _shown(known), pairs)
    return found


def _shown(known: dict[Symbol, str]) -> list[str]:
    return [":" + symbol.name.lower() for symbol in known]


def native_macro(name: str) -> Callable[[Any], Any]:
    """Define the macro NAME (lower case) by a Python expander (form, environment) -> form."""

    def define(expander: Callable[[Value, Any], Value]) -> Callable[[Value, Any], Value]:
        core_symbol(name.upper())
        NATIVE_MACROS[name.upper()] = expander
        return expander

    return define


def body_macro(name: str) -> Callable[[Any], Any]:
    """Define NAME (lower case) as a form that binds over the rest of its body."""

    def define(expander: Callable[[Value, Value], Value]) -> Callable[[Value, Value], Value]:
        core_symbol(name.upper())
        BODY_MACROS[name.upper()] = expander
        return expander

    return define
