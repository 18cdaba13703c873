"""All passes in order: scans joined, precision, what no trip changes taken out of loops,
expansion with local rules and fma, dead code.

At most two walks that make nodes (45.29) where there is no scan, and one that renumbers them;
bodies go through the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

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

LOOPS = ("scan", "while", "cond")


class Report(NamedTuple):
    """What happened, for `explain`: nodes after each pass, by the pass's name."""

    nodes: Mapping[str, int]


def optimize(
    graph: Graph, operations: Operations, library: Callable[[str], bool], precision: str = "f32"
) -> tuple[Graph, Report]:
    """The graph that a device is given, and a report. `library`: the device's. Results keep
    their names and their dtypes."""
    counts = {"traced": len(graph.nodes)}
    graph = join_scans(graph, operations)
    counts["join"] = len(graph.nodes)
    policed = apply_precision(graph, operations, precision)
    if policed is not graph:
        graph = policed
        counts["precision"] = len(graph.nodes)
    graph = hoist(graph, operations)
    counts["hoist"] = len(graph.nodes)
    graph = _simplify(graph, operations, library)
    counts["expand"] = len(graph.nodes)
    graph = drop_dead(graph)
    counts["dead"] = len(graph.nodes)
    return graph, Report(counts)


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
