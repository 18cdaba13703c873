"""`sexpgpu.toml` and SEXPGPU_* to settings. A flag wins over the environment, that over the file.

Nothing here imports tomllib unless there is a file.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .caches import cache_folder
from .diagnostics import Change, Edit, Problem, nearest, problem
from .records import NamedTuple
from .spans import Source, Span

FILE = "sexpgpu.toml"

KEYS: dict[str, dict[str, type]] = {
    "paths": {"runs": str, "cache": str},
    "check": {"allow": list, "deny": list},
    "plugins": {"prefer": dict, "disable": list},
    "run": {"device": str, "threads": int, "sinks": list},
    "sweep": {"executors": dict},
    "data": {"prefetch": int, "threads": int, "cache_gb": int},
    "limits": dict.fromkeys(("steps", "depth", "cells", "bits", "nodes"), int),
}
"""Every key of sexpgpu.toml: table, key, type."""

VARIABLES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("SEXPGPU_RUNS", "SEXPGPU_CACHE", "SEXPGPU_CONFIG", "SEXPGPU_DEVICE"), ()),
    **dict.fromkeys(("SEXPGPU_THREADS", "SEXPGPU_PLUGINS"), ()),
    "SEXPGPU_DEBUG": ("0", "1"),
    "SEXPGPU_CHECK": ("0", "1"),
    "SEXPGPU_BLAS": ("emitted", "library"),
    "SEXPGPU_WIDTH": ("4", "8", "16"),
    "SEXPGPU_PTXAS": (),
    "SEXPGPU_CUBINS": (),
    "SEXPGPU_LIBRARIES": (),
}
"""Environment variables that are read, by whom they are read: us, then devices. What each may
be, where that is few words; empty is as if it were not there."""


class Settings(NamedTuple):
    """What sexpgpu.toml and the environment say. `root` is the folder of sexpgpu.toml, else the
    working directory. `plugins` None: all third parties; else the only ones."""

    root: Path
    runs: Path
    cache: Path
    file: Path | None = None
    device: str | None = None
    threads: int | None = None
    sinks: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    prefer: Mapping[str, str] = {}
    disable: frozenset[str] = frozenset()
    plugins: frozenset[str] | None = None
    limits: Mapping[str, int] = {}
    data: Mapping[str, int] = {}
    executors: Mapping[str, Any] = {}


def settings(
    folder: Path | None = None,
    *,
    config: str | None = None,
    runs: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Settings for a working directory. Problem E-USAGE-CONFIG for a key that is not known."""
    folder = Path.cwd() if folder is None else folder
    environment = os.environ if environment is None else environment
    check_variables(environment)
    file = find_file(folder, config or environment.get("SEXPGPU_CONFIG") or None)
    table = read(file) if file is not None else {}
    root = file.parent if file is not None else folder
    paths, plugins, run = (table.get(t, {}) for t in ("paths", "plugins", "run"))
    check = table.get("check", {})
    chosen = environment.get("SEXPGPU_PLUGINS") or None
    return Settings(
        root=root,
        runs=_runs(folder, root, runs, environment.get("SEXPGPU_RUNS"), paths.get("runs")),
        cache=cache_folder(environment, root / paths["cache"] if "cache" in paths else None),
        file=file,
        device=environment.get("SEXPGPU_DEVICE") or run.get("device"),
        threads=_threads(environment, run),
        sinks=tuple(run.get("sinks", ())),
        allow=tuple(check.get("allow", ())),
        deny=tuple(check.get("deny", ())),
        prefer=flatten(plugins.get("prefer", {})),
        disable=frozenset(plugins.get("disable", ())),
        plugins=None if chosen is None else frozenset(chosen.replace("off", "").split(",")) - {""},
        limits=table.get("limits", {}),
        data=table.get("data", {}),
        executors=table.get("sweep", {}).get("executors", {}),
    )


def find_file(folder: Path, given: str | None = None) -> Path | None:
    """sexpgpu.toml in the folder or above it, or the one given."""
    if given is not None:
        path = (folder / given).resolve()
        if not path.is_file():
            hint = "without --config the nearest sexpgpu.toml at or above the folder counts"
            raise problem("E-USAGE-CONFIG", f"no such file: {given}", hint=hint, file=given)
        return path
    for above in (folder, *folder.parents):
        if (above / FILE).is_file():
            return above / FILE
    return None


