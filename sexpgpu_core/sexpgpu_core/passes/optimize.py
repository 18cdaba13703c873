"""All passes in order: scans joined, precision, what no trip changes taken out of loops,
expansion with local rules and fma, dead code.

At most two walks that make nodes (45.29) where there is no scan, and one that renumbers them;
bodies go through the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ..ir import Builder, Graph
from ..ir.operation import Operations
from ..ir.policy import narrows
from ..records import NamedTuple
from .dead import drop_dead
from .expand import expansion
from .invariants import hoist
from .loops import bodies_of, join_scans, with_bodies
from .precision import precision_change
from .rebuild import rebuild

PASSES = ("patterns", "join", "precision", "hoist", "expand", "dead")
"""In order; `patterns` is before autodiff."""

LOOPS = ("scan", "while", "cond")


class Report(NamedTuple):
    """What a pass did, for `explain`: nodes before and after, seconds of CPU time."""

    name: str
    before: int
    after: int
    duration: float


Watch = Callable[[str, Graph], None]
"""Told each pass and the graph after it; the graph is the pass's until it returns."""


def optimize(
    graph: Graph,
    operations: Operations,
    library: Callable[[str], bool],
    precision: str = "f32",
    watch: Watch | None = None,
) -> tuple[Graph, list[Report]]:
    """The graph that a device is given, and what each pass did. `library`: the device's. Results
    keep their names and their dtypes."""
    passes: dict[str, Callable[[Graph], Graph]] = {
        "join": lambda g: join_scans(g, operations),
        "precision": lambda g: apply_precision(g, operations, precision),
        "hoist": lambda g: hoist(g, operations),
        "expand": lambda g: _simplify(g, operations, library),
        "dead": drop_dead,
    }
    reports = []
    for name, change in passes.items():
        graph, report = passed(name, change, graph, watch)
        reports.append(report)
    return graph, reports


def passed(
    name: str, change: Callable[[Graph], Graph], graph: Graph, watch: Watch | None = None
) -> tuple[Graph, Report]:
    """A pass applied, timed and told of."""
    start, before = time.process_time(), len(graph.nodes)
    graph = change(graph)
    report = Report(name, before, len(graph.nodes), time.process_time() - start)
    if watch is not None:
        watch(name, graph)
    return graph, report


def _mixed(graph: Graph, precision: str) -> bool:
    """Whether any operation is narrowed."""
    policies = {"", *(n.policy for n in graph.nodes)}
    mixed = any(narrows(p, precision) for p in policies)
    return mixed or any(_mixed(body, precision) for body in graph.bodies.values())


def apply_precision(graph: Graph, operations: Operations, precision: str) -> Graph:
    """Casts by policy; results are cast back to what they were. The same graph where no policy
    asks for any. An optimizer's updates are f32."""
    if not _mixed(graph, precision):
        return graph
    loops = bodies_of(graph, LOOPS)
    graph = with_bodies(graph, lambda body: apply_precision(body, operations, precision), loops)
    wanted = {name: v.dtype for name, v in graph.results.items()}
    changed = rebuild(graph, operations, precision_change(operations, precision))

    b = Builder(operations, changed)
    for name, value in list(changed.results.items()):
        if value.dtype != wanted[name]:
            changed.results[name] = b("cast", value, dtype=wanted[name])
    return changed


def _simplify(graph: Graph, operations: Operations, library: Callable[[str], bool]) -> Graph:
    small = with_bodies(graph, lambda body: drop_dead(_simplify(body, operations, library)))
    return rebuild(small, operations, *expansion(operations, library))
