"""Rows of all distributions to tables by name. Rows stay data until one is looked up.

Law: merge(restore(dump(ds))) == merge(ds). A name has one owner; a bad plug-in costs only itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from . import entries
from .diagnostics import Code, Diagnostic, Problem, diagnostic, nearest, problem
from .records import NamedTuple


class Hook(NamedTuple):
    """One hook: its row, the row's fields that make the name, the prefix a name must carry, the
    code when a name is not there."""

    row: type[Any]
    key: tuple[str, ...]
    prefix: str = ""
    missing: str = "E-OPTION-VALUE"


HOOKS: dict[str, Hook] = {
    "modules": Hook(entries.ModuleEntry, ("name",), "{}", "E-REQUIRE-MISSING"),
    "operations": Hook(entries.OperationEntry, ("name",), "{}/"),
    "sources": Hook(entries.SourceEntry, ("kind",), "", "E-SOURCE-UNKNOWN"),
    "tokenizers": Hook(entries.TokenizerEntry, ("name",)),
    "diagnostics": Hook(entries.DiagnosticEntry, ("name",), "{}/"),
    "codes": Hook(entries.CodeEntry, ("code",), "?-{}-", "E-USAGE-VALUE"),
    "devices": Hook(entries.DeviceEntry, ("name",), "", "E-DEVICE-UNKNOWN"),
    "stores": Hook(entries.StoreEntry, ("scheme",), "", "E-STORE-UNKNOWN"),
    "sinks": Hook(entries.SinkEntry, ("name",), "", "E-USAGE-VALUE"),
    "executors": Hook(entries.EngineEntry, ("name",), "", "E-USAGE-VALUE"),
    "collectives": Hook(entries.EngineEntry, ("name",), "", "E-USAGE-VALUE"),
    "job_files": Hook(entries.EngineEntry, ("name",), "", "E-USAGE-VALUE"),
    "verbs": Hook(entries.VerbEntry, ("name",), "", "E-USAGE-VERB"),
    "docs": Hook(entries.DocEntry, ("topic",), "", "E-USAGE-VALUE"),
    "templates": Hook(entries.TemplateEntry, ("name",), "", "E-USAGE-FILE"),
}

REFERENCES = ("load", "reference", "header", "probe")

BUILTIN = frozenset(f"sexpgpu-{name}" for name in ("core", "cpu", "cuda", "nn", "optim", "cli"))
"""Distributions whose names nobody else can take and that need no prefix."""

Rows = Mapping[str, list[dict[str, Any]]]
"""hook -> rows as dictionaries, as they lie in the cache."""


class Distribution(NamedTuple):
    """What one entry point gave. `state`: ok failed incompatible disabled."""

    name: str
    version: str
    module: str
    state: str
    rows: Rows
    code: str | None = None
    message: str = ""
    api: int | None = None
    import_s: float = 0.0
    file: str = ""  # of the module; with `mtime` it says whether the rows still hold
    mtime: int = 0

    def diagnostic(self) -> Diagnostic | None:
        """What is wrong with it, or None."""
        if self.code is None:
            return None
        return diagnostic(self.code, f"{self.name}: {self.message}", distribution=self.name)


class Clash(NamedTuple):
    """One name that several distributions claim. `winner` None: nobody has it."""

    hook: str
    name: str
    distributions: tuple[str, ...]
    winner: str | None


class Registry:
    """All that is installed, by hook and name."""

    __slots__ = ("_built", "_owners", "_rows", "cached", "clashes", "distributions", "faults")

    def __init__(self, distributions: Iterable[Distribution] = (), cached: bool = False) -> None:
        self.distributions = tuple(distributions)
        self.cached = cached
        self.clashes: list[Clash] = []
        self.faults: list[Diagnostic] = []
        self._rows: dict[str, dict[str, dict[str, Any]]] = {hook: {} for hook in HOOKS}
        self._owners: dict[str, dict[str, tuple[str, ...]]] = {hook: {} for hook in HOOKS}
        self._built: dict[tuple[str, str], Any] = {}

    def names(self, hook: str) -> list[str]:
        """Names that can be used, sorted."""
        return sorted(self._rows[hook])

    def owner(self, hook: str, name: str) -> str | None:
        """The distribution that a name is from."""
        return self._owners[hook][name][0] if name in self._rows[hook] else None

    def get(self, hook: str, name: str) -> Any:
        """The row of a name, or None. Built on first use."""
        found = self._built.get((hook, name))
        if found is None:
            facts = self._rows[hook].get(name)
            if facts is None:
                return None
            found = self._built[hook, name] = build(hook, facts)
        return found

    def find(self, hook: str, name: str) -> Any:
        """The row of a name; a Problem that says the nearest name, or whose plug-in is broken."""
        found = self.get(hook, name)
        if found is None:
            raise self.missing(hook, name)
        return found

    def load(self, hook: str, name: str, field: str = "load") -> Any:
        """The object that a field of a row refers to."""
        row = self.find(hook, name)
        try:
            return resolve(getattr(row, field))
        except (ImportError, AttributeError) as error:
            owner = self.owner(hook, name)
            if getattr(row, "needs", ()):
                what = " ".join(row.needs)
                hint = f"pip install '{what}'"
                code = "E-DATA-EXTRA" if hook in ("sources", "tokenizers") else "E-DEVICE-ABSENT"
                raise problem(code, f"{_one(hook)} {name}: {error}", hint=hint) from error
            raise problem("E-PLUGIN-BROKEN", f"{owner}: {_one(hook)} {name}: {error}") from error

    def missing(self, hook: str, name: str) -> Problem:
        """Why a name cannot be used."""
        for clash in self.clashes:
            if (clash.hook, clash.name) == (hook, name):
                return problem("E-PLUGIN-CLASH", _clash_message(clash), hint=_prefer(clash))
        for broken in self.distributions:
            if broken.state != "ok" and any(
                _name(hook, row) == name for row in broken.rows.get(hook, ())
            ):
                message = f"{_one(hook)} {name} is from {broken.name}, which does not load"
                return problem(broken.code or "E-PLUGIN-BROKEN", f"{message}: {broken.message}")
        known = self.names(hook)
        near = nearest(name, known)
        listed = f"known: {' '.join(known[:20])}" if known else "none is installed"
        return problem(
            HOOKS[hook].missing,
            f"no {_one(hook)} is named {name}",
            hint=f"did you mean {near}?" if near else listed,
            given=name,
            written=name,
            nearest=near,
        )

    def codes(self) -> list[Code]:
        """Codes of plug-ins, for `diagnostics.add_codes`."""
        severity = {"E": "error", "W": "warning"}
        return [
            Code(r.code, severity[r.code[0]], r.phase, r.title, r.meaning, r.fix, r.edit)
            for r in (self.get("codes", name) for name in self.names("codes"))
        ]

    def text(self, hook: str, name: str) -> tuple[str, str]:
        """Path and text of a module, page or template."""
        row = self.find(hook, name)
        file = _file(import_module(row.package), row.path)
        try:
            return str(file), file.read_text(encoding="utf-8")
        except OSError as error:
            message = f"{self.owner(hook, name)}: {_one(hook)} {name}: no file {row.path}"
            raise problem("E-PLUGIN-FACT", message) from error


def merge(
    distributions: Iterable[Distribution],
    *,
    prefer: Mapping[str, str] = {},
    cached: bool = False,
) -> Registry:
    """Tables of all rows. Core's names win; between two third parties nobody has the name unless
    `prefer` ({"stores.toymem": distribution}) says who."""
    ordered = sorted(distributions, key=lambda d: (d.name not in BUILTIN, d.name))
    registry = Registry(ordered, cached)
    for d in ordered:
        fault = d.diagnostic()
        if fault is not None:
            registry.faults.append(fault)
        if d.state != "ok":
            continue
        for hook, rows in d.rows.items():
            for row in rows:
                _claim(registry, hook, d.name, row, prefer)
    for hook, owners in registry._owners.items():
        for name, claimed in owners.items():
            if len(claimed) > 1:
                winner = claimed[0] if name in registry._rows[hook] else None
                _record(registry, Clash(hook, name, tuple(sorted(claimed)), winner))
    return registry


def _claim(
    registry: Registry, hook: str, owner: str, row: dict[str, Any], prefer: Mapping[str, str]
) -> None:
    name = _name(hook, row)
    wanted = _prefix(hook, owner)
    if owner not in BUILTIN and not _carries(name, wanted):
        message = f"{owner}: {_one(hook)} {name} must start with {wanted}"
        registry.faults.append(diagnostic("E-PLUGIN-FACT", message, distribution=owner))
        return
    rows, owners = registry._rows[hook], registry._owners[hook]
    before = owners.get(name, ())
    chosen = prefer.get(f"{hook}.{name}")
    if not before or (chosen == owner and before[0] not in BUILTIN):
        owners[name] = (owner, *before)
        rows[name] = row
        return
    owners[name] = (*before, owner)
    if before[0] not in BUILTIN and chosen != before[0]:
        rows.pop(name, None)


def _record(registry: Registry, clash: Clash) -> None:
    registry.clashes.append(clash)
    if clash.winner is not None and clash.winner not in BUILTIN:
        return  # `prefer` has said so
    registry.faults.append(
        diagnostic("E-PLUGIN-CLASH", _clash_message(clash), hint=_prefer(clash), name=clash.name)
    )


def _clash_message(clash: Clash) -> str:
    used = f"{clash.winner}'s is used" if clash.winner else "neither is used"
    return (
        f"{_one(clash.hook)} {clash.name} is claimed by {' and '.join(clash.distributions)}; {used}"
    )


def _prefer(clash: Clash) -> str:
    if clash.winner in BUILTIN:
        return "the name is core's and cannot be taken: another name, or [plugins] disable"
    first = clash.distributions[0]
    return f'in sexpgpu.toml: [plugins] prefer = {{{clash.hook}."{clash.name}" = "{first}"}}'


def _prefix(hook: str, owner: str) -> str:
    short = owner.removeprefix("sexpgpu-")
    return HOOKS[hook].prefix.format(short.upper() if hook == "codes" else short)


def _carries(name: str, prefix: str) -> bool:
    if prefix.startswith("?"):
        return name[:1] in "EW" and name[1:].startswith(prefix[1:])
    return name.startswith(prefix)


def _name(hook: str, row: Mapping[str, Any]) -> str:
    return " ".join(row[field] for field in HOOKS[hook].key)


def _file(package: Any, path: str) -> Any:
    """A file of a package. importlib.resources, which costs a check 4 ms, only out of a zip."""
    from pathlib import Path

    folder = Path(package.__file__ or "").parent
    if folder.is_dir():
        return folder / path
    from importlib.resources import files

    return files(package).joinpath(path)


def _one(hook: str) -> str:
    """A hook's word for one: devices -> device."""
    return {"job_files": "job file", "codes": "code"}.get(hook, hook[:-1])


