"""How much a program does: a plan, or a graph that is taken as it is, to rows of work.

The same on every machine; what it takes on one is compile.forecast.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..ir import Graph, Node, Operations
from ..kernels.kernel import KernelCall, NodeCall
from ..records import NamedTuple
from .plan import Plan

PRODUCTS = frozenset(("matmul", "matmul-bias", "matmul-gelu", "matmul-gelu-slope"))
CONVOLUTIONS = frozenset(("conv", "conv-input-gradient", "conv-weight-gradient"))


class Work(NamedTuple):
    """Calls alike: FLOPs of a product or of a convolution, or operations of others in units of an
    addition; bytes read and written; how many there are. `width`: 2 where they are of f64, of which
    a vector holds half as many."""

    product: int
    operations: int
    bytes: int
    calls: int = 1
    convolution: int = 0
    width: int = 1

    @property
    def flops(self) -> int:
        """Of one call."""
        return self.product + self.convolution + self.operations


def works(
    units: Iterable[tuple[str, Graph, Plan | None]], operations: Operations
) -> dict[str, list[Work]]:
    """Of every program that a device is given (device.Unit)."""
    return {
        name: work_of(plan, operations) if plan is not None else graph_work(graph, operations)
        for name, graph, plan in units
    }


def work_of(plan: Plan, operations: Operations) -> list[Work]:
    """Of one launch, calls that are alike together. A loop's body counts as often as it may run."""
    return _together(_calls(plan, operations, 1))


def graph_work(graph: Graph, operations: Operations) -> list[Work]:
    """Of a device that takes a graph node by node."""
    live = graph.live()
    nodes = [n for n in graph.nodes if n.id in live and n.operands]
    return _together(work_of_node(node, operations, 1) for node in nodes)


def _together(found: Iterable[Work]) -> list[Work]:
    counts: dict[Work, int] = {}
    for work in found:
        one = work._replace(calls=1)
        counts[one] = counts.get(one, 0) + work.calls
    return [of._replace(calls=count) for of, count in counts.items()]


def _calls(plan: Plan, operations: Operations, times: int) -> Iterator[Work]:
    for call in plan.calls:
        if isinstance(call, (KernelCall, NodeCall)):
            yield work_of_call(call, operations, times)
        else:
            yield from _calls(call.plan, operations, times * call.limit)


def work_of_call(call: KernelCall | NodeCall, operations: Operations, times: int) -> Work:
    if isinstance(call, NodeCall):
        return work_of_node(call.node, operations, times)
    from ..kernels.cost import kernel_cost  # not of a check whose plan is known

    done, read, written = kernel_cost(call)
    wide = any(o.dtype == "f64" for o in call.kernel.operands)
    return Work(0, done, read + written, times, width=2 if wide else 1)


def work_of_node(node: Node, operations: Operations, times: int) -> Work:
    types = tuple([v.node.types[v.result] for v in node.operands])
    cost = operations[node.operation].cost(types, dict(node.attributes))
    moved = cost.read + cost.written
    width = 2 if any(t.dtype == "f64" for t in types) else 1
    if node.operation in CONVOLUTIONS:
        return Work(0, 0, moved, times, cost.flops, width)
    if node.operation in PRODUCTS:
        return Work(cost.flops, 0, moved, times, 0, width)
    return Work(0, cost.flops, moved, times, 0, width)
