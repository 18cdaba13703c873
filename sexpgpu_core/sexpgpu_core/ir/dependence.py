"""Which positions of one axis of an input each value of a graph may depend on (80-trust, item 2).

A reach says it by the value's own axes: at index i of an axis it may read positions i + low to
i + high of the source; several axes are a union, and EVERYWHERE is all positions. Masks are seen
as bands: where key - query > most, a value does not depend on the source ("live"), is zero, or is
so low that a softmax makes it zero. What is not known is taken as everywhere: the law is that no
value changes outside its reach.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from ..records import NamedTuple
from .bands import Bands, Facts, index_facts
from .graph import Graph, Node, Value
from .interpret import expansion
from .operation import Operations

FAR = 1 << 60
"""An offset beyond every axis."""
Interval = tuple[int, int]


class Reach(NamedTuple):
    """`axes`: axis -> (low, high) of the value; `everywhere`: any position."""

    axes: Mapping[int, Interval]
    everywhere: bool = False

    @property
    def empty(self) -> bool:
        return not self.axes and not self.everywhere

    def upto(self, axis: int) -> bool:
        """Whether at index i of the axis no position after i is read."""
        return not self.everywhere and all(
            a == axis and high <= 0 for a, (_, high) in self.axes.items()
        )


NOWHERE = Reach({})
EVERYWHERE = Reach({}, True)


def joined(reaches: Collection[Reach]) -> Reach:
    """The union."""
    found: dict[int, Interval] = {}
    for reach in reaches:
        if reach.everywhere:
            return EVERYWHERE
        for axis, (low, high) in reach.axes.items():
            before = found.get(axis, (low, high))
            found[axis] = min(before[0], low), max(before[1], high)
    return Reach(found)


class Dependence:
    """Reaches of the values of one graph from one axis of some of them."""

    def __init__(
        self, graph: Graph, operations: Operations, sources: Collection[Value], axis: int
    ) -> None:
        self.graph = graph
        self._operations = operations
        start = {(v.node.id, v.result): Reach({axis: (0, 0)}) for v in sources}
        self._walk = _Walk(operations, start, {})
        for node in graph.nodes:
            self._walk.step(node)

    def of(self, value: Value) -> Reach:
        return self._walk.reaches[value.node.id, value.result]

    def breaks_causality(self, value: Value, axis: int) -> Node | None:
        """The first node that lets a position of `value`'s axis see a later one; None where the
        value is causal."""
        if self.of(value).upto(axis):
            return None
        above = {value.node.id}
        for node in reversed(self.graph.nodes[: value.node.id + 1]):
            if node.id in above:
                above.update(v.node.id for v in node.operands if not self.of(v).empty)
        for node in self.graph.nodes:
            if node.id in above and self._looks_ahead(node):
                return node
        return value.node

    def _looks_ahead(self, node: Node) -> bool:
        """Whether it reads ahead and none of its operands does."""
        return _ahead(self.of(Value(node))) and not any(_ahead(self.of(v)) for v in node.operands)


def _ahead(reach: Reach) -> bool:
    return reach.everywhere or any(high > 0 for _, high in reach.axes.values())


class _Walk:
    """Reaches and facts node by node."""

    def __init__(
        self,
        operations: Operations,
        reaches: dict[tuple[int, int], Reach],
        facts: dict[tuple[int, int], Facts],
    ) -> None:
        self.operations = operations
        self.given = set(reaches)
        self.reaches = reaches
        self.facts = facts

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
                self.reaches[key] = found
            self.facts[key] = known

    def _inside(
        self, node: Node, operands: list[Reach], facts: list[Facts]
    ) -> list[tuple[Reach, Facts]] | None:
        """Through a composite's parts, where its own rule says nothing of a mask."""
        if node.operation in RULES or not _is_composite(node, operands, self.operations):
            return None
        try:
            parts = expansion(node, self.operations)
        except NotImplementedError:
            return None
        inputs = {n.get("name"): (n.id, 0) for n in parts.nodes if n.operation == "input"}
        walk = _Walk(
            self.operations,
            {inputs[str(i)]: r for i, r in enumerate(operands) if str(i) in inputs},
            {},
        )
        for part in parts.nodes:
            walk.step(part)
            if part.operation == "input":
                walk.facts[part.id, 0] = facts[int(part.get("name"))]
        results = [parts.results[str(i)] for i in range(len(node.types))]
        return [
            (walk.reaches[v.node.id, v.result], walk.facts[v.node.id, v.result]) for v in results
        ]

    def _reach(self, node: Node, operands: list[Reach], facts: list[Facts]) -> Reach:
        reached = [k for k, r in enumerate(operands) if not r.empty]
        if not reached:
            return NOWHERE
        if any(operands[k].everywhere for k in reached):
            return EVERYWHERE
        rule = RULES.get(node.operation)
        if rule is not None:
            return joined([rule(node, k, operands[k], facts) for k in reached])
        if node.get("body") is not None:
            return EVERYWHERE
        return joined([self._by_rows(node, k, operands[k]) for k in reached])

    def _by_rows(self, node: Node, k: int, reach: Reach) -> Reach:
        """By the operation's own axis relations; a pair that is not listed is everywhere."""
        types = tuple(v.type for v in node.operands)
        rows = self.operations[node.operation].depends(types, dict(node.attributes)).axes
        found: dict[int, Interval] = {}
        for axis, (low, high) in reach.axes.items():
            target = [(r, how) for r, operand, a, how in rows if (operand, a) == (k, axis)]
            if (
                len(target) != 1
                or target[0][1] not in HOW
                or _stretched(node, k, axis, target[0][0])
            ):
                return EVERYWHERE
            at, how = target[0]
            interval = HOW[how](low, high)
            before = found.get(at, interval)
            found[at] = min(before[0], interval[0]), max(before[1], interval[1])
        return Reach(found)


