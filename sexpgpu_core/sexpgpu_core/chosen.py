"""`NAME[:K=V,...]` to a sink that can be opened: its options held against its row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from .diagnostics import Problem, nearest, problem
from .experiment.protocols import Sink
from .registry import Registry

READ: dict[str, Callable[[str], Any]] = {"integer": int, "real": float, "boolean": "t".__eq__}
"""How an option of a Lisp type is read; of any other it is its text."""


def sinks_of(registry: Registry, texts: Iterable[str]) -> dict[str, Callable[[], Sink]]:
    """By the text that named them. Raises E-USAGE-VALUE, E-DEVICE-ABSENT where one needs more."""
    return {text: _sink(registry, text) for text in texts}


def _sink(registry: Registry, text: str) -> Callable[[], Sink]:
    name, _, rest = text.partition(":")
    row = registry.find("sinks", name)
    known = {option.name: option for option in row.options}
    given: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, sign, value = part.partition("=")
        if not sign or key not in known:
            raise _unknown(text, key, list(known))
        given[key] = _read(text, known[key], value)
    for option in known.values():
        if option.name not in given:
            if option.default is None:
                hint = f"{name}:{option.name}=..."
                raise problem("E-USAGE-VALUE", f"sink {name} wants {option.name}", hint=hint)
            given[option.name] = _read(text, option, option.default.strip('"'))
    return partial(registry.load("sinks", name), given)


def _read(text: str, option: Any, value: str) -> Any:
    kind = option.type.strip("(").split()[0].rstrip(")")
    try:
        return READ.get(kind, str)(value)
    except ValueError:
        told = f"{text}: {option.name} is {option.type}, not {value}"
        raise problem("E-USAGE-VALUE", told) from None


def _unknown(text: str, key: str, known: list[str]) -> Problem:
    near = nearest(key, known)
    hint = f"did you mean {near}?" if near else f"NAME:KEY=VALUE,...; known: {' '.join(known)}"
    return problem("E-USAGE-VALUE", f"{text}: no option {key}", hint=hint, given=key, nearest=near)
