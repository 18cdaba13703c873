"""Where the batch axis of each node is, from the operations' dependence rules.

Of every value: NONE (no example reaches it), an axis, or MIXED (examples meet in it); in the body
of a loop over the batch ROW (it is of one example).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from math import prod
from typing import Any

from ..ir.graph import Graph, Node, Value
from ..ir.operation import Operations
from ..ir.types import Type

NONE = -2
MIXED = -1
ROW = -3
NUMBER_OF_ROW = "x:row"
"""The input of a body that has the number of a trip which is a row of the batch."""


class BatchAxes:
    """Asked node by node; answers are kept."""

    __slots__ = ("_alike", "_bodies", "_given", "_input", "_known", "_operations", "_rows")

    def __init__(
        self,
        operations: Operations,
        given: Collection[tuple[int, int]] = (),
        bodies: Mapping[str, Graph] | None = None,
        of_input: Callable[[str], int] = lambda name: NONE,
        rows: int | None = None,
    ) -> None:
        """`given`: values (node id, result) that are taken as if no example reached them (R2).
        `of_input`: the axis of an input of a body, by its name. `rows`: how many examples there
        are, so that an axis that they share with others can be divided again."""
        self._operations = operations
        self._given = {node for node, _ in given}
        self._bodies = bodies or {}
        self._input = of_input
        self._rows = rows
        self._known: dict[int, tuple[int, ...]] = {}
        self._alike: dict[tuple[Any, ...], int] = {}  # by operation, types and attributes

    def of(self, value: Value) -> int:
        """The batch axis of a value; its operands' are found first, without recursion."""
        known = self._known
        if value.node.id in known:
            return known[value.node.id][value.result]
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
            known[node.id] = self._axes(node)
            stack.pop()
        return known[value.node.id][value.result]

    def _axes(self, node: Node) -> tuple[int, ...]:
        """Of each result of a node."""
        if node.id in self._given:
            return (NONE,) * len(node.types)
        if node.operation in BODIED:
            return BODIED[node.operation](self, node, [self._at(v) for v in node.operands])
        return (self._axis(node),) * len(node.types)

    def _at(self, value: Value) -> int:
        return self._known[value.node.id][value.result]

    def _axis(self, node: Node) -> int:
        if node.operation == "input":
            if node.get("kind") == "body":
                return self._input(node.get("name"))
            return 0 if node.get("kind") in ("batch", "rows") and node.get("shape") else NONE
        if any(self._at(v) == ROW for v in node.operands if node.operation[:7] == "random-"):
            return ROW
        if node.operation.startswith("random-") and node.get("batch-axis") is not None:
            return int(node.get("batch-axis"))
        reached = [(k, self._at(v)) for k, v in enumerate(node.operands) if self._at(v) != NONE]
        if not reached:
            return NONE
        if any(axis in (MIXED, ROW) for _, axis in reached):
            return ROW if all(axis == ROW for _, axis in reached) else MIXED
        if node.operation == "slice" and self._begun(node):
            return 0
        if node.operation == "reshape":
            return self._reshaped(node.operands[0].type, node.types[0], reached[0][1])
        operands = tuple([v.node.types[v.result] for v in node.operands])
        key = (node.operation, operands, node.attributes, *reached)
        if key not in self._alike:
            self._alike[key] = self._followed(node, operands, reached)
        return self._alike[key]

    def _followed(
        self, node: Node, operands: tuple[Type, ...], reached: list[tuple[int, int]]
    ) -> int:
        rows = self._operations[node.operation].depends(operands, dict(node.attributes)).axes
        found: set[int] = set()
        for k, axis in reached:
            targets = {
                r for r, operand, a, how in rows if (operand, a) == (k, axis) and how == "same"
            }
            if len(targets) != 1 or not self._all_of(node, operands[k].shape[axis], targets):
                return MIXED
            found |= targets
        return found.pop() if len(found) == 1 else MIXED

    def _begun(self, node: Node) -> bool:
        """Whether it takes of a pass's own rows those that its short last batch has (R3)."""
        state = node.operands[0].node
        short = state.operation == "input" and state.get("kind") == "rows"
        return short and node.types[0].shape[0] == self._rows and node.get("starts")[0] == 0

    @staticmethod
    def _all_of(node: Node, rows: int, targets: set[int]) -> bool:
        """Whether all examples are there still, and none but them: a slice of the batch takes what
        stands first in it, a pad adds rows, a slice-set writes over some."""
        (axis,) = targets
        if node.operation == "slice-set" and node.operands[1].shape[axis] != rows:
            return False
        return rows in (1, node.types[0].shape[axis])

    def _reshaped(self, before: Type, after: Type, axis: int) -> int:
        """The axis after a reshape: kept, merged with what lies inside it (batch-major), or divided
        from that again."""
        outer, at = prod(before.shape[:axis]), 1
        rows = before.shape[axis]
        if self._rows and rows % self._rows == 0:
            rows = self._rows
        for i, size in enumerate(after.shape):
            if at == outer and size and size % rows == 0:
                return i
            at *= size
        return MIXED

    def _body(self, key: str, axes: Mapping[str, int]) -> dict[str, int]:
        """Axes of a body's results from those of its inputs."""
        body = self._bodies[key]
        inner = BatchAxes(
            self._operations, (), body.bodies, lambda name: axes.get(name, NONE), self._rows
        )
        return {name: inner.of(value) for name, value in body.results.items()}

    def _of_loop(self, node: Node, given: list[int]) -> tuple[int, ...]:
        """A carry is what it starts as and what trips make of it; what is stacked has the trips
        in front. Of a loop in a row of another all is of that row, but for other rows that it
        goes over."""
        axes = dict(zip(node.get("inputs"), given))
        inside = ROW in given
        for name in axes:
            if name.startswith("x:") and axes[name] >= 0:
                axes[name] = axes[name] - 1 if axes[name] > 0 else MIXED if inside else ROW
            if name == NUMBER_OF_ROW:
                axes[name] = ROW
        while True:
            made = self._body(node.get("body"), axes)
            new = {n: _met(axes[n], a, inside) for n, a in made.items() if n in axes}
            if all(axes[n] == a for n, a in new.items()):
                break
            axes.update(new)
        return tuple(axes[n] if n in new else _stacked(a, inside) for n, a in made.items())

    def _of_choice(self, node: Node, given: list[int]) -> tuple[int, ...]:
        axes = dict(zip(node.get("inputs"), given))
        sides = [self._body(node.get(key), axes) for key in ("body", "other")]
        met = tuple(_met(a, sides[1][name]) for name, a in sides[0].items())
        return met if axes["test"] == NONE else tuple(MIXED for _ in met)

    def _given_on(self, node: Node, given: list[int]) -> tuple[int, ...]:
        return tuple(given[: len(node.types)])


Bodied = Callable[[BatchAxes, Node, "list[int]"], "tuple[int, ...]"]
BODIED: dict[str, Bodied] = {
    "scan": BatchAxes._of_loop,
    "while": BatchAxes._of_loop,
    "cond": BatchAxes._of_choice,
    "custom-gradient": BatchAxes._given_on,
}


def _met(a: int, b: int, inside: bool = False) -> int:
    """The axis of a value that is one or the other. `inside`: of one row at most."""
    if inside and {a, b} <= {ROW, NONE}:
        return ROW if ROW in (a, b) else NONE
    if a == b or b == NONE:
        return a if a != ROW else MIXED
    return b if a == NONE and b != ROW else MIXED


def _stacked(axis: int, inside: bool) -> int:
    if axis == ROW:
        return ROW if inside else 0
    return axis + 1 if axis >= 0 else axis
