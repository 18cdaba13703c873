"""A source's options as the row of its kind has them: held against their types, with defaults.

Law: what `complete` returns is of the row's types; what is not is told, before a reader sees it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from ..diagnostics import nearest, problem
from ..evaluator.type_specifiers import typep
from ..evaluator.values import Value
from .context import lisp_value
from .faults import describe
from .lisp_text import read_datum
from .syntax import python_value, unknown_option

KEYS = "keys"
"""The type of a list of names with weights, which no Lisp specifier says: see forms.sources."""

TOKENIZER = "tokenizer"
"""The type of a tokenizer's name, or of a list of it and its files."""


def complete(
    row: Any,
    arguments: tuple[Any, ...],
    given: Mapping[str, Any],
    base: str,
    host: Any = None,
    tokenizers: Mapping[str, Any] = {},
) -> dict[str, Any]:
    """A source's options: what was given, defaults for the rest, `arguments`, `base` and `host`;
    of a kind that has a tokenizer, `tokenizers`, the rows of all by name.

    Raises E-OPTION for a keyword that the kind does not take or that it misses, and for
    arguments that it does not take or that it misses; E-OPTION-VALUE for a value of another type.
    """
    known = {option.name: option for option in row.options}
    options: dict[str, Any] = {"arguments": arguments, "base": base}
    if host is not None and "*" not in known:
        options["host"] = host
    if any(option.type == TOKENIZER for option in row.options):
        options["tokenizers"] = tokenizers
    _count(row, arguments)
    for option in row.options:
        if option.name != "*" and option.default is not None:
            options[option.name] = python_value(_datum(option.default))
    for written, value in given.items():
        name = written.lstrip(":").lower()
        option = known.get(name) or known.get("*")
        if option is None:
            raise unknown_option(f"({row.kind} ...)", f":{name}", [f":{k}" for k in known], None)
        _check(row.kind, name, option, value)
        if option.type == TOKENIZER:
            tokenizer_of(value, tokenizers)
        options[name] = value
    _check_arguments(row, arguments)
    missing = [n for n, o in known.items() if n != "*" and o.default is None and n not in options]
    if missing:
        name, told = missing[0], f"({row.kind} ...) needs :{missing[0]}"
        hint = f":{name} {known[name].type}: {known[name].doc}"
        raise problem("E-OPTION", told, hint=hint, kind=row.kind)
    return options


def _count(row: Any, arguments: tuple[Any, ...]) -> None:
    most = row.most
    if most is not None and len(arguments) > most:
        takes = f"at most {most}" if most else "none"
        told = f"({row.kind} ...) has {len(arguments)} arguments before its options, "
        named = " ".join(f":{o.name}" for o in row.options if o.name != "*")
        hint = f"options: {named}" if named else f"leave out {shown(arguments[most])}"
        raise problem("E-OPTION", f"{told}and takes {takes}", hint=hint, kind=row.kind)


def _check_arguments(row: Any, arguments: tuple[Any, ...]) -> None:
    """They are of the row's type, and as many as it needs."""
    wanted = _WANTED.get(row.argument, row.argument)
    if len(arguments) < row.least:
        raise problem("E-OPTION", f"({row.kind} ...) needs {wanted}", kind=row.kind)
    for argument in arguments:
        if not _is_of(argument, row.argument):
            told = f"{shown(argument)} is no argument of {row.kind}, which takes {wanted}"
            raise problem("E-OPTION-VALUE", told, kind=row.kind)


_WANTED = {
    "(or string list)": "a path, a glob or a list of them",
    "string": "a path",
    "function": "a function of an example's number",
}


def _check(kind: str, name: str, option: Any, value: Any) -> None:
    optional = value is None and (option.default or "").lower() == "nil"
    if optional or _is_of(value, option.type):
        return
    wanted = _FORMS.get(option.type, option.type)
    told = f":{name} of {kind} is {shown(value)}, wants {wanted}"
    hint = f"give {wanted}" + (f": {option.doc}" if option.doc else "")
    raise problem("E-OPTION-VALUE", told, hint=hint, option=name)


_FORMS = {
    KEYS: "a list of names, each with its weight",
    TOKENIZER: 'a name as :bytes, or a list of one and its files, (:hf "tokenizer.json")',
}


def tokenizer_of(written: Any, table: Mapping[str, Any]) -> tuple[Any, tuple[str, ...]]:
    """The row of a tokenizer and its files as they are written; bytes where nothing is. Raises
    E-OPTION-VALUE for a name that nobody has, and for files that are too many or too few."""
    head, *files = written if isinstance(written, (tuple, list)) else (written,)
    name = "bytes" if head is None or head is True else str(head).lstrip(":")
    row = table.get(name)
    if row is None:
        near, known = nearest(name, table), " ".join(f":{n}" for n in sorted(table))
        hint = (f"did you mean :{near}? " if near else "") + f"installed: {known}"
        told = f"no tokenizer is named :{name}"
        raise problem("E-OPTION-VALUE", told, hint=hint, given=name, nearest=near)
    if len(files) != row.files:
        own = " ".join(['"FILE"'] * row.files)
        told = f"tokenizer :{name} has {len(files)} files, and takes {row.files}"
        hint = f":tokenizer (:{name} {own})" if own else f":tokenizer :{name}"
        raise problem("E-OPTION-VALUE", told, hint=hint)
    return row, tuple(files)


def _is_of(value: Any, type: str) -> bool:
    if type == KEYS:
        return isinstance(value, (tuple, list)) and all(map(_is_key, value))
    if type == TOKENIZER:
        head, *files = value if isinstance(value, tuple) and value else (value,)
        named = head is True or (isinstance(head, str) and head.startswith(":"))
        return named and all(isinstance(file, str) for file in files)
    return typep(lisp_value(value), _datum(type))


def _is_key(item: Any) -> bool:
    """(name, weight)"""
    is_pair = isinstance(item, (tuple, list)) and len(item) == 2
    return is_pair and isinstance(item[0], str) and isinstance(item[1], (int, float))


def shown(value: Any) -> str:
    """A value that a declaration keeps, as Lisp writes it."""
    return describe(lisp_value(value))


@cache
def _datum(text: str) -> Value:
    """The Lisp datum of a row's text: a type or a default."""
    return read_datum(text, "a row of a source")
