"""Entry points to distributions: each plug-in loaded by a manager of its own, or read from a cache.

Law: whatever a plug-in does, the others and the program go on; what broke is recorded.
`installed` imports neither pluggy nor a plug-in while the cache holds.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from . import __version__, registry
from .config import Settings
from .diagnostics import nearest, problem
from .entries import API
from .records import NamedTuple
from .registry import BUILTIN, HOOKS, Distribution, Registry

GROUP = "sexpgpu"


class Point(NamedTuple):
    """One entry point of the group: distribution, its version, the module of hooks."""

    name: str
    version: str
    module: str


def installed(settings: Settings, *, refresh: bool = False) -> Registry:
    """The registry of what is installed, under what sexpgpu.toml and SEXPGPU_PLUGINS say."""
    found, cached = distributions(settings.cache, refresh=refresh)
    for name in settings.plugins or ():
        _named(name, [d.name for d in found])
    chosen = [_switched(d, settings) for d in found]
    return registry.merge(chosen, prefer=settings.prefer, cached=cached)


def distributions(cache: Path, *, refresh: bool = False) -> tuple[list[Distribution], bool]:
    """What is installed, and whether it came out of the cache."""
    sites = site_folders()
    key = site_key(sites)
    file = cache / f"plugins-{_digest(sites)}.json"
    stale = _read(file)
    if stale is not None and stale["key"] == key and not refresh:
        known = registry.restore(stale["distributions"])
        if all(_modified(d.file) == d.mtime for d in known):
            return known, True
    before = {d.name: d for d in registry.restore(stale["distributions"])} if stale else {}
    points = entry_points(sites)
    found = [_remember(load(point), before) for point in points]
    if entry_points(sites) == points:
        key = site_key(sites)  # an import may have made a __pycache__ beside what it imported
    _write(file, {"key": key, "distributions": registry.dump(found)})
    return found, False


def site_folders() -> list[str]:
    """Folders of sys.path that hold installed distributions."""
    return [p for p in dict.fromkeys(sys.path) if p and any(_metadata(p))]


def site_key(sites: Iterable[str]) -> list[Any]:
    """Changes when anything is installed or removed: a folder's time changes with its entries."""
    times = [[site, _modified(site)] for site in sites]
    return [registry_version(), __version__, sys.version, times]


def registry_version() -> str:
    """Changes when rows or hooks of core change, which a cache made by older code does not know."""
    return f"{API}:" + ",".join(
        f"{hook}({' '.join(about.row._fields)})" for hook, about in HOOKS.items()
    )


def entry_points(sites: Iterable[str]) -> list[Point]:
    """Entry points of the group, by a scan of the metadata folders; the first on the path wins."""
    found: dict[str, Point] = {}
    for site in sites:
        for folder in _metadata(site):
            file = os.path.join(site, folder, "entry_points.txt")
            for name, module in _group(file):
                version = folder.rsplit(".", 1)[0].partition("-")[2] or "0"
                found.setdefault(name, Point(name, version.split("-")[0], module))
    return sorted(found.values())


def load(point: Point, import_module: Callable[[str], ModuleType] | None = None) -> Distribution:
    """One plug-in's rows. Never raises for what the plug-in does."""
    from importlib import import_module as standard
    from time import perf_counter

    start = perf_counter()
    blank = Distribution(point.name, point.version, point.module, "failed", {})
    try:
        module = (import_module or standard)(point.module)
        took = perf_counter() - start
        file = getattr(module, "__file__", None) or ""
        blank = blank._replace(import_s=round(took, 4), file=file, mtime=_modified(file))
        return rows_of(module, blank)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a plug-in may even call sys.exit
        message = f"{type(error).__name__}: {error}"
        return blank._replace(code="E-PLUGIN-BROKEN", message=message)


