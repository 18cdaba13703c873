"""Every call of a program with its work: kernels, nodes that are not fused, bodies of loops."""

from __future__ import annotations

from collections.abc import Iterator

from ..device import Unit
from ..ir import Graph, Operations
from ..kernels.kernel import Call, KernelCall, NodeCall
from ..plan.work import Work, work_of_call, work_of_node
from ..records import NamedTuple


class Launched(NamedTuple):
    """`fused`: operations of the graph, in order; `nodes`: of the program's own graph, for a
    loop's body the loop."""

    name: str
    fused: tuple[str, ...]
    nodes: tuple[int, ...]
    work: Work


def launched(unit: Unit, operations: Operations) -> Iterator[Launched]:
    """In order. `work.calls`: trips of the loops around it."""
    if unit.plan is not None:
        for call in unit.plan.calls:
            yield from _calls(call, unit.graph, None, 1, operations)
        return
    live = unit.graph.live()
    for node in unit.graph.nodes:
        if node.id in live and node.operands:
            work = work_of_node(node, operations, 1)
            yield Launched(node.operation, (node.operation,), (node.id,), work)


def _calls(
    call: Call, graph: Graph | None, loop: tuple[int, ...] | None, times: int, of: Operations
) -> Iterator[Launched]:
    nodes = call.nodes if loop is None else loop
    if isinstance(call, KernelCall):
        fused = _fused(call, graph)
        yield Launched(
            f"kernel {call.kernel.key()[:8]}", fused, nodes, work_of_call(call, of, times)
        )
    elif isinstance(call, NodeCall):
        shapes = " x ".join(" ".join(map(str, v.shape)) for v in call.inputs[:2])
        name = f"{call.node.operation} {shapes}"
        yield Launched(name, (call.node.operation,), nodes, work_of_call(call, of, times))
    else:
        for inner in call.plan.calls:
            yield from _calls(inner, None, nodes, times * call.limit, of)


def _fused(call: KernelCall, graph: Graph | None) -> tuple[str, ...]:
    """What of the graph it does; of a body what its expressions are."""
    if graph is not None:
        known = [graph.nodes[i].operation for i in call.nodes if 0 <= i < len(graph.nodes)]
        if known:
            return tuple(dict.fromkeys(known))
    quiet = ("load", "literal", "uniform", "outer-index", "inner-index", "guard")
    return tuple(dict.fromkeys(x.op for x in call.kernel.expressions if x.op not in quiet))
