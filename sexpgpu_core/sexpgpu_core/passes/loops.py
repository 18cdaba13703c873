"""Scans over the same operands become one: what the backward pass saves is a y more of the forward
scan. What no one reads of a scan is not stacked, and what its body does not read is no operand."""

from __future__ import annotations

from collections.abc import Callable

from ..ir import Builder, Graph, Node, Value
from ..ir.bodies import Key, copied, own_inputs
from ..ir.operation import Operations
from ..ir.ops.loops import scan
from .dead import drop_dead
from .rebuild import rebuild

Change = Callable[[Graph], Graph]


def with_bodies(graph: Graph, change: Change, only: set[str] | None = None) -> Graph:
    """The same graph with its bodies changed, `only` some; they keep their keys, the hashes of
    what was traced."""
    found = Graph()
    found.nodes, found.results, found.origins = graph.nodes, graph.results, graph.origins
    found.bodies = {
        k: change(v) if only is None or k in only else v for k, v in graph.bodies.items()
    }
    return found


def bodies_of(graph: Graph, operations: tuple[str, ...]) -> set[str]:
    """Keys of the bodies that nodes of some operations apply."""
    nodes = [n for n in graph.nodes if n.operation in operations]
    return {k for n in nodes for k in (n.get("body"), n.get("other")) if k is not None}


def join_scans(graph: Graph, operations: Operations) -> Graph:
    """In the graph and in all bodies."""
    graph = with_bodies(graph, lambda body: join_scans(body, operations))
    if not any(n.operation == "scan" for n in graph.nodes):
        return graph
    join = _Join(graph)
    return rebuild(graph, operations, join.change)


class _Join:
    """Groups of scans of equal operands, and what is read of them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.groups: dict[tuple[object, ...], list[Node]] = {}
        self.read: set[Key] = {(v.node.id, v.result) for v in graph.results.values()}
        self.made: dict[int, tuple[Value, ...]] = {}
        live = graph.live()
        for node in graph.nodes:
            if node.id in live:
                self.read.update((v.node.id, v.result) for v in node.operands)
                if node.operation == "scan":
                    self.groups.setdefault(_kind(node), []).append(node)

    def change(
        self, b: Builder, node: Node, operands: tuple[Value, ...]
    ) -> tuple[Value, ...] | None:
        """A `rebuild.Change`: the first of a group makes the scan of all."""
        if node.operation != "scan":
            return None
        if node.id not in self.made:
            waiting = [n for n in self.groups[_kind(node)] if n.id not in self.made]
            self._make(b, waiting, operands)
        return self.made[node.id]

    def _make(self, b: Builder, group: list[Node], operands: tuple[Value, ...]) -> None:
        """The scan of the first and of those with the same carries."""
        inner = Builder(b.operations)
        mine: list[tuple[Node, list[Value]]] = []
        for node in group:
            values = self._results(inner, node)
            if not mine or _carries(node, values) == _carries(*mine[0]):
                mine.append((node, values))
        results = dict(zip(_names(group[0]), _carries(*mine[0])))
        for node, values in mine:
            for i, value in enumerate(values):
                new = value not in list(results.values())[len(_names(group[0])) :]
                if self._stacked(node, i) and new:
                    results[f"y:{len(results)}"] = value
        inner.graph.results = results
        self._apply(b, mine, results, inner.graph, operands)

    def _apply(
        self,
        b: Builder,
        mine: list[tuple[Node, list[Value]]],
        results: dict[str, Value],
        body: Graph,
        operands: tuple[Value, ...],
    ) -> None:
        first = mine[0][0]
        body = drop_dead(body)
        read = {n.get("name") for n in body.inputs()}
        named = dict(zip(first.get("inputs"), operands))
        given = {n: v for n, v in named.items() if n in read or n in results}
        found = scan(
            b, body, given, first.get("length"), bool(first.get("reverse")), first.get("save")
        )
        places = {v: found[n] for n, v in results.items() if n.startswith("y:")}
        filler = next(iter(found.values()))
        for node, values in mine:
            carries = len(_names(node))
            self.made[node.id] = tuple(
                found[f"carry:{i}"] if i < carries else places.get(v, filler)
                for i, v in enumerate(values)
            )

    def _results(self, inner: Builder, node: Node) -> list[Value]:
        body = self.graph.bodies[node.get("body")]
        went = copied(inner, body, own_inputs(inner, body))
        return [went[v.node.id, v.result] for v in body.results.values()]

    def _stacked(self, node: Node, result: int) -> bool:
        return result >= len(_names(node)) and (node.id, result) in self.read


def _kind(node: Node) -> tuple[object, ...]:
    more = tuple(node.get(k) for k in ("inputs", "length", "reverse", "save"))
    return node.operands, more, node.policy, node.copy


def _names(node: Node) -> list[str]:
    """Names of the carries, which are the first results."""
    return [name for name, _, _ in node.get("results") if name.startswith("carry:")]


def _carries(node: Node, values: list[Value]) -> list[Value]:
    return values[: len(_names(node))]