HOW: dict[str, Callable[[int, int], Interval]] = {
    "same": lambda low, high: (low, high),
    "le": lambda low, high: (-FAR, high),
    "ge": lambda low, high: (low, FAR),
}


def _is_composite(node: Node, operands: list[Reach], operations: Operations) -> bool:
    """Where a mask may count, or the operation has no axis relations of its own."""
    if all(r.empty for r in operands):
        return False
    if node.operation == "attention":
        return bool(node.get("extras"))
    types = tuple(v.type for v in node.operands)
    return not operations[node.operation].depends(types, dict(node.attributes)).axes


def _stretched(node: Node, k: int, axis: int, at: int) -> bool:
    """Whether an axis of size 1 was spread: its one position is then read from all."""
    return node.operands[k].shape[axis] == 1 != node.types[0].shape[at]


# ---- operations that move positions
Rule = Callable[[Node, int, Reach, list[Facts]], Reach]


def _moved(reach: Reach, by: Mapping[int, int]) -> Reach:
    return Reach(
        {a: (low + by.get(a, 0), high + by.get(a, 0)) for a, (low, high) in reach.axes.items()}
    )


def _slice(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    steps = node.get("steps")
    if any(steps[a] != 1 for a in reach.axes):
        return EVERYWHERE
    return _moved(reach, dict(enumerate(node.get("starts"))))


def _slice_set(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    return reach if k == 0 else _moved(reach, {a: -s for a, s in enumerate(node.get("starts"))})


def _pad(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    inner = node.get("interior") or (0,) * len(node.types[0].shape)
    if any(inner[a] for a in reach.axes):
        return EVERYWHERE
    return _moved(reach, {a: -n for a, n in enumerate(node.get("low"))})


def _concat(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    axis = node.get("axis")
    before = sum(v.shape[axis] for v in node.operands[:k])
    return _moved(reach, {axis: -before})


def _flip(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    return EVERYWHERE if set(reach.axes) & set(node.get("axes")) else reach


def _conv(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    """A window of positions of each spatial axis; of the kernel nothing is known."""
    found: dict[int, Interval] = {}
    channels = len(node.types[0].shape) - 1
    for axis, (low, high) in reach.axes.items():
        if k != 0 or axis == channels:
            return EVERYWHERE
        if axis == 0:
            found[axis] = low, high
            continue
        a = axis - 1
        if node.get("strides")[a] != 1:
            return EVERYWHERE
        pad = node.get("padding")[a][0]
        width = node.get("dilations")[a] * (node.operands[1].shape[a] - 1)
        found[axis] = low - pad, high - pad + width
    return Reach(found)


# ---- operations along an axis, where masks count
def _banded(
    low: int, high: int, axis: int, bands: Bands, gone: Collection[int]
) -> tuple[int, Interval] | None:
    """What is left of a reach on an axis that is summed over: by the query axis of a band."""
    uppers = {q: most for q, k, most in bands if k == axis and q not in gone}
    lowers = {k: most for q, k, most in bands if q == axis and k not in gone}
    for query in sorted(uppers.keys() | lowers.keys()):
        top = high + uppers[query] if query in uppers else FAR
        bottom = low - lowers[query] if query in lowers else -FAR
        return query, (bottom, top)
    return None


def _reduced(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    given = node.get("axes")
    axes = given if given is not None else (node.get("axis"),)
    lows = facts[k].low if node.operation in ("reduce-max", "logsumexp") else frozenset()
    bands = facts[k].live | lows
    kept = [a for a in range(len(node.operands[k].shape)) if a not in axes]
    place = {a: a if node.get("keep") else i for i, a in enumerate(kept)}
    return _over(reach, axes, bands, place)


def _over(reach: Reach, axes: Collection[int], bands: Bands, place: Mapping[int, int]) -> Reach:
    parts = []
    for axis, (low, high) in reach.axes.items():
        if axis not in axes:
            parts.append(Reach({place[axis]: (low, high)}))
            continue
        left = _banded(low, high, axis, bands, axes)
        if left is None:
            return EVERYWHERE
        parts.append(Reach({place[left[0]]: left[1]}))
    return joined(parts)


def _softmax(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    """Each element sees its whole row, but for what is masked."""
    axis, rank = node.get("axis"), len(node.types[0].shape)
    bands = facts[0].live | facts[0].low
    if len(facts) > 1:
        bands = bands | facts[1].lifted(rank - len(node.operands[1].shape)).true
    if k == 1:
        lead = rank - len(node.operands[1].shape)
        reach = Reach({a + lead: i for a, i in reach.axes.items()})
    beside = Reach({a: i for a, i in reach.axes.items() if a != axis})
    along = Reach({a: i for a, i in reach.axes.items() if a == axis})
    return joined([beside, _over(along, (axis,), bands, {a: a for a in range(rank)})])


def _matmul(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    """Sums over the inner axis, where a zero of the other operand hides what it meets."""
    x, y = node.operands
    rank = len(node.types[0].shape)
    ranks = len(x.shape), len(y.shape)
    flags = bool(node.get("transpose-x")), bool(node.get("transpose-y"))
    inner = (ranks[0] - (2 if flags[0] else 1), ranks[1] - (1 if flags[1] else 2))
    outer = (ranks[0] - (1 if flags[0] else 2), ranks[1] - (2 if flags[1] else 1))
    result = rank - 2, rank - 1
    found = []
    for axis, (low, high) in reach.axes.items():
        if axis == outer[k]:
            found.append(Reach({result[k]: (low, high)}))
        elif axis != inner[k]:
            at = rank - ranks[k] + axis
            if node.operands[k].shape[axis] == 1 != node.types[0].shape[at]:
                return EVERYWHERE
            found.append(Reach({at: (low, high)}))
        else:
            left = _met(facts, inner, outer, result, low, high)
            if left is None:
                return EVERYWHERE
            found.append(left)
    return joined(found)


def _met(
    facts: list[Facts],
    inner: Interval,
    outer: Interval,
    result: Interval,
    low: int,
    high: int,
) -> Reach | None:
    for side in (0, 1):
        bands = facts[side].zero
        pair = [(q, k, m) for q, k, m in bands if {q, k} == {inner[side], outer[side]}]
        left = _banded(low, high, inner[side], frozenset(pair), ()) if pair else None
        if left is not None:
            return Reach({result[side]: left[1]})
    return None


REDUCTIONS = (
    *("reduce-sum", "reduce-max", "reduce-min", "reduce-product", "reduce-any", "reduce-all"),
    *("argmax", "argmin", "logsumexp"),
)
RULES: dict[str, Rule] = {
    "slice": _slice,
    "slice-set": _slice_set,
    "pad": _pad,
    "concat": _concat,
    "flip": _flip,
    "conv": _conv,
    "softmax": _softmax,
    "matmul": _matmul,
    **dict.fromkeys(REDUCTIONS, _reduced),
}
