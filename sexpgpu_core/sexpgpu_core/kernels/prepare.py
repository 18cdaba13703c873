"""A graph to the nodes that fusion sees: live ones, updates inlined, composites expanded.

Nodes keep their ids; nodes that are made here get higher ones, and `owner` says for which.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ..diagnostics import problem
from ..ir import Builder, Graph, Node, Value
from ..ir.graph import value_of
from ..ir.operation import Fusion, Operations
from .elements import KNOWN, is_even
from .short_rows import ShortRows, ends_in_short_row
from .views import MOVES

LEAVES = frozenset(("constant", "iota"))
INDEXED = frozenset(("gather", "take-along"))
RANDOM = frozenset(("random-bits", "random-uniform", "random-normal", "random-bernoulli"))
REDUCTIONS = frozenset(f"reduce-{kind}" for kind in ("sum", "max", "min", "product", "any", "all"))
COPIES = frozenset(("copy", "fill"))
PLACED = frozenset(("concat", "pad", "slice-set"))
"""Operations that are copies into parts of one storage."""


Part = tuple[int, int, int, Value]
"""(axis, from, to, value): a value padded with zeros on one axis."""


SPECIAL = REDUCTIONS | {"add", "add-along", "put-along", "take-along"}
"""Operations whose nodes are sometimes something else."""
_KEPT = (KNOWN | LEAVES | MOVES | PLACED | {"input", "table"}) - SPECIAL
"""Operations whose nodes are never something else, but for those of no element."""


def _padded_part(value: Value) -> Part | None:
    node = value.node
    if node.operation != "pad" or node.get("value") != 0 or node.get("interior"):
        return None
    low, high = node.get("low"), node.get("high")
    axes = [a for a in range(len(low)) if low[a] or high[a]]
    if len(axes) != 1:
        return None
    (axis,) = axes
    return axis, low[axis], low[axis] + node.operands[0].shape[axis], node.operands[0]


def is_compute(node: Node) -> bool:
    """Whether a node is fused into kernels."""
    return node.operation in COMPUTED


COMPUTED = KNOWN | REDUCTIONS | INDEXED | RANDOM | COPIES | {"update", "index-guard"}
"""An `update` that is left is one whose body is elementwise."""


class Prepared:
    """Nodes in order, results by name, and which node of the graph each stands for."""

    def __init__(self, graph: Graph, operations: Operations, library: Callable[[str], bool]):
        self.operations = operations
        self.library = library
        self.nodes: list[Node] = []
        self.owner: dict[int, int] = {}
        self.next_id = len(graph.nodes)
        self._bodies = dict(graph.bodies)
        self.sums: dict[int, tuple[Part, ...]] = {}  # adds of padded parts, by node
        self._even: dict[Any, bool] = {}
        self._orders: dict[str, list[int]] = {}
        self._inlined: dict[int, tuple[Value, ...]] = {}
        self._short = ShortRows(self.node)
        self.copies = self._short.copies  # of small values, which are stored
        self._of: int = -1
        self._went: dict[tuple[int, int], Value] = {}
        live = graph.live()
        for node in graph.nodes:
            if node.id in live:
                self._of = node.id
                self._place(node, self._went, node.id)
        self.results = {
            name: self._went.get((v.node.id, v.result), v) for name, v in graph.results.items()
        }
        self._drop_dead()

    def _drop_dead(self) -> None:
        live: set[int] = {v.node.id for v in self.results.values()}
        kept = []
        for node in reversed(self.nodes):
            if node.id in live:
                kept.append(node)
                live.update([v.node.id for v in node.operands])
        self.nodes = kept[::-1]

    def node(self, operation: str, operands: tuple[Value, ...], types: Any, **given: Any) -> Node:
        """A node of our own, put where we are."""
        made = Node(operation, operands, tuple(sorted(given.items())), types, "", 0, self.next_id)
        self.next_id += 1
        self.owner[made.id] = self._of
        self.nodes.append(made)
        return made

    def _place(self, node: Node, went: dict[tuple[int, int], Value], id: int) -> None:
        """Put a node, its operands replaced by where they went; expand it if it must be."""
        op = node.operation
        operands, changed = node.operands, id != node.id
        if went:
            operands = tuple([went.get((v.node.id, v.result), v) for v in operands])
            changed = changed or operands != node.operands
        now = node
        if changed:
            now = Node(op, operands, node.attributes, node.types, node.policy, node.copy, id)
        if op == "update":
            if id == node.id and self._is_even(node):
                self._keep(now, node, went, changed)
            else:
                self._inline(now, went, node.id)
            return
        rewritten = self._rewrite(now)
        if rewritten is None and (op in KNOWN or op in REDUCTIONS):
            whole = now.operands[0].type if op in REDUCTIONS else now.types[0]
            given = self._short.operands(now, whole, op in KNOWN)
            if given != now.operands:
                now = Node(op, given, node.attributes, node.types, node.policy, node.copy, id)
                changed = True
        if rewritten is not None:
            for i, value in enumerate(rewritten):
                went[node.id, i] = value
            return
        self._keep(now, node, went, changed)

    def _keep(
        self, now: Node, node: Node, went: dict[tuple[int, int], Value], changed: bool
    ) -> None:
        self.owner[now.id] = self._of
        self.nodes.append(now)
        if changed:
            for i in range(len(now.types)):
                went[node.id, i] = value_of((now, i))

    def _is_even(self, update: Node) -> bool:
        """Whether an update is one node of a kernel: its body is elementwise over one shape."""
        key = update.get("body"), update.types
        found = self._even.get(key)
        if found is None:
            shape = update.types[0].shape
            alike = all(t.shape == shape for t in update.types)
            found = self._even[key] = alike and is_even(self._bodies[key[0]], shape)
        return found

    def body(self, key: str) -> Graph:
        """The body of a loop."""
        found: Graph = self._bodies[key]
        return found

    def results_of(self, update: Node) -> tuple[Value, ...]:
        """An update's results in terms of its operands: its body, put here when it is asked for."""
        found = self._inlined.get(update.id)
        if found is None:
            went: dict[tuple[int, int], Value] = {}
            self._of = self.owner[update.id]
            self._inline(update, went, update.id)
            found = tuple([went[update.id, i] for i in range(len(update.types))])
            self._inlined[update.id] = found
        return found

    def stores_of(self, update: Node) -> list[int]:
        """An update's results in the order in which its body makes them."""
        key, results = update.get("body"), update.get("results")
        if key not in self._orders:
            made = self._bodies[key].results
            order = sorted(range(len(results)), key=lambda i: made[results[i][0]].node.id)
            self._orders[key] = order
        return self._orders[key]

    def _inline(self, node: Node, went: dict[tuple[int, int], Value], key: int) -> None:
        """The body of an update with the operands for its inputs."""
        body: Graph = self._bodies[node.get("body")]
        self._bodies.update(body.bodies)
        given = dict(zip(node.get("inputs"), node.operands))
        inside: dict[tuple[int, int], Value] = {}
        live = body.live()
        for inner in body.nodes:
            if inner.id not in live:
                continue
            if inner.operation == "input":
                inside[inner.id, 0] = given[inner.get("name")]
                continue
            id = self.next_id
            self.next_id += 1
            self._place(inner, inside, id)
        for i, (name, _, _) in enumerate(node.get("results")):
            value = body.results[name]
            went[key, i] = inside[value.node.id, value.result]

    def _rewrite(self, node: Node) -> tuple[Value, ...] | None:
        """Values instead of a node that no kernel and no library call does."""
        op = node.operation
        if op != "input" and self._is_empty(node):
            return self._expanded(lambda b: _emptied(b, node))
        if op in _KEPT:
            return None
        if op in REDUCTIONS:
            return self._by_runs(node)
        if op == "add":
            return self._joined(node)
        if op in ("add-along", "put-along") and _one_a_row(node):
            return self._expanded(lambda b: (_written_along(b, node),))
        if op == "take-along" and _one_a_row(node) and self._is_computed(node.operands[0]):
            return self._expanded(lambda b: (_taken_along(b, node),))
        if op in COMPUTED or self.library(op):
            return None
        if op == "while":
            raise problem("E-LOWER-WHILE", "the device has no while-loop")
        row = self.operations.get(op)
        found = None
        if row is not None:
            found = self._expanded(lambda b: row.expand(b, node))
        if found is None:
            raise problem("E-DEVICE-OPERATION", f"the device has no {op}", operation=op)
        return found

    def _is_empty(self, node: Node) -> bool:
        """Whether a node has no element, or is what a reduction or a product makes of none."""
        sums = node.operation in REDUCTIONS or node.operation == "matmul"
        if 0 not in node.types[0].shape:
            return sums and 0 in node.operands[0].shape
        if op_gives_constant(node):
            return False
        return all(0 in t.shape for t in node.types) or (sums and 0 in node.operands[0].shape)

    def _by_runs(self, node: Node) -> tuple[Value, ...] | None:
        """A reduction over axes that are not neighbours: one after another, from the last; that
        which leaves a short row, the last axis at the end.
        Over axes of one element it is a change of shape: nothing waits for it, so what moves its
        result may stand in a kernel with it."""
        source, axes = node.operands[0], node.get("axes")
        shape, out = source.shape, node.types[0].shape
        if all(shape[a] == 1 for a in axes):
            if shape == out:
                return (source,)
            return self._expanded(lambda b: (b("reshape", source, shape=out),))
        if len(axes) < 2:
            return None
        runs: list[list[int]] = []
        for axis in axes:
            between = range(runs[-1][-1] + 1, axis) if runs else ()
            if runs and all(shape[a] == 1 for a in between):
                runs[-1].append(axis)
            else:
                runs.append([axis])
        if len(runs) == 1 and ends_in_short_row(node):
            runs = [[axes[-1]], list(axes[:-1])]
        if len(runs) < 2:
            return None

        def make(b: Builder) -> tuple[Value, ...]:
            value = source
            for run in reversed(runs):
                value = b(node.operation, value, axes=tuple(run), keep=True)
            return (value if value.shape == out else b("reshape", value, shape=out),)

        return self._expanded(make)

    def _joined(self, node: Node) -> tuple[Value, ...] | None:
        """A sum of zero-padded parts that do not overlap and fill an axis: their concat."""
        parts = [p for v in node.operands for p in self.sums.get(v.node.id, ())]
        for value in node.operands:
            found = _padded_part(value)
            if found is not None:
                parts.append(found)
            elif value.node.id not in self.sums:
                return None
        axis = parts[0][0]
        parts.sort(key=lambda p: p[1])
        if any(p[0] != axis for p in parts):
            return None
        at = 0
        for _, low, high, _ in parts:
            if low < at:
                return None
            at = high
        self.sums[node.id] = tuple(parts)
        size = node.types[0].shape[axis]
        whole = parts[0][1] == 0 and all(a[2] == b[1] for a, b in itertools.pairwise(parts))
        if not whole or parts[-1][2] != size:
            return None
        operands = tuple(p[3] for p in parts)
        return self._expanded(lambda b: (b("concat", *operands, axis=axis),))

    def _is_computed(self, value: Value) -> bool:
        while value.node.operation in MOVES:
            value = value.node.operands[0]
        return is_compute(value.node)

    def _expanded(
        self, make: Callable[[Builder], tuple[Value, ...] | None]
    ) -> tuple[Value, ...] | None:
        """What an expansion gives, its nodes put here."""
        scratch = Graph()
        scratch.nodes = _Numbered(self.next_id)
        builder = Builder.__new__(Builder)
        Builder.__init__(builder, self.operations, Graph(), limit=1 << 60)
        builder.graph = scratch
        values = make(builder)
        made = list(scratch.nodes)
        self.next_id += len(made)
        if values is None:
            return None
        inside: dict[tuple[int, int], Value] = {}
        for node in made:
            self._place(node, inside, node.id)
        return tuple(inside.get((v.node.id, v.result), v) for v in values)


