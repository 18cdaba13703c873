"""Where the batch axis of each node is, from the operations' dependence rules.

Of every node: NONE (no example reaches it), an axis, or MIXED (examples meet in it).
"""

from __future__ import annotations

from collections.abc import Collection

from ..ir.graph import Node, Value
from ..ir.operation import Operations
from ..ir.types import Type

NONE = -2
MIXED = -1


class BatchAxes:
    """Asked node by node; answers are kept."""

    __slots__ = ("_given", "_known", "_operations")

    def __init__(self, operations: Operations, given: Collection[tuple[int, int]] = ()) -> None:
        """`given`: values (node id, result) that are taken as if no example reached them (R2)."""
        self._operations = operations
        self._given = {node for node, _ in given}
        self._known: dict[int, int] = {}

    def of(self, value: Value) -> int:
        """The batch axis of a value; its operands' are found first, without recursion."""
        known = self._known
        if value.node.id in known:
            return known[value.node.id]
        stack = [value.node]
        while stack:
            node = stack[-1]
            if node.id in known:
                stack.pop()
                continue
            waiting = [v.node for v in node.operands if v.node.id not in known]
            if waiting:
                stack.extend(waiting)
                continue
            known[node.id] = self._axis(node)
            stack.pop()
        return known[value.node.id]

    def _axis(self, node: Node) -> int:
        if node.id in self._given:
            return NONE
        if node.operation == "input":
            return 0 if node.get("kind") == "batch" and node.get("shape") else NONE
        if node.operation.startswith("random-") and node.get("batch-axis") is not None:
            return int(node.get("batch-axis"))
        reached = [
            (k, self._known[v.node.id])
            for k, v in enumerate(node.operands)
            if self._known[v.node.id] != NONE
        ]
        if not reached:
            return NONE
        if any(axis == MIXED for _, axis in reached):
            return MIXED
        if node.operation == "reshape":
            return _reshaped(node.operands[0].type, node.types[0], reached[0][1])
        return self._followed(node, reached)

    def _followed(self, node: Node, reached: list[tuple[int, int]]) -> int:
        operands = tuple(v.type for v in node.operands)
        rows = self._operations[node.operation].depends(operands, dict(node.attributes)).axes
        found: set[int] = set()
        for k, axis in reached:
            targets = {
                r for r, operand, a, how in rows if (operand, a) == (k, axis) and how == "same"
            }
            if len(targets) != 1:
                return MIXED
            found |= targets
        return found.pop() if len(found) == 1 else MIXED


def _reshaped(before: Type, after: Type, axis: int) -> int:
    """The axis after a reshape: kept, or merged with what lies inside it (batch-major)."""
    outer = 1
    for size in before.shape[:axis]:
        outer *= size
    rows = before.shape[axis]
    at = 1
    for i, size in enumerate(after.shape):
        if at == outer and size and size % rows == 0:
            return i
        at *= size
    return MIXED
