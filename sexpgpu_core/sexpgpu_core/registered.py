"""What is installed, as loading and tracing take it: rows that are made when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .experiment.protocols import Store
from .registry import BUILTIN, Registry

if TYPE_CHECKING:
    from pathlib import Path

    from .compile.probes import Row
    from .data.loader import Loader
    from .evaluator.evaluator import Evaluator
    from .experiment.declarations import Experiment, LoaderDeclaration


class Modules:
    """A module's text by its name, or None. `kept`: texts instead of those that are installed."""

    def __init__(self, registry: Registry, kept: Mapping[str, str] = {}) -> None:
        self._registry, self._kept = registry, kept

    def __call__(self, name: str) -> Any:
        rows = self._registry
        if rows.get("modules", name) is None:
            return None
        from .evaluator.modules import ModuleText

        path, text = rows.text("modules", name)
        return ModuleText(path, self._kept.get(name, text), rows.owner("modules", name) in BUILTIN)

    def names(self) -> list[str]:
        """Of all that are installed, for the nearest."""
        return self._registry.names("modules")


def store_of(registry: Registry, url: str) -> Store:
    """The store of a URL; a path is a folder. Raises E-STORE-UNKNOWN."""
    scheme = url.partition("://")[0] if "://" in url else "file"
    made: Store = registry.load("stores", scheme)(url)
    return made


def loaders_of(
    experiment: Experiment,
    evaluator: Evaluator,
    base: Path,
    registry: Registry,
    data: Mapping[str, int],
) -> dict[str, Loader]:
    """The loaders that a file declares; nothing is read yet. `data`: [data] of sexpgpu.toml."""
    from .data.loader import Ahead, Loader

    rows, host, tokenizers = source_rows(registry), None, Tokenizers(registry)
    ahead = Ahead(data.get("prefetch", 2), data.get("threads", 1))
    if any(_calls(declared) for declared in experiment.loaders.values()):
        from .staging.host_calls import HostCalls

        host = HostCalls(evaluator)
    return {
        name: Loader(declared, base, experiment.run.seed, rows, host, ahead, tokenizers)
        for name, declared in experiment.loaders.items()
    }


def _calls(of: LoaderDeclaration) -> bool:
    """Whether functions of the file make a loader's examples."""
    stages = of.stages.values()
    kinds = [of.source, *(s.source for s in stages if s.source is not None)]
    return bool(of.maps) or any(s.maps for s in stages) or "synthetic" in repr(kinds)


def source_rows(registry: Registry) -> list[Any]:
    """Rows of every source kind."""
    return [registry.get("sources", name) for name in registry.names("sources")]


def statistics(registry: Registry, base: str | Path) -> Callable[..., Any]:
    """What `stage-stat` is made of (data.statistics), imported when a file has one."""

    def made(*asked: Any) -> Any:
        from .data.statistics import statistic

        return statistic(base, source_rows(registry), Tokenizers(registry), *asked)

    return made


def encodings(registry: Registry, base: str | Path) -> Callable[[Any], Any]:
    """What encodes a text by a tokenizer alone, as it is written (data.tokenized)."""

    def made(written: Any) -> Any:
        from .data.tokenized import alone

        return alone({"tokenizer": written, "tokenizers": Tokenizers(registry), "base": base})

    return made


def probe_rows(registry: Registry) -> list[Row]:
    """The kinds of diagnostic numbers that are installed."""
    from .compile.probes import rows_of

    return rows_of(registry)


class SourceKinds(Mapping[str, Any]):
    """Rows of source kinds by name, built when one is looked up."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def __getitem__(self, name: str) -> Any:
        row = self._registry.get("sources", name)
        if row is None:
            raise KeyError(name)
        return row

    def __iter__(self) -> Iterator[str]:
        return iter(self._registry.names("sources"))

    def __len__(self) -> int:
        return len(self._registry.names("sources"))


class Tokenizers(Mapping[str, Any]):
    """Rows of tokenizers by name, each with the distribution and version that it is of."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def __getitem__(self, name: str) -> Any:
        from .data.kinds import TokenizerKind

        row = self._registry.get("tokenizers", name)
        if row is None:
            raise KeyError(name)
        owner = self._registry.owner("tokenizers", name)
        (of,) = (d for d in self._registry.distributions if d.name == owner)
        return TokenizerKind(**row._asdict(), of=f"{of.name} {of.version}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._registry.names("tokenizers"))

    def __len__(self) -> int:
        return len(self._registry.names("tokenizers"))


class PluginOperations(dict[str, Any]):
    """Core's table; a plug-in's operation is imported when its name is first asked for."""

    def __init__(self, core: Mapping[str, Any], registry: Registry) -> None:
        super().__init__(core)
        self._registry = registry

    def __missing__(self, name: str) -> Any:
        if self._registry.get("operations", name) is None:
            raise KeyError(name)
        made = self[name] = self._registry.load("operations", name)
        return made
