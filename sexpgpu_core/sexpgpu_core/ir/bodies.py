"""Graphs within graphs: copying a body into a builder, with policies, copies and origins."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .builder import Builder
from .graph import Graph, Node, Value

Key = tuple[int, int]
Given = Mapping[str, Value] | Callable[[Node], Value]


def copied(
    b: Builder,
    graph: Graph,
    given: Given,
    wanted: set[int] | None = None,
    known: Mapping[Key, Value] | None = None,
) -> dict[Key, Value]:
    """Where each value of the live nodes went. `given`: what stands for an input, by name or by
    node; `wanted`: ids of the nodes to copy, where not all that are live; `known`: what stands for
    values that are not copied."""
    b.graph.bodies.update(graph.bodies)
    wanted = graph.live() if wanted is None else wanted
    went: dict[Key, Value] = dict(known or {})
    policy, copy = b.policy, b.copy
    for node in graph.nodes:
        if node.id not in wanted:
            continue
        if node.operation == "input":
            went[node.id, 0] = given(node) if callable(given) else given[node.get("name")]
            continue
        operands = tuple([went[v.node.id, v.result] for v in node.operands])
        b.policy, b.copy = node.policy, node.copy
        origins = graph.origins.get(node.id)
        for i, value in enumerate(b.remake(node, operands)):
            went[node.id, i] = value
            if origins is not None:
                b.graph.origins.setdefault(value.node.id, origins)
    b.policy, b.copy = policy, copy
    return went


def own_inputs(b: Builder, graph: Graph) -> dict[str, Value]:
    """Inputs of the names and types of a body's own, in another graph."""
    return {n.get("name"): b.input(n.get("name"), "body", *n.types[0]) for n in graph.inputs()}
