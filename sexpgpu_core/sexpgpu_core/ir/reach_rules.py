"""Reaches through operations that move positions and along axes where masks count."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Union

from .bands import Bands, Facts
from .graph import Node
from .reach import EVERYWHERE, FAR, Reach, joined

# ---- operations that move positions
Rule = Callable[[Node, int, Reach, list[Facts]], Union[Reach, None]]  # noqa: UP007
"""Of an operand's reach, the result's; None: by the operation's own axis relations."""


def _slice(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    return reach.moved(dict(enumerate(zip(node.get("steps"), node.get("starts")))))


def _slice_set(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    return reach if k == 0 else reach.moved({a: (1, -s) for a, s in enumerate(node.get("starts"))})


def _pad(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    low, inner = node.get("low"), node.get("interior") or ()
    if not any(inner):
        return reach.moved({a: (1, -n) for a, n in enumerate(low)})
    from fractions import Fraction  # of few graphs: it imports much

    return reach.moved(
        {a: (Fraction(1, 1 + i), Fraction(-low[a], 1 + i)) for a, i in enumerate(inner)}
    )


def _concat(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    axis = node.get("axis")
    return reach.moved({axis: (1, -sum(v.shape[axis] for v in node.operands[:k]))})


def _flip(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    return reach.moved({a: (-1, node.types[0].shape[a] - 1) for a in node.get("axes")})


def _gather(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach | None:
    """By indices that are known; any position by others."""
    axis, batch = node.get("axis"), node.get("batch-axes") or 0
    if k != 0:
        return None
    more = len(node.operands[1].shape) - batch - 1
    rest = reach.renumbered({a: a if a < axis else a + more for a in reach.axes if a != axis})
    if axis not in reach.axes:
        return rest
    from .known_indices import read_by

    start = axis - batch
    return joined(
        [rest, read_by(node, reach.only(axis), axis, range(batch, batch + more + 1), start)]
    )


def _take_along(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach | None:
    axis = node.get("axis")
    if k != 0 or axis not in reach.axes:
        return None
    from .known_indices import read_by

    return joined([reach.without(axis), read_by(node, reach.only(axis), axis, (axis,), 0)])


def _conv(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    """A window of positions of each spatial axis; of the kernel nothing is known."""
    found = [reach.only(0)]
    channels = len(node.types[0].shape) - 1
    for axis in reach.axes.keys() - {0}:
        if k != 0 or axis == channels:
            return EVERYWHERE
        a = axis - 1
        pad = node.get("padding")[a][0]
        width = node.get("dilations")[a] * (node.operands[1].shape[a] - 1)
        window = reach.seen_from(axis, -pad, width - pad)
        found.append(window.moved({axis: (node.get("strides")[a], 0)}))
    return EVERYWHERE if k != 0 else joined(found)


# ---- operations along an axis, where masks count
def _banded(reach: Reach, axis: int, bands: Bands, gone: Collection[int]) -> Reach | None:
    """What is left of a reach on an axis that is summed over: by the query axis of a band."""
    uppers = {q: most for q, k, most in bands if k == axis and q not in gone}
    lowers = {k: most for q, k, most in bands if q == axis and k not in gone}
    for query in sorted(uppers.keys() | lowers.keys()):
        first = -lowers[query] if query in lowers else -FAR
        return reach.seen_from(axis, first, uppers.get(query, FAR), query)
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
    parts = [reach.renumbered({a: place[a] for a in reach.axes if a not in axes})]
    for axis in reach.axes.keys() & set(axes):
        left = _banded(reach, axis, bands, axes)
        if left is None:
            return EVERYWHERE
        parts.append(left.renumbered(place))
    return joined(parts)


def _softmax(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    """Each element sees its whole row, but for what is masked."""
    axis, rank = node.get("axis"), len(node.types[0].shape)
    bands = facts[0].live | facts[0].low
    if len(facts) > 1:
        bands = bands | facts[1].lifted(rank - len(node.operands[1].shape)).true
    if k == 1:
        lead = rank - len(node.operands[1].shape)
        reach = reach.renumbered({a: a + lead for a in reach.axes})
    along = _over(reach.only(axis), (axis,), bands, {a: a for a in range(rank)})
    return joined([reach.without(axis), along])


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
    for axis in reach.axes:
        if axis == outer[k]:
            found.append(reach.renumbered({axis: result[k]}))
        elif axis != inner[k]:
            at = rank - ranks[k] + axis
            if node.operands[k].shape[axis] == 1 != node.types[0].shape[at]:
                return EVERYWHERE
            found.append(reach.renumbered({axis: at}))
        else:
            left = _met(facts, inner, outer, result, reach, axis)
            if left is None:
                return EVERYWHERE
            found.append(left)
    return joined(found)


def _met(
    facts: list[Facts], inner: Pair, outer: Pair, result: Pair, reach: Reach, axis: int
) -> Reach | None:
    for side in (0, 1):
        bands = facts[side].zero
        pair = [(q, k, m) for q, k, m in bands if {q, k} == {inner[side], outer[side]}]
        on = reach.renumbered({axis: inner[side]})
        left = _banded(on, inner[side], frozenset(pair), ()) if pair else None
        if left is not None:
            return left.renumbered(dict.fromkeys(left.axes, result[side]))
    return None


Pair = tuple[int, int]
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
    "gather": _gather,
    "take-along": _take_along,
    "conv": _conv,
    "softmax": _softmax,
    "matmul": _matmul,
    **dict.fromkeys(REDUCTIONS, _reduced),
}
