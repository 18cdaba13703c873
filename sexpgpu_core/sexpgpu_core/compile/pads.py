"""Windows filled with a token that the program cannot take: that has no row of an embedding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..data.loader import Loader
from ..diagnostics import Diagnostic, Problems, diagnostic
from ..diagnostics.diagnostic import Related
from ..ir import Graph
from .bounds import bounds


def check_pads(
    stages: Mapping[str, Any], passes: Mapping[str, Any], loaders: Mapping[str, Loader]
) -> None:
    """Raises Problems where there are such."""
    found = list(beyond(stages, passes, loaders))
    if found:
        raise Problems(found)


def beyond(
    stages: Mapping[str, Any], passes: Mapping[str, Any], loaders: Mapping[str, Loader]
) -> Iterator[Diagnostic]:
    """E-DATA-TOKEN for each stage whose `:pad` is not below what its tokens index."""
    told: set[tuple[str, str]] = set()
    for key, graph in _graphs(stages, passes):
        loader = loaders.get(key[0])
        if loader is None or key in told or key[1] not in loader.declaration.stages:
            continue
        found = _beyond(loader, key[1], graph)
        if found is not None:
            told.add(key)
            yield found


def _graphs(
    stages: Mapping[str, Any], passes: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, str], Graph]]:
    for name, trace in stages.items():
        loader, stage = name.split(":")
        yield (loader, stage), trace.traced.graph
    for trace in passes.values():
        for _, traced, _ in trace.programs():
            if traced is not None:
                yield (trace.loader, trace.stage), traced.graph


def _beyond(loader: Loader, stage: str, graph: Graph) -> Diagnostic | None:
    declared = loader.declaration.stages[stage]
    windows = declared.windows or loader.declaration.windows
    bound = bounds(graph).get("tokens")
    if windows is None or bound is None or windows.short == "drop":
        return None
    if 0 <= windows.pad < bound.size or windows.pad == bound.ignored:
        return None
    axis = f"indexes an axis of {bound.size:,}"
    return diagnostic(
        "E-DATA-TOKEN",
        f":pad {windows.pad:,} of {loader.name} :{stage} is no token that {bound.operation} takes, "
        f"0 to {bound.size - 1:,}",
        span=declared.span or loader.declaration.span,
        hint=f"pad with a token below {bound.size:,}; its weight is 0, whatever it is",
        related=() if bound.where is None else (Related(axis, bound.where),),
        value=windows.pad,
        size=bound.size,
    )
