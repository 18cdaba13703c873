"""A traced pass cut in two: what runs for each batch, and what runs once of all examples (R22).

The end reads as its fields what the batches give as results `over:I`, joined in the order of the
pass; nothing of a batch is computed in it, and nothing of the whole in a batch.
"""

from __future__ import annotations

from ..diagnostics import problem
from ..ir import Builder, Graph, Node, Operations, Value
from ..passes.rebuild import rebuild
from ..staging.metrics import kinds_of
from ..staging.traced import Metric, Traced

BATCH = frozenset(("batch", "rows"))
"""Kinds of inputs that have the rows of a batch."""


def cut_off(
    whole: Traced | None, rest: Traced | None, operations: Operations
) -> tuple[Traced | None, Traced | None, Traced]:
    """The programs of a batch and of the last short one, without what is of the whole pass; and
    the program of that. Raises E-METRIC for a metric of both."""
    traced = whole or rest
    assert traced is not None
    of_whole = frozenset(m.name for m in traced.metrics if _of_whole(traced, m))
    ends = _end(traced, of_whole, operations)
    return _batch(whole, of_whole), _batch(rest, of_whole), ends


def _results(metric: Metric) -> list[str]:
    kinds = ("sum", "weight") if metric.kind == "mean" else ("value",)
    return [f"metric:{metric.name}:{kind}" for kind in (*kinds, "value")]


def _of_whole(traced: Traced, metric: Metric) -> bool:
    """Whether a metric is computed of all examples of the pass."""
    graph = traced.graph
    kinds = [kinds_of(graph.results[n]) for n in _results(metric) if n in graph.results]
    if not any("over" in found for found in kinds):
        return False
    if any(found & BATCH for found in kinds):
        raise problem(
            "E-METRIC",
            f'"{metric.name}" is of a batch and of the whole pass at once',
            hint="gather all that it is made of: (over-pass x)",
            name=metric.name,
        ).locate(metric.span)
    return True


def _batch(traced: Traced | None, of_whole: frozenset[str]) -> Traced | None:
    """What is left of a batch's program."""
    if traced is None:
        return None
    gone = {n for m in traced.metrics if m.name in of_whole for n in _results(m)}
    graph = _with_results(
        traced.graph, {n: v for n, v in traced.graph.results.items() if n not in gone}
    )
    metrics = tuple(m for m in traced.metrics if m.name not in of_whole)
    return traced._replace(graph=graph, metrics=metrics)


def _end(traced: Traced, of_whole: frozenset[str], operations: Operations) -> Traced:
    metrics = tuple(m for m in traced.metrics if m.name in of_whole)
    names = [n for m in metrics for n in _results(m)]
    results = {n: traced.graph.results[n] for n in names if n in traced.graph.results}
    graph = rebuild(_with_results(traced.graph, results), operations, _as_fields)
    read = [str(n.get("name")) for n in graph.inputs() if n.get("kind") == "batch"]
    fields = {name: traced.gathered[name] for name in read}
    rows = max((t.shape[0] for t in traced.gathered.values()), default=1)
    return traced._replace(graph=graph, metrics=metrics, fields=fields, rows=rows)


def _as_fields(b: Builder, node: Node, operands: tuple[Value, ...]) -> tuple[Value, ...] | None:
    """Inputs of the whole pass as fields of a batch, which devices know."""
    if node.operation != "input" or node.get("kind") != "over":
        return None
    (type,) = node.types
    return (b.input(str(node.get("name")), "batch", type.dtype, type.shape),)


def _with_results(graph: Graph, results: dict[str, Value]) -> Graph:
    """The same nodes with other results."""
    found = Graph()
    found.nodes, found.origins, found.bodies = graph.nodes, graph.origins, graph.bodies
    found.results = results
    return found
