"""Checkpoints in the backward sweep (45.20): what it reads of them is computed again.

A node whose `copy` is not 0 belongs to a checkpoint. Where the sweep reaches one, it goes on with a
clone that has a `copy` of its own, so that equal nodes do not merge, and that is made of what
entered the checkpoint behind a `barrier` to the first cotangent, so that no order makes it sooner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir import Node, Value
from ..ir.types import FLOATS

if TYPE_CHECKING:
    from .reverse import GradientBuilder


class Recompute:
    """The clones of one sweep."""

    __slots__ = ("_b", "_clones", "_first", "_made", "_numbers")

    def __init__(self, b: GradientBuilder) -> None:
        self._b = b
        self._numbers: dict[int, int] = {}  # copy -> the copy of its clones
        self._first: dict[int, Value] = {}  # copy -> the cotangent that came first
        self._clones: dict[int, Node] = {}
        self._made: set[int] = set()

    def of(self, node: Node, out: tuple[Value | None, ...]) -> Node:
        """The node itself, or its clone where it belongs to a checkpoint."""
        if not node.copy or node.copy in self._made:
            return node
        if node.copy not in self._numbers:
            number = self._numbers[node.copy] = self._b.fresh_copy()
            self._made.add(number)
            self._first[node.copy] = next(g for g in out if g is not None)
        return self._clone(node)

    def _clone(self, node: Node) -> Node:
        """Clones of the node and of what it needs inside the checkpoint, operands first."""
        stack = [node]
        while stack:
            last = stack[-1]
            waiting = [
                v.node
                for v in last.operands
                if v.node.copy == node.copy and v.node.id not in self._clones
            ]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            if last.id not in self._clones:
                self._clones[last.id] = self._made_again(last)
        return self._clones[node.id]

    def _made_again(self, node: Node) -> Node:
        b = self._b
        operands = tuple([self._entered(v, node.copy) for v in node.operands])
        b.policy, b.copy = node.policy, self._numbers[node.copy]
        # No local rule: the clone has the operands and results of its original, one by one.
        made = b.node(node.operation, operands, dict(node.attributes))
        if node.id in b.reached:
            b.reached.add(made.id)
        origins = b.graph.origins.get(node.id)
        if origins:
            b.graph.origins.setdefault(made.id, origins)
        return made

    def _entered(self, value: Value, copy: int) -> Value:
        """An operand of a clone: a clone, or what enters the checkpoint, behind the barrier."""
        node = value.node
        if node.copy == copy:
            return Value(self._clones[node.id], value.result)
        if not node.operands and node.get("kind") not in ("batch", "body"):
            return value
        b = self._b
        b.policy, b.copy = node.policy, self._numbers[copy]
        held = Value(b.node("barrier", (value, self._first[copy]), {}))
        if node.id in b.reached and value.dtype in FLOATS:
            b.reached.add(held.node.id)
        return held
