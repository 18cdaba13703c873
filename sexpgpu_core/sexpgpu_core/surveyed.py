"""`check --data`: every loader of a file read, with what its programs let the fields be."""

from __future__ import annotations

from typing import Any

from .api import Loaded, operations
from .compile.bounds import Bound, bounds
from .compile.phases import Phases
from .compile.traces import Traces, trace_experiment
from .data.survey import survey
from .diagnostics import Diagnostic


def surveyed(loaded: Loaded) -> tuple[list[dict[str, Any]], list[Diagnostic]]:
    """What each stage holds, and what is wrong with it. Raises what readers raise."""
    known = operations(loaded.registry)
    traces = trace_experiment(loaded.experiment, loaded.evaluator, known, loaded.loaders, Phases())
    asked = _bounds(traces)
    rows: list[dict[str, Any]] = []
    found: list[Diagnostic] = []
    for name, loader in loaded.loaders.items():
        own = {stage: b for (of, stage), b in asked.items() if of == name}
        told, wrong = survey(loader, list(loader.declaration.stages), own)
        rows += told
        found += wrong
    return rows, found


def _bounds(traces: Traces) -> dict[tuple[str, str], dict[str, Bound]]:
    """Bounds of fields by loader and stage, over all programs that read it."""
    graphs = [(tuple(key.split(":")), trace.traced.graph) for key, trace in traces.stages.items()]
    for trace in traces.passes.values():
        programs = [traced.graph for _, traced, _ in trace.programs() if traced is not None]
        graphs += [((trace.loader, trace.stage), graph) for graph in programs]
    found: dict[tuple[str, str], dict[str, Bound]] = {}
    for key, graph in graphs:
        here = found.setdefault((key[0], key[1]), {})
        for field, bound in bounds(graph).items():
            if field not in here or bound.size < here[field].size:
                here[field] = bound
    return found
