"""A text that is no run to the evaluator of its definitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..diagnostics import Diagnostic
from ..evaluator.evaluator import Evaluator, Limits
from ..spans import Source
from .collector import Collector
from .declare import define_state_setter, load_text, raise_found
from .host import Host


def library(
    source: Source,
    *,
    modules: Any = None,
    read_file: Callable[[str], str] | None = None,
    limits: Limits | None = None,
    sources: Mapping[str, Any] = {},
    **reading: Any,
) -> Evaluator:
    """The evaluator of a text that is no run: a module, or definitions and forms alone. `reading`:
    what else reads data, as `declare` has it."""
    collector = Collector(sources, {})
    for name, value in reading.items():
        setattr(collector, name, value)
    collector.main = source.name
    evaluator = Evaluator(modules=modules, read_file=read_file, limits=limits or Limits())
    evaluator.host = Host(collector)
    define_state_setter(evaluator)
    found: list[Diagnostic] = []
    load_text(evaluator, source, found)
    raise_found(found, evaluator)
    return evaluator
