"""`NAME[:K=V,...]` to a sink that can be opened, or an executor: options held against its row."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from .diagnostics import Problem, nearest, problem
from .registry import Registry

if TYPE_CHECKING:
    from .experiment.protocols import Sink

READ: dict[str, Callable[[str], Any]] = {"integer": int, "real": float, "boolean": "t".__eq__}
"""How an option of a Lisp type is read; of any other it is its text."""
NOWHERE = ("", "-")
"""What an option of a sink cannot be: no sink writes to standard output."""


def sinks_of(registry: Registry, texts: Iterable[str]) -> dict[str, Callable[[], Sink]]:
    """By the text that named them. Raises E-USAGE-VALUE, E-DEVICE-ABSENT where one needs more."""
    found = {text: _chosen(registry, "sinks", text) for text in texts}
    return {text: partial(make, options) for text, (make, options) in found.items()}


def executor_of(
    registry: Registry, text: str, configured: Mapping[str, Any]
) -> tuple[Callable[[Mapping[str, Any]], Any], dict[str, Any]]:
    """What makes a sweeps.executor.Executor, and its options: those of the text stand over
    [sweep] executors of sexpgpu.toml. Raises E-USAGE-VALUE, E-USAGE-CONFIG."""
    name = text.partition(":")[0]
    row = registry.find("executors", name)
    told = _told(name, configured.get(name, {}), [option.name for option in row.options])
    return _chosen(registry, "executors", text, told)


def _chosen(
    registry: Registry, hook: str, text: str, told: Mapping[str, str] = {}
) -> tuple[Callable[[Mapping[str, Any]], Any], dict[str, Any]]:
    """What makes it, and its options. `told`: those that stand elsewhere."""
    name, _, rest = text.partition(":")
    row = registry.find(hook, name)
    known = {option.name: option for option in row.options}
    texts = dict(told)
    for part in filter(None, rest.split(",")):
        key, sign, value = part.partition("=")
        if key not in known:
            raise _unknown(text, key, list(known))
        if not sign or (hook == "sinks" and value.strip() in NOWHERE):
            raise _nowhere(text, key, value)
        texts[key] = value
    given = {key: _read(text, known[key], value) for key, value in texts.items()}
    for option in known.values():
        if option.name not in given:
            if option.default is None:
                hint = f"{name}:{option.name}=..."
                raise problem("E-USAGE-VALUE", f"{hook[:-1]} {name} wants {option.name}", hint=hint)
            given[option.name] = _read(text, option, option.default.strip('"'))
    return registry.load(hook, name), given


def _told(name: str, table: Any, known: list[str]) -> dict[str, str]:
    """Options of a table of sexpgpu.toml as they are written after the name; a list is words."""
    where = f"[sweep.executors.{name}]"
    if not isinstance(table, Mapping):
        raise problem("E-USAGE-CONFIG", f"{where} must be a table", hint=f"{where} cpus = 4")
    for key in table:
        if key not in known:
            near = nearest(key, known)
            hint = f"did you mean {near}?" if near else f"known: {' '.join(known) or 'none'}"
            raise problem("E-USAGE-CONFIG", f"{where}: {name} has no option {key}", hint=hint)
    return {key: _text(value) for key, value in table.items()}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "t" if value else "nil"
    return shlex.join(map(str, value)) if isinstance(value, list) else str(value)


def _read(text: str, option: Any, value: str) -> Any:
    kind = option.type.strip("(").split()[0].rstrip(")")
    try:
        return READ.get(kind, str)(value)
    except ValueError:
        told = f"{text}: {option.name} is {option.type}, not {value}"
        raise problem("E-USAGE-VALUE", told) from None


def _nowhere(text: str, key: str, value: str) -> Problem:
    told = f"{key} is {value.strip()}" if value.strip() else f"{key} is empty"
    hint = f"{text.partition(':')[0]}:{key}=..."
    return problem("E-USAGE-VALUE", f"{text}: {told}", hint=hint, given=key)


def _unknown(text: str, key: str, known: list[str]) -> Problem:
    near = nearest(key, known)
    hint = f"did you mean {near}?" if near else f"NAME:KEY=VALUE,...; known: {' '.join(known)}"
    return problem("E-USAGE-VALUE", f"{text}: no option {key}", hint=hint, given=key, nearest=near)
