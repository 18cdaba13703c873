"""Scans and whiles of a graph to `Repeat` calls: the body cut as a graph of its own.

A trip is to a body what a step is to a graph: carries are committed in place once all that reads
them is done, and what is stacked is committed at the trip's place.
"""

from __future__ import annotations

from ..ir import Graph, Node, Value
from .kernel import Bound, Repeat, Schedule, View

LOOPS = frozenset(("scan", "while"))


def read_where_it_lies(node: Node) -> tuple[Value, ...]:
    """What a node reads from memory: of a loop not the first carries, which are copied."""
    if node.operation not in LOOPS:
        return node.operands
    named = zip(node.get("inputs"), node.operands)
    return tuple([v for name, v in named if not name.startswith("carry:")])


def committing(body: Graph) -> Graph:
    """The body, whose results are commits to its own storages."""
    found = Graph()
    found.nodes, found.origins, found.bodies = body.nodes, body.origins, body.bodies
    found.results = {f"next:body:{name}": v for name, v in body.results.items()}
    return found


def repeat_call(
    node: Node, body: Schedule, inputs: dict[str, View], outputs: list[View], room: int
) -> Repeat:
    """`inputs`: where what is no carry lies, by name; `outputs`: the results, carries first."""
    made = dict(zip((name for name, _, _ in node.get("results")), outputs))
    scan = node.operation == "scan"
    places = _places(node) if scan else (0, 0)
    bound = []
    for storage in body.storages:
        if storage.kind != "body":
            continue
        name = storage.name
        view = made.get(name) or inputs[name]
        first, step = (0, 0) if name[0] == "c" else places
        size = storage.type.size
        offset = view.offset + first * size
        bound.append(Bound(name, view.storage, offset, step * size, name in made))
    known = {b.name for b in bound}
    bound += [
        Bound(name, view.storage, view.offset, 0, True)
        for name, view in made.items()
        if name not in known
    ]
    test = None if scan else outputs[-1].storage
    limit = node.get("length") if scan else node.get("limit")
    return Repeat(node, body, tuple(bound), limit, room, test)


def _places(node: Node) -> tuple[int, int]:
    """The place of the first trip in what is stacked, and from one to the next."""
    return (node.get("length") - 1, -1) if node.get("reverse") else (0, 1)
