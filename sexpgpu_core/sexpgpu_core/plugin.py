"""What sexpgpu-core adds, as rows. Nothing here imports what does the work."""

from __future__ import annotations

from collections.abc import Iterator

from . import entries as e
from .data.kinds import SOURCES
from .hookspecs import hookimpl

SEXPGPU_API = 1


@hookimpl
def sexpgpu_sources() -> Iterator[e.SourceEntry]:
    for kind in SOURCES:
        options = tuple(e.Option(*option) for option in kind.options)
        yield e.SourceEntry(**{**kind._asdict(), "options": options})


@hookimpl
def sexpgpu_executors() -> Iterator[e.EngineEntry]:
    yield e.EngineEntry(
        name="local",
        doc="Processes of this machine.",
        load="sexpgpu_core.sweeps.executor:LocalExecutor",
    )
