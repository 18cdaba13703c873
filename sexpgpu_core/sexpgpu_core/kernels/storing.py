"""Which values get a storage: what other units read, unless it is cheaper to compute again."""

from __future__ import annotations

from ..ir import Node, Value
from .cluster import Clusters
from .elements import COST
from .frames import Key, base
from .prepare import COPIES, INDEXED, LEAVES, RANDOM, REDUCTIONS
from .views import MOVES, SHIFTING

CHEAP = 24
"""Most additions an element that are done again rather than stored: about one exponential."""
SMALL = 8
"""A value this many times smaller than another is cheap to read beside it."""


class Storing:
    """The decision, in the order of the nodes. `stored` holds the values that get a storage."""

    def __init__(self, nodes: list[Node], clusters: Clusters, forced: set[Key]) -> None:
        self.clusters = clusters
        self.stored = set(forced)
        self.users: dict[Key, set[int]] = {}
        self._units: dict[int, int] = {}
        self._note_uses(nodes)
        for node in nodes:
            for i in range(len(node.types)):
                self._decide(Value(node, i))

    def _note_uses(self, nodes: list[Node]) -> None:
        for node in nodes:
            if node.operation in MOVES:
                continue
            unit = self._unit(node)
            for value in node.operands:
                source = base(value)
                self.users.setdefault((source.node.id, source.result), set()).add(unit)
                if self._needs_place(node, value):
                    self.stored.add((source.node.id, source.result))

    def _unit(self, node: Node) -> int:
        """The first unit that makes a node. None is made or merged any more."""
        found = self._units.get(node.id)
        if found is None:
            units = self.clusters.members(self.clusters.maker.get((node.id, 0), 0))
            found = self._units[node.id] = units[0] if units else -1
        return found

    def _needs_place(self, node: Node, value: Value) -> bool:
        """Whether a use can only be of memory: a table to gather from, a shifted index."""
        if node.operation in INDEXED and value is node.operands[0]:
            return True
        while value.node.operation in MOVES:
            if value.node.operation in SHIFTING:
                return True
            value = value.node.operands[0]
        return False

    def _decide(self, value: Value) -> None:
        key = value.node.id, value.result
        op = value.node.operation
        if key in self.stored or op in MOVES or op in LEAVES or op == "input":
            return
        units = self.users.get(key)
        if not units:
            return
        maker = self._unit(value.node)
        cluster = self.clusters.units[maker] if maker >= 0 else None
        outside = units - {maker}
        if not outside and (isinstance(cluster, Node) or key in getattr(cluster, "made", ())):
            return
        leaves: dict[Key, Value] = {}
        cost = self._cost(value, value, leaves, 0)
        large = [k for k, v in leaves.items() if v.type.size * SMALL > value.type.size]
        if cost > CHEAP or (len(large) > 1 and value.type.size > 1):
            self.stored.add(key)
            return
        for leaf in leaves:
            self.stored.add(leaf)

    def _cost(self, value: Value, root: Value, leaves: dict[Key, Value], depth: int) -> int:
        """Additions an element to compute a value from what is stored; noted in `leaves`."""
        node = value.node
        if node.operation in LEAVES:
            return 0
        if node.operation in MOVES:
            return self._cost(node.operands[0], root, leaves, depth)
        key = node.id, value.result
        stored = key in self.stored or node.operation == "input"
        if stored or isinstance(self._maker(value), Node):
            leaves[key] = value
            return 0
        op = node.operation
        hard = op in REDUCTIONS or op in RANDOM or op == "update" or depth > 12
        if hard or node.operation in INDEXED or node.operation in COPIES:
            if value is not root and value.type.size * SMALL <= root.type.size:
                leaves[key] = value
                return 0
            return CHEAP + 1
        cost = COST.get(node.operation, 1)
        for operand in node.operands:
            cost += self._cost(operand, root, leaves, depth + 1)
            if cost > CHEAP:
                return cost
        return cost

    def _maker(self, value: Value) -> object:
        unit = self._unit(value.node)
        return self.clusters.units[unit] if unit >= 0 else value.node