def rows_of(module: ModuleType, blank: Distribution) -> Distribution:
    """Ask every hook of a plug-in's module; a manager of its own, so that it can spoil no other."""
    import pluggy

    from . import hookspecs

    api = getattr(module, "SEXPGPU_API", None)
    blank = blank._replace(api=api if isinstance(api, int) else None)
    if api != API:
        message = f"made for API {api}, this is {API}"
        return blank._replace(state="incompatible", code="E-PLUGIN-API", message=message)
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(module)
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        return blank._replace(code="E-PLUGIN-HOOK", message=_hook_message(str(error)))
    rows: dict[str, list[dict[str, Any]]] = {}
    for hook in HOOKS:
        for given in getattr(manager.hook, f"sexpgpu_{hook}")():
            for row in given:
                fault = _malformed(hook, row)
                if fault is not None:
                    return blank._replace(code="E-PLUGIN-FACT", message=fault)
                rows.setdefault(hook, []).append(registry.facts(row))
    return blank._replace(state="ok", rows=rows)


def _malformed(hook: str, row: Any) -> str | None:
    wanted = HOOKS[hook].row
    if type(row).__name__ != wanted.__name__ or not hasattr(row, "_asdict"):
        return f"sexpgpu_{hook} gave a {type(row).__name__}, wants {wanted.__name__}"
    try:
        same = registry.build(hook, json.loads(json.dumps(registry.facts(row)))) == row
    except (TypeError, ValueError, AttributeError) as error:
        return f"sexpgpu_{hook}: {row!r:.120}: {error}"
    return None if same else f"sexpgpu_{hook}: only texts, numbers and tuples: {row!r:.120}"


def _hook_message(text: str) -> str:
    for word in text.replace("'", " ").replace("(", " ").split():
        if word.startswith("sexpgpu_") and word.removeprefix("sexpgpu_") not in HOOKS:
            near = nearest(word, [f"sexpgpu_{hook}" for hook in HOOKS])
            return f"no hook {word}" + (f"; did you mean {near}?" if near else "")
    return " ".join(text.split())


def _remember(found: Distribution, before: dict[str, Distribution]) -> Distribution:
    """A plug-in that fails keeps the names of its last good load, so that errors can name it."""
    old = before.get(found.name)
    if found.state != "ok" and old is not None:
        return found._replace(rows=old.rows, file=found.file or old.file)
    return found


def _named(name: str, known: Iterable[str]) -> None:
    """E-USAGE-CONFIG for one of SEXPGPU_PLUGINS that is not installed."""
    if name not in known:
        near = nearest(name, known)
        hint = f"did you mean {near}?" if near else f"installed: {' '.join(known)}"
        raise problem("E-USAGE-CONFIG", f"SEXPGPU_PLUGINS: no plug-in is named {name}", hint=hint)


def _switched(d: Distribution, settings: Settings) -> Distribution:
    if d.name in BUILTIN:
        return d
    chosen = settings.plugins is None or d.name in settings.plugins
    if chosen and d.name not in settings.disable:
        return d
    return d._replace(state="disabled", code=None, message="")


def _metadata(site: str) -> list[str]:
    try:
        names = os.listdir(site)
    except OSError:
        return []
    return sorted(n for n in names if n.endswith((".dist-info", ".egg-info")))


def _group(file: str) -> list[tuple[str, str]]:
    """(name, module) of the lines under [sexpgpu] of an entry_points.txt."""
    try:
        with open(file, encoding="utf-8") as opened:
            lines = opened.read().splitlines()
    except OSError:
        return []
    found, inside = [], False
    for line in map(str.strip, lines):
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and "=" in line:
            name, _, module = line.partition("=")
            found.append((name.strip(), module.strip()))
    return found


def _modified(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _digest(sites: Iterable[str]) -> str:
    from zlib import crc32

    return f"{crc32(chr(0).join(sites).encode()):08x}"


def _read(file: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        registry.restore(found["distributions"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, dict) else None


def _write(file: Path, value: dict[str, Any]) -> None:
    """By a rename, so that a reader sees all or nothing; no cache is no fault."""
    temporary = file.with_suffix(f".{os.getpid()}.tmp")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(value), encoding="utf-8")
        os.replace(temporary, file)
    except OSError:
        return
