"""How many weight sums of a step are 0 beside those of its ratios (45.4): of parts of one weighted
mean with axes, of means of a block, of trips of loops. A loop has one more output for each."""

from __future__ import annotations

from collections.abc import Iterable

from ..ir.builder import Builder
from ..ir.graph import Graph, Value
from .dependence import NONE
from .metrics import Cutter
from .regions import Region, Weighed
from .traced import EMPTY_BLOCK, EMPTY_STEP
from .tracer import Tracer

Key = tuple[int, int]


def stacked_counts(region: Region) -> list[tuple[list[str], str]]:
    """Gives the body of a loop a result for each of its means that reaches one: the results that
    it reaches, and that which counts."""
    graph, found = region.builder.graph, []
    own = dict(graph.results)
    for weighed in region.weighed.values():
        names = _reached(graph, own, weighed.values)
        if names:
            name = f"y:{len(graph.results)}"
            graph.results[name] = _count(region.builder, weighed)
            found.append((names, name))
    return found


def _reached(graph: Graph, results: dict[str, Value], values: Iterable[Value]) -> list[str]:
    """The results of a body that are computed from values, in this trip or in a later one."""
    reached = {_key(v) for v in values}
    inputs = {n.get("name"): n.id for n in graph.inputs()}
    before: list[str] | None = None
    names: list[str] = []
    while names != before:
        for node in graph.nodes:
            if any(_key(v) in reached for v in node.operands):
                reached.update((node.id, i) for i in range(len(node.types)))
        before, names = names, [n for n, v in results.items() if _key(v) in reached]
        reached.update((inputs[n], 0) for n in names if n in inputs)
    return names


def count_empty(t: Tracer, cutter: Cutter, losses: Iterable[Value]) -> dict[str, Value]:
    """Results of a traced stage: of what examples reach by block, of what none does once a step."""
    axes, read = t.root.axes(), _read(losses)
    totals: dict[str, Value] = {}
    for weighed in t.root.weighed.values():
        if weighed.values[0].node.id in cutter.ratios:
            continue
        if any(_key(v) in read for v in weighed.values):
            name = EMPTY_STEP if axes.of(weighed.empty) == NONE else EMPTY_BLOCK
            count = _count(t.builder, weighed)
            totals[name] = t.builder("add", totals[name], count) if name in totals else count
    return totals


def _count(b: Builder, weighed: Weighed) -> Value:
    count = weighed.empty
    if count.dtype != "f32":
        count = b("cast", count, dtype="f32")
    axes = tuple(range(len(count.shape)))
    return b("reduce-sum", count, axes=axes, keep=False) if axes else count


def _read(losses: Iterable[Value]) -> set[Key]:
    """All values that losses are computed from."""
    stack = list(losses)
    found = {_key(v) for v in stack}
    while stack:
        new = [v for v in stack.pop().node.operands if _key(v) not in found]
        found.update(map(_key, new))
        stack += new
    return found


def _key(value: Value) -> Key:
    return value.node.id, value.result