def facts(row: Any) -> dict[str, Any]:
    """A row as a dictionary of JSON values."""
    pairs = row._asdict()
    if "options" in pairs:
        pairs["options"] = [option._asdict() for option in pairs["options"]]
    return {k: list(v) if isinstance(v, tuple) else v for k, v in pairs.items()}


def build(hook: str, row: Mapping[str, Any]) -> Any:
    """The row of a dictionary; the inverse of `facts`."""
    made = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
    if "options" in made:
        made["options"] = tuple(entries.Option(**option) for option in made["options"])
    return HOOKS[hook].row(**made)


def dump(distributions: Iterable[Distribution]) -> list[list[Any]]:
    """Distributions as JSON values: what goes into the cache."""
    return [list(d) for d in distributions]


def restore(data: Iterable[list[Any]]) -> list[Distribution]:
    """The inverse of `dump`; needs neither pluggy nor a plug-in."""
    return [Distribution(*d) for d in data]


def resolve(reference: str) -> Any:
    """The object that `module:attribute` names, else ImportError or AttributeError."""
    module, _, name = reference.partition(":")
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def references(row: Any) -> list[str]:
    """All references of a row."""
    found = [getattr(row, field) for field in REFERENCES if field in row._fields]
    return [reference for reference in found if reference]