def read(file: Path) -> dict[str, Any]:
    """The tables of a sexpgpu.toml, checked."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    source = Source(str(file), "")
    try:
        source = Source(str(file), file.read_text(encoding="utf-8"))
        table: dict[str, Any] = tomllib.loads(source.text)
    except (OSError, UnicodeDecodeError) as error:
        raise problem("E-USAGE-CONFIG", f"{file.name}: {error}", file=str(file)) from error
    except tomllib.TOMLDecodeError as error:
        raise _broken(source, str(error)) from error
    for name, keys in table.items():
        _known(source, (name,), KEYS)
        if not isinstance(keys, dict):
            raise _wrong(source, (name,), f"{name} must be a table: [{name}]")
        for key, value in keys.items():
            _known(source, (name, key), KEYS[name])
            _fits(source, (name, key), value)
    return table


def _broken(source: Source, told: str) -> Problem:
    """The place that TOML's reader tells in words, as a span."""
    found = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", told)
    reason = told[: found.start()] if found else told
    at = len(source.text.rstrip())
    if found and found[1]:
        at = source.line_starts[int(found[1]) - 1] + int(found[2]) - 1
    hint = 'lines are [table], or key = value: threads = 2, runs = "folder"'
    span = Span(source, at, at + 1)
    return problem("E-USAGE-CONFIG", f"no TOML: {reason}", hint=hint, span=span)


def _wrong(
    source: Source, key: tuple[str, ...], told: str, near: str | None = None, **more: Any
) -> Problem:
    """E-USAGE-CONFIG at a table or at a key of one, where it is found; the edit writes `near`."""
    keys = (rf"\b({re.escape(k)})[\"']?\s*=" for k in key[1:])
    span = Span(source, 0, 0)
    for pattern in (rf"^\s*\[?\s*[\"']?({re.escape(key[0])})\b", *keys):
        found = re.compile(pattern, re.MULTILINE).search(source.text, span.end)
        if found is None:
            return problem("E-USAGE-CONFIG", told, file=source.name, **more)
        span = Span(source, *found.span(1))
    edit = None if near is None else Edit(f"write {near}", (Change(span, near),))
    return problem("E-USAGE-CONFIG", told, span=span, edit=edit, **more)


def _fits(source: Source, key: tuple[str, str], value: Any) -> None:
    """E-USAGE-CONFIG for a value of another type, or a limit below 1."""
    table, name = key
    wanted = KEYS[table][name].__name__
    if type(value).__name__ != wanted:
        message = f"[{table}] {name} must be of type {wanted}, not {value!r}"
    elif wanted == "int" and value < (least := 0 if name == "prefetch" else 1):
        message = f"[{table}] {name} must be at least {least}, not {value}"
    else:
        return
    raise _wrong(source, key, message)


def _known(source: Source, key: tuple[str, ...], known: Mapping[str, Any]) -> None:
    name = key[-1]
    if name not in known:
        near = nearest(name, known)
        hint = f"did you mean {near}?" if near else f"known: {' '.join(known)}"
        where = f"[{key[0]}] " if len(key) > 1 else ""
        raise _wrong(source, key, f"{where}{name} is not a key of {FILE}", near, hint=hint)


def check_variables(environment: Mapping[str, str]) -> None:
    """A variable that is nearly one of ours is a misspelling; others are somebody else's. One of
    ours has one of its words."""
    for name in environment:
        if name.startswith("SEXPGPU_") and name not in VARIABLES:
            near = nearest(name, VARIABLES)
            if near is not None:
                raise problem("E-USAGE-CONFIG", f"no variable {name}", hint=f"did you mean {near}?")
    for name, words in VARIABLES.items():
        given = environment.get(name)
        if given and not _whole(given):
            told = f"{name} is not UTF-8: {given!a}"
            raise problem("E-USAGE-CONFIG", told, hint="rename what it names")
        if given and words and given not in words:
            hint = f"{name}={words[-1]}; it may be {' or '.join(words)}"
            raise problem("E-USAGE-CONFIG", f"{name} is {given}", hint=hint)


def _whole(text: str) -> bool:
    """Whether UTF-8 can hold it, and so JSON: a variable may be of any bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """{"stores": {"toymem": x}} to {"stores.toymem": x}."""
    flat: dict[str, str] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = str(value)
    return flat


def _runs(
    folder: Path, root: Path, flag: str | None, variable: str | None, configured: str | None
) -> Path:
    if "://" in (text := flag or variable or configured or ""):
        code = "E-USAGE-VALUE" if flag else "E-USAGE-CONFIG"
        hint = "A store takes a mirror: run --store URL; status URL/RUN reads it."
        raise problem(code, f"runs are in a folder, not at {text}", hint=hint, given=text)
    if flag or variable:
        return folder / (flag or variable or "")
    return root / (configured or "runs")


def _threads(environment: Mapping[str, str], run: Mapping[str, Any]) -> int | None:
    text = environment.get("SEXPGPU_THREADS")
    if not text:
        return run.get("threads")
    if not text.isdigit() or int(text) < 1:
        told = f"SEXPGPU_THREADS must be a positive integer, not {text}"
        raise problem("E-USAGE-CONFIG", told, hint="SEXPGPU_THREADS=2, or leave it out")
    return int(text)
