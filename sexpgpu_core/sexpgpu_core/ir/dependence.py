"""Which positions of one axis of an input each value of a graph may depend on (80-trust, item 2).

A reach says it by the value's own axes (`reach`). Masks are seen as bands: where key - query >
most, a value does not depend on the source ("live"), is zero, or is so low that a softmax makes it
zero. What is not known is taken as everywhere: the law is that no value changes outside its reach.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..records import NamedTuple
from .bands import NOTHING, Facts, index_facts
from .graph import Graph, Node, Value
from .interpret import expansion
from .operation import Operations
from .reach import EVERYWHERE, FAR, NOWHERE, Interval, Reach, ahead, along, joined, settled
from .reach_rules import RULES


class Leak(NamedTuple):
    """How a value comes to see later positions: `node` is the first that reads ahead; `path` leads
    from a source through it to the value."""

    node: Node
    reach: Reach
    path: tuple[Node, ...]


class Dependence:
    """Reaches of the values of one graph from one axis of some of them."""

    def __init__(
        self, graph: Graph, operations: Operations, sources: Collection[Value], axis: int
    ) -> None:
        self.graph = graph
        self._operations = operations
        start = {(v.node.id, v.result): along(axis) for v in sources}
        self._sources = {node for node, _ in start}
        size = max((v.shape[axis] for v in sources), default=0)
        self._walk = Walk(operations, start, {}, graph.bodies, size)
        for node in graph.nodes:
            self._walk.step(node)

    def of(self, value: Value) -> Reach:
        return self._walk.reaches[value.node.id, value.result]

    def leak(self, value: Value, axis: int) -> Leak | None:
        """The first node that lets a position of `value`'s axis see a later one; None where the
        value is causal."""
        if self.of(value).upto(axis):
            return None
        above = {value.node.id}
        for node in reversed(self.graph.nodes[: value.node.id + 1]):
            if node.id in above:
                above.update(v.node.id for v in node.operands if not self.of(v).empty)
        found = next((n for n in self.graph.nodes if n.id in above and self._looksahead(n)), None)
        node = found or value.node
        return Leak(node, self.of(Value(node)), self._path(node, value.node, above))

    def _looksahead(self, node: Node) -> bool:
        """Whether it reads ahead and none of its operands does."""
        return ahead(self.of(Value(node))) and not any(ahead(self.of(v)) for v in node.operands)

    def _path(self, node: Node, end: Node, above: Collection[int]) -> tuple[Node, ...]:
        """Up to a source by operands, down to the end by users, the shortest way."""
        first = [node]
        while first[-1].id not in self._sources:
            reached = [v.node for v in first[-1].operands if not self.of(v).empty]
            if not reached:
                break
            first.append(reached[0])
        before: dict[int, Node] = {end.id: end}
        waiting = [end]
        for n in waiting:
            for v in n.operands:
                if v.node.id in above and v.node.id not in before:
                    before[v.node.id] = n
                    waiting.append(v.node)
        last = [node]
        while last[-1] is not end and last[-1].id in before:
            last.append(before[last[-1].id])
        return (*reversed(first), *last[1:])


class Walk:
    """Reaches and facts node by node. `size`: positions of the source."""

    def __init__(
        self,
        operations: Operations,
        reaches: dict[tuple[int, int], Reach],
        facts: dict[tuple[int, int], Facts],
        bodies: Mapping[str, Graph],
        size: int,
    ) -> None:
        self.size = size
        self.operations = operations
        self.bodies = bodies
        self.given = set(reaches)
        self.reaches = reaches
        self.facts = facts
        self._known: dict[tuple[Any, ...], tuple[tuple[int, int, int, str], ...]] = {}

    def step(self, node: Node) -> None:
        operands = [self.reaches[v.node.id, v.result] for v in node.operands]
        facts = [self.facts[v.node.id, v.result] for v in node.operands]
        inside = self._inside(node, operands, facts)
        for i in range(len(node.types)):
            key = (node.id, i)
            if inside is not None:
                found, known = inside[i]
            else:
                found = self._reach(node, operands, facts)
                known = index_facts(node, facts, [not r.empty for r in operands])
            if key not in self.given:
                self.reaches[key] = settled(found, self.size)
            self.facts[key] = known

    def _inside(
        self, node: Node, operands: list[Reach], facts: list[Facts]
    ) -> list[tuple[Reach, Facts]] | None:
        """Through a composite's parts, where its own rule says nothing of a mask; through the
        bodies of a loop or a choice."""
        if node.operation in LOOPS and any(not r.empty for r in operands):
            from .loop_dependence import RULES as LOOP_RULES

            return [(r, NOTHING) for r in LOOP_RULES[node.operation](self, node, operands, facts)]
        if node.operation in RULES or not self._is_composite(node, operands, facts):
            return None
        try:
            parts = expansion(node, self.operations)
        except NotImplementedError:
            return None
        inputs = {n.get("name"): (n.id, 0) for n in parts.nodes if n.operation == "input"}
        walk = Walk(
            self.operations,
            {inputs[str(i)]: r for i, r in enumerate(operands) if str(i) in inputs},
            {},
            self.bodies,
            self.size,
        )
        for part in parts.nodes:
            walk.step(part)
            if part.operation == "input":
                walk.facts[part.id, 0] = facts[int(part.get("name"))]
        results = [parts.results[str(i)] for i in range(len(node.types))]
        return [
            (walk.reaches[v.node.id, v.result], walk.facts[v.node.id, v.result]) for v in results
        ]

    def _is_composite(self, node: Node, operands: list[Reach], facts: list[Facts]) -> bool:
        """Where a mask may count, or the operation has no axis relations of its own."""
        if all(r.empty for r in operands):
            return False
        if node.operation == "attention":
            return bool(node.get("extras"))
        if node.operation == "einsum" and any(f.zero for f in facts):
            return True
        return not self._relations(node)

    def _relations(self, node: Node) -> tuple[tuple[int, int, int, str], ...]:
        """The operation's axis relations; asked once for nodes that are alike: layers repeat."""
        types = tuple([v.node.types[v.result] for v in node.operands])
        key = (node.operation, types, node.attributes)
        found = self._known.get(key)
        if found is None:
            found = self.operations[node.operation].depends(types, dict(node.attributes)).axes
            self._known[key] = found
        return found

    def _reach(self, node: Node, operands: list[Reach], facts: list[Facts]) -> Reach:
        reached = [k for k, r in enumerate(operands) if not r.empty]
        if not reached:
            return NOWHERE
        if any(operands[k].everywhere for k in reached):
            return EVERYWHERE
        rule = RULES.get(node.operation)
        if rule is not None:
            found = [(k, rule(node, k, operands[k], facts)) for k in reached]
            return joined(
                [self._by_rows(node, k, operands[k]) if r is None else r for k, r in found]
            )
        if node.get("body") is not None:
            return EVERYWHERE
        return joined([self._by_rows(node, k, operands[k]) for k in reached])

    def _by_rows(self, node: Node, k: int, reach: Reach) -> Reach:
        """By the operation's own axis relations; of an axis that is in no pair, any index is
        read."""
        rows = self._relations(node)
        to: dict[int, int] = {}
        for axis in [a for a in reach.axes if a >= 0]:
            target = [(r, how) for r, operand, a, how in rows if (operand, a) == (k, axis)]
            if (
                len(target) != 1
                or target[0][1] not in HOW
                or _stretched(node, k, axis, target[0][0])
            ):
                reach = reach.gone(axis, node.operands[k].shape[axis])
                continue
            to[axis], how = target[0]
            reach = reach.seen_from(axis, *HOW[how])
        return reach.renumbered(to)


HOW: dict[str, Interval] = {"same": (0, 0), "le": (-FAR, 0), "ge": (0, FAR)}
"""Which indices of an operand one of the result reads, from its own."""


def _stretched(node: Node, k: int, axis: int, at: int) -> bool:
    """Whether an axis of size 1 was spread: its one position is then read from all."""
    return node.operands[k].shape[axis] == 1 != node.types[0].shape[at]


LOOPS = ("scan", "while", "cond", "custom-gradient")
"""What has bodies that are looked into: `loop_dependence`."""
