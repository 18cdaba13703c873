"""A graph to what a device is given of it: optimized, cut into kernels and calls, planned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ..device import Device, Unit
from ..ir import Graph, Operations
from ..kernels.folding import fixed
from ..kernels.fuse import schedule
from ..kernels.storing import CHEAP
from ..passes.optimize import Report, Watch, optimize, passed
from ..passes.patterns import Finding, find_patterns
from ..plan.make import make_plan
from ..plan.plan import Persistent
from ..records import NamedTuple
from .phases import Phases

Watched = Callable[[str, str, Graph], None]
"""Told the program, the pass and the graph after it."""


class Told(NamedTuple):
    """What the compiler did, by program, for `explain`."""

    patterns: dict[str, list[Finding]]
    passes: dict[str, list[Report]]
    watch: Watched | None = None

    def of(self, program: str) -> Watch | None:
        """What a program's passes are told to."""
        return None if self.watch is None else partial(self.watch, program)


def nobody(watch: Watched | None = None) -> Told:
    """Nothing told yet."""
    return Told({}, {}, watch)


class Target(NamedTuple):
    """What every program of a compile shares."""

    device: Device
    operations: Operations
    precision: str
    phases: Phases
    told: Told | None = None


def make_unit(name: str, graph: Graph, persistent: Persistent, target: Target) -> Unit:
    """One program. At level "graph" the device takes the optimized graph itself."""
    phases, operations = target.phases, target.operations
    library = target.device.library
    told = target.told or nobody()
    with phases.phase("optimize"):
        small, reports = optimize(graph, operations, library, target.precision, told.of(name))
    told.passes.setdefault(name, []).extend(reports)
    phases.count("nodes", len(small.nodes))
    if target.device.level == "graph":
        return Unit(name, small, None)
    with phases.phase("fuse"):
        cheap = getattr(target.device, "cheap", CHEAP)
        cells = getattr(target.device, "cells", fixed)
        cut = schedule(small, operations, library, cheap, cells)
    with phases.phase("plan"):
        plan = make_plan(name, cut, persistent)
    phases.count("calls", len(plan.calls))
    phases.count("buffers", len(plan.buffers))
    return Unit(name, small, plan)


def recognized(name: str, graph: Graph, operations: Operations, told: Told) -> Graph:
    """A traced graph with composites in place of what the file wrote out."""
    findings = told.patterns.setdefault(name, [])

    def change(graph: Graph) -> Graph:
        found, new = find_patterns(graph, operations)
        findings.extend(new)
        return found

    found, report = passed("patterns", change, graph, told.of(name))
    told.passes[name] = [report]
    return found


def scalars_of(graph: Graph, trees: Mapping[str, Any]) -> dict[str, Any]:
    """The step scalars that a graph reads: canonical text to tree."""
    live = graph.live()
    names = [n.get("name") for n in graph.inputs() if n.get("kind") == "scalar" and n.id in live]
    return {name: trees[name] for name in names}


def flops_of(graph: Graph, operations: Operations) -> int:
    """Floating-point operations of one launch, by each operation's cost."""
    return sum(flops_each(graph, operations).values())


def flops_each(graph: Graph, operations: Operations) -> dict[int, int]:
    """The same by node: asked once for nodes of equal types and attributes, as layers repeat."""
    live = graph.live()
    known: dict[tuple[Any, ...], int] = {}
    found: dict[int, int] = {}
    for node in graph.nodes:
        if node.id in live:
            types = tuple([v.node.types[v.result] for v in node.operands])
            key = (node.operation, types, node.attributes)
            if key not in known:
                known[key] = operations[node.operation].cost(types, dict(node.attributes)).flops
            found[node.id] = known[key]
            if node.operation == "scan":
                body = graph.bodies[node.get("body")]
                found[node.id] += node.get("length") * flops_of(body, operations)
    return found
