"""Reaches through operations that move positions and along axes where masks count."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from .bands import Bands, Facts
from .graph import Node
from .reach import EVERYWHERE, FAR, Interval, Reach, joined

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