class _Numbered(list[Node]):
    """Nodes numbered from where others end: len counts those too, iteration does not."""

    def __init__(self, start: int) -> None:
        super().__init__()
        self.start = start

    def __len__(self) -> int:
        return self.start + super().__len__()


def op_gives_constant(node: Node) -> bool:
    return node.operation in LEAVES or node.operation == "table"


def _emptied(b: Builder, node: Node) -> tuple[Value, ...]:
    """Constants: of no elements, or the sum of none."""
    start = node.operation in ("reduce-product", "reduce-all")
    return tuple(
        b.constant(bool(start) if t.dtype == "bool" else int(start), *t) for t in node.types
    )


def _one_a_row(node: Node) -> bool:
    axis, index = node.get("axis"), node.operands[1]
    return bool(index.shape[axis] == 1)


def _hit(b: Builder, node: Node) -> Value:
    x, index, axis = node.operands[0], node.operands[1], node.get("axis")
    if node.get("out") != "drop":
        index = b("index-guard", index, limit=x.shape[axis])
    place = b("iota", dtype=index.dtype, shape=x.shape, axis=axis)
    return b("equal", index, place)


def _written_along(b: Builder, node: Node) -> Value:
    """x with y put or added where the iota is the index: one index a row."""
    x, y = node.operands[0], node.operands[2]
    added = node.operation == "add-along"
    zero = x.node.operation == "constant" and x.node.get("value") == 0
    new = b("add", x, y) if added and not zero else y
    return b("where", _hit(b, node), new, x)


def _taken_along(b: Builder, node: Node) -> Value:
    x, axis = node.operands[0], node.get("axis")
    if x.dtype == "bool":
        both = b("logical-and", _hit(b, node), x)
        return b("reduce-any", both, axes=(axis,), keep=True)
    chosen = b("where", _hit(b, node), x, b.like(0, x))
    return b("reduce-sum", chosen, axes=(axis,), keep=True)


__all__ = ["COPIES", "INDEXED", "LEAVES", "PLACED", "RANDOM", "REDUCTIONS", "Fusion", "Prepared"]
