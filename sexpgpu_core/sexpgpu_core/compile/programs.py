"""A graph to what a device is given of it: optimized, cut into kernels and calls, planned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..device import Device, Unit
from ..ir import Graph, Operations
from ..kernels.fuse import schedule
from ..passes.optimize import optimize
from ..plan.make import make_plan
from ..plan.plan import Persistent
from ..records import NamedTuple
from .phases import Phases


class Target(NamedTuple):
    """What every program of a compile shares. `stop`: compile no further than this phase."""

    device: Device
    operations: Operations
    precision: str
    phases: Phases


def make_unit(name: str, graph: Graph, persistent: Persistent, target: Target) -> Unit:
    """One program. At level "graph" the device takes the optimized graph itself."""
    phases, operations = target.phases, target.operations
    library = target.device.library
    with phases.phase("optimize"):
        small, _ = optimize(graph, operations, library, target.precision)
    phases.count("nodes", len(small.nodes))
    if target.device.level == "graph":
        return Unit(name, small, None)
    with phases.phase("fuse"):
        cut = schedule(small, operations, library)
    with phases.phase("plan"):
        plan = make_plan(name, cut, persistent)
    phases.count("calls", len(plan.calls))
    phases.count("buffers", len(plan.buffers))
    return Unit(name, small, plan)


def scalars_of(graph: Graph, trees: Mapping[str, Any]) -> dict[str, Any]:
    """The step scalars that a graph reads: canonical text to tree."""
    live = graph.live()
    names = [n.get("name") for n in graph.inputs() if n.get("kind") == "scalar" and n.id in live]
    return {name: trees[name] for name in names}


def flops_of(graph: Graph, operations: Operations) -> int:
    """Floating-point operations of one launch, by each operation's cost: asked once for nodes of
    equal types and attributes, as layers repeat."""
    live = graph.live()
    known: dict[tuple[Any, ...], int] = {}
    total = 0
    for node in graph.nodes:
        if node.id in live:
            types = tuple([v.node.types[v.result] for v in node.operands])
            key = (node.operation, types, node.attributes)
            if key not in known:
                known[key] = operations[node.operation].cost(types, dict(node.attributes)).flops
            total += known[key]
            if node.operation == "scan":
                body = graph.bodies[node.get("body")]
                total += node.get("length") * flops_of(body, operations)
    return total
