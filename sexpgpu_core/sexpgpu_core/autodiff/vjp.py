"""The backward graph of a body: its nodes, then those of the sweep, in one graph."""

from __future__ import annotations

from collections.abc import Iterable

from ..ir import Graph, Node, Operations, Value
from ..ir.bodies import Key, copied
from ..ir.rules import local_rule
from ..ir.types import FLOATS
from .reverse import GradientBuilder, carriers, dependents, sweep

CHEAP = frozenset(("reshape", "permute", "broadcast-to", "flip", "stop-gradient"))
"""Moves: what they are made of is kept, not they."""


class Cut:
    """What the backward part of a trip is made of: nodes to copy, and values to be given."""

    def __init__(self) -> None:
        self.nodes: set[int] = set()
        self.kept: dict[Key, Value] = {}


class Backward:
    """A body with its backward part. `active`: inputs whose cotangents are asked; `given`: results
    that have one, which are inputs "cotangent:NAME"."""

    def __init__(
        self, operations: Operations, body: Graph, active: set[str], given: Iterable[str]
    ) -> None:
        b = self.b = GradientBuilder(operations, Graph())
        b.rule = None  # so that every value here is one of the body's
        self.inputs = {n.get("name"): b.input(n.get("name"), "body", *n.types[0])
                       for n in body.inputs()}  # fmt: skip
        went = copied(b, body, self.inputs)
        self.origin = {(v.node.id, v.result): key for key, v in went.items()}
        self.first = len(b.graph.nodes)
        b.rule = local_rule
        self.cotangents = {
            name: b.input(f"cotangent:{name}", "body", *body.results[name].type) for name in given
        }
        forward = b.graph.nodes[: self.first]
        roots = {v.node.id for n, v in self.inputs.items() if n in active}
        b.reached = carriers(operations, forward, roots)
        self._seed(body, went)
        self._varying = dependents(
            forward, {v.node.id for n, v in self.inputs.items() if not n.startswith("capture:")}
        )
        self._pulled = {n: self._found.get((v.node.id, 0)) for n, v in self.inputs.items()}

    def _seed(self, body: Graph, went: dict[Key, Value]) -> None:
        b = self.b
        self._found: dict[Key, Value] = {}
        for name, g in self.cotangents.items():
            value = body.results[name]
            value = went[value.node.id, value.result]
            if b.needs(value):
                key = value.node.id, value.result
                before = self._found.get(key)
                self._found[key] = g if before is None else b("add", before, g)
        nodes = [n for n in b.graph.nodes[: self.first] if n.id in b.reached]
        sweep(b, nodes, self._found)
        b.policy, b.copy = "", 0

    def of(self, name: str) -> Value | None:
        """The cotangent of an input."""
        return self._pulled.get(name)

    def cut(self, roots: Iterable[Value], everything: bool) -> Cut:
        """What the roots need. Kept: carries, and with `everything` all else of the forward part
        that is not the same in every trip; without, it is computed again."""
        found = Cut()
        stack = list(roots)
        while stack:
            value = stack.pop()
            node, key = value.node, (value.node.id, value.result)
            if node.id in found.nodes or key in found.kept:
                continue
            if self._is_kept(node, key, everything):
                found.kept[key] = value
                continue
            found.nodes.add(node.id)
            stack.extend(node.operands)
        return found

    def _is_kept(self, node: Node, key: Key, everything: bool) -> bool:
        if node.id >= self.first or key not in self.origin:
            return False
        if node.operation == "input":
            return str(node.get("name")).startswith("carry:")
        return everything and node.id in self._varying and node.operation not in CHEAP

    def varies(self, value: Value) -> bool:
        """Whether a value is another in each trip."""
        return value.node.id >= self.first or value.node.id in self._varying


def active_inputs(operations: Operations, body: Graph, start: set[str]) -> set[str]:
    """The inputs that a gradient is asked through, carries included that come to depend on one."""
    active = set(start)
    inputs = {n.get("name"): n.id for n in body.inputs()}
    while True:
        roots = {i for n, i in inputs.items() if n in active}
        reached = carriers(operations, body.nodes, roots)
        more = {
            name
            for name, v in body.results.items()
            if name.startswith("carry:") and v.node.id in reached and v.dtype in FLOATS
        }
        if more <= active:
            return active
        active |= more
