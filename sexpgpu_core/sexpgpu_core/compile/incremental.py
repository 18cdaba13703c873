"""A causal graph over the places of one sequence to the graph of one place.

What later places need of earlier ones is kept from launch to launch: keys and values of attention,
and whatever else is read along the places. A value is `fixed` (no place reaches it), a row (it is
of one place, and made at that place alone) or whole (of all places so far; later ones are zero,
and by causality do not count).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..ir import Builder, Graph, Operations
from ..ir.dependence import Dependence
from ..ir.graph import Node, Value
from ..ir.reach import Reach
from ..ir.scalars import text
from ..ir.types import Type
from ..records import NamedTuple
from ..staging.traced import TracedOutput
from .outputs import tokens

PLACE = ("ctx", "place")
"""The step scalar that says which place a launch is of."""


class Incremental(NamedTuple):
    """`traced` is of one place; states of rows that it gives are those after the last place, where
    it is launched for that. `kept`: what lives from launch to launch, by persistent name."""

    traced: TracedOutput
    kept: Mapping[str, Type]


def incremental(traced: TracedOutput, operations: Operations) -> Incremental:
    """Of an autoregressive output, traced for one row of as many places as there may be."""
    made = _Places(traced, operations)
    name = f"output:{traced.name}"
    results = {name: made.row(traced.graph.results[name])}
    for state in (f"output:{n}" for n in traced.fed):
        results[state] = made.whole(traced.graph.results[state])
    results.update({f"next:{kept}": value for kept, value in made.kept.items()})
    made.b.graph.results = results
    types = {kept: value.type for kept, value in made.kept.items()}
    one = {n: Type(t.dtype, (1, 1)) for n, t in {**traced.fields, **traced.own}.items()}
    again = traced._replace(
        graph=made.b.graph,
        metrics=(),
        fields=one,
        own={},
        scalars={**traced.scalars, text(PLACE): PLACE},
    )
    return Incremental(again, types)


class _Places:
    """Makes the graph of one place, node by node in order."""

    def __init__(self, traced: TracedOutput, operations: Operations) -> None:
        self.operations, self.name = operations, traced.name
        graph = traced.graph
        (self.source,) = tokens(traced)
        self.places = self.source.shape[1]
        self.dependence = Dependence(graph, operations, [self.source], 1)
        self.b = Builder(operations, Graph())
        self.b.graph.bodies = dict(graph.bodies)
        self.place = self.b.input(text(PLACE), "scalar", "i32", ())
        self.index = self.b("reshape", self.place, shape=(1,))
        self.fixed: dict[Value, Value] = {}
        self.rows: dict[Value, Value] = {}
        self.wholes: dict[Value, Value] = {}
        self.kept: dict[str, Value] = {}  # persistent name -> its next value
        live = graph.live()
        self.read = _read(graph, graph.results[f"output:{traced.name}"])
        for node in graph.nodes:
            if node.id in live:
                self._make(node)

    def _make(self, node: Node) -> None:
        self.b.policy = node.policy
        results = [Value(node, i) for i in range(len(node.types))]
        if node is self.source.node:
            name, dtype = node.get("name"), node.get("dtype")
            self.rows[self.source] = self.b.input(name, "batch", dtype, (1, 1))
        elif all(self._reach(v).empty for v in results):
            made = self.b.remake(node, tuple(self.fixed[v] for v in node.operands))
            self.fixed.update(zip(results, made))
        elif (rows := self._row(node)) is not None:
            for value, one in zip(results, rows):  # what a loop carries is of all places so far
                (self.wholes if self.axis(value) is None else self.rows)[value] = one
        else:
            made = self.b.remake(node, tuple(self.whole(v) for v in node.operands))
            self.wholes.update(zip(results, made))

    def _reach(self, value: Value) -> Reach:
        return self.dependence.of(value)

    def axis(self, value: Value) -> int | None:
        """The axis of places of a value that sees its own and earlier ones; None if it has none."""
        reach = self._reach(value)
        if reach.everywhere or len(reach.axes) != 1:
            return None
        (axis,) = reach.axes
        if value.shape[axis] != self.places or not reach.upto(axis):
            return None
        return axis

    # -- values in the three forms

    def row(self, value: Value) -> Value:
        """At this place: 1 on the axis of places."""
        found = self.rows.get(value)
        if found is None:
            axis = self.axis(value)
            assert axis is not None, "a causal result has an axis of places"
            found = self.rows[value] = self._at(self.wholes[value], axis)
        return found

    def whole(self, value: Value) -> Value:
        """At all places: what is made place by place is kept."""
        found = self.fixed.get(value) or self.wholes.get(value)
        if found is None:
            found = self.wholes[value] = self._kept(value)
        return found

    def _kept(self, value: Value) -> Value:
        axis = self.axis(value)
        assert axis is not None
        before = self._before(value.type)
        after = self.b("scatter-set", before, self.index, self.rows[value], axis=axis)
        return self._next(before, after)

    def _before(self, type: Type) -> Value:
        """What the last launch left; zeros at first."""
        path = f"output/{self.name}/{len(self.kept)}"
        return self.b.input(path, "state", type.dtype, type.shape)

    def _next(self, before: Value, after: Value) -> Value:
        self.kept[f"state:{before.node.get('name')}"] = after
        return after

    def _at(self, value: Value, axis: int) -> Value:
        return self.b("gather", value, self.index, axis=axis)

    # -- nodes that are made at one place

    def _row(self, node: Node) -> tuple[Value, ...] | None:
        """The node's results at this place from its operands' there; None where it reads others."""
        if node.operation == "scan":
            return self._scan(node)
        axis = self.axis(Value(node))
        if axis is None or len(node.types) != 1 or node.get("body") is not None:
            return None
        if node.operation == "attention":
            return self._attention(node, axis)
        operands, attributes = self._local(node, axis), _at_one(node, axis)
        if operands is None or attributes is None:
            return None
        if node.operation == "rope" and len(operands) == 1:
            operands.append(self.index)
        return (self.b(node.operation, *operands, **attributes),)

    def _local(self, node: Node, axis: int) -> list[Value] | None:
        """Operands for one place, if each place of the result reads that place alone."""
        types = tuple(v.type for v in node.operands)
        rows = self.operations[node.operation].depends(types, dict(node.attributes)).axes
        found = []
        for k, value in enumerate(node.operands):
            there = [a for r, operand, a, how in rows if (r, operand, how) == (axis, k, "same")]
            other = [a for r, operand, a, how in rows if (r, operand) == (axis, k)]
            if self._reach(value).empty:
                if len(other) > 1 or other != there:
                    return None
                spread = bool(there) and value.shape[there[0]] == self.places > 1
                made = self.fixed[value]
                found.append(self._at(made, there[0]) if spread else made)
                continue
            at = self.axis(value)
            if at is None or not self._follows(node, k, at, axis, rows):
                return None
            found.append(self.row(value))
        return found

    def _follows(
        self, node: Node, k: int, at: int, axis: int, rows: tuple[tuple[int, int, int, str], ...]
    ) -> bool:
        """Whether the axis of places of operand k becomes that of the result, place by place."""
        before, after = node.operands[k].shape, node.types[0].shape
        if node.operation == "reshape":
            same = math.prod(before[:at]) == math.prod(after[:axis])
            return same and before[at] == after[axis]
        return [(r, how) for r, operand, a, how in rows if (operand, a) == (k, at)] == [
            (axis, "same")
        ]

    def _attention(self, node: Node, axis: int) -> tuple[Value, ...] | None:
        """One query over all keys so far."""
        q, k, v = node.operands[:3]
        extras = node.get("extras") or ()
        places = [self.axis(x) for x in (q, k, v)]
        if axis != 1 or places != [1, 1, 1] or q.shape[1] != k.shape[1]:
            return None
        if any(not self._reach(x).empty for x in node.operands[3:]):
            return None
        given = {n: self._of_query(x) for n, x in zip(extras, node.operands[3:])}
        if node.get("causal"):
            seen = self._seen(node.get("window"))
            mask = given.get("mask")
            given["mask"] = seen if mask is None else self.b("logical-and", seen, mask)
        names = tuple(n for n in ("mask", "bias", "keep") if n in given)
        attributes: dict[str, Any] = {
            n: a for n, a in node.attributes if n not in ("causal", "window", "extras")
        }
        operands = (self.row(q), self.whole(k), self.whole(v), *(given[n] for n in names))
        return (self.b("attention", *operands, **attributes, extras=names or None),)

    def _scan(self, node: Node) -> tuple[Value, ...] | None:
        """One trip of a loop over places; what it carries is kept, and begins at place 0."""
        names = node.get("inputs")
        made = [n for n, _, _ in node.get("results")]
        if node.get("reverse") or node.get("length") != self.places:
            return None
        if any(n.startswith("carry:") and Value(node, i) in self.read for i, n in enumerate(made)):
            return None
        if not all(self._enters(n, v) for n, v in zip(names, node.operands)):
            return None
        begun = {n: self._carried(v) for n, v in zip(names, node.operands) if n[:6] == "carry:"}
        first = self.b("equal", self.place, self.b.constant(0, "i32"))
        operands = []
        for name, value in zip(names, node.operands):
            fixed = self.fixed.get(value)
            if name in begun:
                operands.append(self.b("where", first, self.fixed[value], begun[name]))
            elif name.startswith("x:"):
                operands.append(self.row(value) if fixed is None else self._at(fixed, 0))
            else:
                operands.append(self.fixed[value])
        attributes = {**dict(node.attributes), "length": 1}
        results = self.b.several("scan", *operands, **attributes)
        for name, value in zip(made, results):
            if name in begun:
                self._next(begun[name], value)
        return results

    def _enters(self, name: str, value: Value) -> bool:
        """Whether an operand of a loop is of its trips by place, or of no place."""
        if self._reach(value).empty:
            return True
        return name.startswith("x:") and self.axis(value) == 0

    def _carried(self, value: Value) -> Value:
        before = self._before(value.type)
        return self._next(before, before)

    def _of_query(self, value: Value) -> Value:
        """A fixed extra, (... query key), at this place."""
        made, axis = self.fixed[value], len(value.shape) - 2
        return self._at(made, axis) if axis >= 0 and value.shape[axis] > 1 else made

    def _seen(self, window: int | None) -> Value:
        """(1 keys): true up to this place, and within the window."""
        b = self.b
        key = b("iota", dtype="i32", shape=(1, self.places), axis=1)
        seen = b("less-equal", key, self.place)
        if window is None:
            return seen
        near = b("less", b("subtract", self.place, key), b.constant(window, "i32"))
        return b("logical-and", seen, near)


def _read(graph: Graph, result: Value) -> set[Value]:
    """Operands of all that a result needs."""
    needed = {result.node.id}
    for node in reversed(graph.nodes):
        if node.id in needed:
            needed.update(v.node.id for v in node.operands)
    return {v for n in graph.nodes if n.id in needed for v in n.operands}


def _at_one(node: Node, axis: int) -> dict[str, Any] | None:
    """Attributes for one place: those that hold sizes change; None where they cannot."""
    attributes: dict[str, Any] = dict(node.attributes)
    if node.operation in ("reshape", "broadcast-to"):
        shape = attributes["shape"]
        attributes["shape"] = (*shape[:axis], 1, *shape[axis + 1 :])
    elif node.operation == "slice":
        whole = (attributes["starts"][axis], attributes["steps"][axis]) == (0, 1)
        if not whole or attributes["stops"][axis] != node.operands[0].shape[axis]:
            return None
        stops = attributes["stops"]
        attributes["stops"] = (*stops[:axis], 1, *stops[axis + 1 :])
    padded = node.operation == "pad" and (attributes["low"][axis] or attributes["high"][axis])
    sized = "input-shape" in attributes or node.operation.startswith("random-")
    return None if padded or sized else attributes
