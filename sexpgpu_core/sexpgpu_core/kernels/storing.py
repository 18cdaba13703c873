"""Which values get a storage: what other units read, unless it is cheaper to compute again."""

from __future__ import annotations

from ..ir import Node, Value
from ..ir.graph import value_of
from .cluster import Clusters
from .elements import COST
from .frames import Cluster
from .prepare import COPIES, INDEXED, LEAVES, RANDOM, REDUCTIONS
from .repeat import read_where_it_lies
from .views import MOVES, SHIFTING

CHEAP = 24
"""Most additions an element that are done again rather than stored, on a CPU: about one
exponential. A device may have its own number."""
SMALL = 8
"""A value this many times smaller than another is cheap to read beside it."""

ROWS, DEAR = 64, 8
"""What is a row to so many others costs so many times as much to compute in each of them; not where
a device computes for less than it reads: `cheap` is above ours then."""


class Storing:
    """The decision, in the order of the nodes. `stored` holds the values that get a storage."""

    def __init__(
        self, nodes: list[Node], clusters: Clusters, forced: set[Value], cheap: int = CHEAP
    ) -> None:
        self.clusters = clusters
        self.cheap = cheap
        self.stored = set(forced)
        self.users: dict[Value, set[int]] = {}
        self._units = _units(clusters)
        self._note_uses(nodes)
        for node in nodes:
            for i in range(len(node.types)):
                value = value_of((node, i))
                units = self.users.get(value)
                if units and value not in self.stored:
                    self._decide(value, units)

    def _note_uses(self, nodes: list[Node]) -> None:
        """Who uses a value; one whose use can only be of memory is stored: the table, the first
        operand, of a gather (its indices are computed where it reads), and what is shifted."""
        users = self.users
        for node in nodes:
            unit = self._units[node]
            for i, value in enumerate(read_where_it_lies(node)):
                placed = i == 0 and node.operation in INDEXED
                while value.node.operation in MOVES:
                    placed = placed or value.node.operation in SHIFTING
                    value = value.node.operands[0]
                if value in users:
                    users[value].add(unit)
                else:
                    users[value] = {unit}
                if placed:
                    self.stored.add(value)

    def _unit(self, node: Node) -> int:
        """The first unit that makes a node."""
        found = self._units.get(node)
        if found is None:
            units = self.clusters.members(self.clusters.maker.get(Value(node), 0))
            found = self._units[node] = units[0] if units else -1
        return found

    def _decide(self, value: Value, users: set[int]) -> None:
        maker = self._unit(value.node)
        if len(users) == 1 and maker in users:
            unit = self.clusters.units[maker] if maker >= 0 else None
            if isinstance(unit, Node) or (unit is not None and value in unit.made):
                return
        leaves: dict[Value, None] = {}
        cost = self._cost(value, value, leaves, 0)
        size = value.type.size
        large = sum([v.type.size * SMALL > size for v in leaves])
        again = self.cheap <= CHEAP and any(self._is_row_of(value, u) for u in users)
        if cost * (DEAR if again else 1) > self.cheap or (large > 1 and size > 1):
            self.stored.add(value)
        else:
            self.stored.update(leaves)

    def _is_row_of(self, value: Value, user: int) -> bool:
        """Whether a unit has a value as each of its many rows, which would all compute it."""
        unit, size = self.clusters.units[user], value.type.size
        many = isinstance(unit, Cluster) and size * ROWS <= unit.size
        return many and size > 1 and value.shape[-1] > 1

    def _cost(self, value: Value, root: Value, leaves: dict[Value, None], depth: int) -> int:
        """Additions an element to compute a value from what is stored; noted in `leaves`."""
        node = value.node
        if node.operation in LEAVES:
            return 0
        if node.operation in MOVES:
            return self._cost(node.operands[0], root, leaves, depth)
        stored = value in self.stored or node.operation == "input"
        if stored or isinstance(self._maker(value), Node):
            leaves[value] = None
            return 0
        op = node.operation
        hard = op in REDUCTIONS or op in RANDOM or op == "update" or depth > 12
        if hard or node.operation in INDEXED or node.operation in COPIES:
            if value is not root and value.type.size * SMALL <= root.type.size:
                leaves[value] = None
                return 0
            return self.cheap + 1
        cost = COST.get(node.operation, 1)
        for operand in node.operands:
            cost += self._cost(operand, root, leaves, depth + 1)
            if cost > self.cheap:
                return cost
        return cost

    def _maker(self, value: Value) -> object:
        unit = self._unit(value.node)
        return self.clusters.units[unit] if unit >= 0 else value.node


def _units(clusters: Clusters) -> dict[Node, int]:
    """The unit of each node that is in one. None is made or merged any more."""
    found: dict[Node, int] = {}
    for number, unit in enumerate(clusters.units):
        if clusters.same[number] == number:
            found.update(
                dict.fromkeys(unit.nodes if isinstance(unit, Cluster) else (unit,), number)
            )
    return found
