"""A smaller copy of a file by its own knobs: whole numbers are halved while it still traces."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from ..compile.phases import Phases
from ..compile.programs import flops_of
from ..compile.traces import Traces, trace_experiment
from ..diagnostics import Problem, Problems
from ..ir import Operations
from ..records import NamedTuple

BUDGET = 2e8
"""FLOPs of one traced block that a copy may have: a step takes some tens of milliseconds."""
SECONDS = 8.0
"""What looking for a smaller copy may take."""
LEAST = 4
"""A knob below this is left as it is: halves of it change what the file is."""

Load = Callable[[Mapping[str, str]], Any]
"""Knobs and their texts to the loaded file."""


class Copy(NamedTuple):
    """A file with knobs set: `sets` are those that made it smaller."""

    loaded: Any
    traces: Traces
    sets: dict[str, str]


def shrunk(load: Load, operations: Operations, fixed: frozenset[str]) -> Copy:
    """The file as it is if it is small, else the smallest that halving finds. `fixed`: knobs that
    keep their values. Raises what loading and tracing the file itself does."""
    found = _traced(load, operations, {})
    cost, end = _cost(found, operations), time.perf_counter() + SECONDS
    while cost > BUDGET and time.perf_counter() < end:
        better = None
        for name, half in _halves(found, fixed):
            tried = _attempt(load, operations, {**found.sets, name: str(half)})
            less = cost if tried is None else _cost(tried, operations)
            if tried is not None and less < 0.95 * cost:
                better, cost = tried, less
                break
        if better is None:
            break
        found = better
    return found


def _halves(found: Copy, fixed: frozenset[str]) -> list[tuple[str, int]]:
    """Knobs of whole numbers, the one that was halved least first."""
    knobs = found.loaded.experiment.knobs
    whole = [
        (name, knob.value)
        for name, knob in knobs.items()
        if ":" not in name and name not in fixed and knob.value.__class__ is int
    ]
    return [(n, v // 2) for n, v in sorted(whole, key=lambda kv: -kv[1]) if v >= LEAST]


def _traced(load: Load, operations: Operations, sets: dict[str, str]) -> Copy:
    loaded = load(sets)
    parts = loaded.experiment, loaded.evaluator, operations, loaded.loaders
    return Copy(loaded, trace_experiment(*parts, Phases()), sets)


def _attempt(load: Load, operations: Operations, sets: dict[str, str]) -> Copy | None:
    """None where the file does not hold together with such knobs."""
    try:
        return _traced(load, operations, sets)
    except (Problem, Problems):
        return None


def _cost(found: Copy, operations: Operations) -> int:
    return max(flops_of(s.traced.graph, operations) for s in found.traces.stages.values())
