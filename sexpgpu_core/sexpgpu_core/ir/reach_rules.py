"""Reaches through operations that move positions and along axes where masks count."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Union

from .bands import Bands, Facts
from .graph import Node
from .reach import FAR, Reach, along, joined, shifted

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
    """What does not depend on the place is told from it, where other parts of the operand are."""
    axis = node.get("axis")
    start, size = sum(v.shape[axis] for v in node.operands[:k]), node.operands[k].shape[axis]
    moved = reach.moved({axis: (1, -start)})
    fixed = reach.terms.get(())
    if fixed is None or axis not in reach.axes:
        return moved
    low, high = shifted(fixed, 1 - start - size, -start)
    kept = {paces: ends for paces, ends in moved.terms.items() if paces}
    return joined([Reach(kept), along(axis, low, high)])


def _flip(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    return reach.moved({a: (-1, node.types[0].shape[a] - 1) for a in node.get("axes")})


CHOSEN = 1 << 8
"""While indices choose along an axis: its number, beside those of the result."""


def _gather(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach | None:
    """By indices that are known; any position by others."""
    axis, batch = node.get("axis"), node.get("batch-axes") or 0
    if k != 0:
        return None
    more = len(node.operands[1].shape) - batch - 1
    to = {a: a if a < axis else a + more for a in range(len(node.operands[0].shape))}
    found = reach.renumbered({**to, axis: CHOSEN})
    if axis not in reach.axes:
        return found
    from .known_indices import read_by

    start = axis - batch
    return read_by(node, found, CHOSEN, axis, range(batch, batch + more + 1), start)


def _take_along(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach | None:
    axis = node.get("axis")
    if k != 0 or axis not in reach.axes:
        return None
    from .known_indices import read_by

    found = reach.renumbered({a: a for a in range(len(node.operands[0].shape))} | {axis: CHOSEN})
    return read_by(node, found, CHOSEN, axis, (axis,), 0)


def _conv(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    """A window of positions of each spatial axis; of the kernel nothing is known."""
    shape = node.operands[k].shape
    if k != 0:
        return _none_of(reach, shape, range(len(shape)))
    channels = len(shape) - 1
    for axis in reach.axes & set(range(1, channels)):
        a = axis - 1
        pad = node.get("padding")[a][0]
        width = node.get("dilations")[a] * (node.operands[1].shape[a] - 1)
        reach = reach.seen_from(axis, -pad, width - pad)
        reach = reach.moved({axis: (node.get("strides")[a], 0)})
    return reach.gone(channels, shape[channels])


def _reshape(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    return reach.reshaped(node.operands[0].shape, node.types[0].shape)


# ---- operations along an axis, where masks count
def _none_of(reach: Reach, shape: tuple[int, ...], axes: Iterable[int]) -> Reach:
    """Where the result has none of these axes: any index of them is read."""
    for axis in reach.axes & set(axes):
        reach = reach.gone(axis, shape[axis])
    return reach


def _summed(reach: Reach, axes: Collection[int], bands: Bands, shape: tuple[int, ...]) -> Reach:
    """What is left of axes that are summed over: by the query axis of a band, or any index."""
    for axis in sorted(reach.axes & set(axes)):
        uppers = {q: most for q, k, most in bands if k == axis and q not in axes}
        lowers = {k: most for q, k, most in bands if q == axis and k not in axes}
        query = min(uppers.keys() | lowers.keys(), default=None)
        if query is None:
            reach = reach.gone(axis, shape[axis])
            continue
        first = -lowers[query] if query in lowers else -FAR
        reach = reach.seen_from(axis, first, uppers.get(query, FAR), query)
    return reach


def _reduced(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    given, shape = node.get("axes"), node.operands[k].shape
    axes = given if given is not None else (node.get("axis"),)
    lows = facts[k].low if node.operation in ("reduce-max", "logsumexp") else frozenset()
    kept = [a for a in range(len(shape)) if a not in axes]
    place = {a: a if node.get("keep") else i for i, a in enumerate(kept)}
    return _summed(reach, axes, facts[k].live | lows, shape).renumbered(place)


def _softmax(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    """Each element sees its whole row, but for what is masked."""
    axis, shape = node.get("axis"), node.types[0].shape
    bands = facts[0].live | facts[0].low
    if len(facts) > 1:
        bands = bands | facts[1].lifted(len(shape) - len(node.operands[1].shape)).true
    if k == 1:
        own = node.operands[1].shape
        lead = len(shape) - len(own)
        spread = [a for a in range(len(own)) if own[a] == 1]
        reach = _none_of(reach, own, spread).renumbered({a: a + lead for a in range(len(own))})
    return _summed(reach, (axis,), bands, shape)


def _matmul(node: Node, k: int, reach: Reach, facts: list[Facts]) -> Reach:
    """Sums over the inner axis, where a zero of the other operand hides what it meets."""
    x, y = node.operands
    rank, shape = len(node.types[0].shape), node.operands[k].shape
    ranks = len(x.shape), len(y.shape)
    flags = bool(node.get("transpose-x")), bool(node.get("transpose-y"))
    inner = (ranks[0] - (2 if flags[0] else 1), ranks[1] - (1 if flags[1] else 2))
    outer = (ranks[0] - (1 if flags[0] else 2), ranks[1] - (2 if flags[1] else 1))
    result = rank - 2, rank - 1
    to = {a: rank - ranks[k] + a for a in range(ranks[k] - 2)}
    spread = [a for a, at in to.items() if shape[a] == 1 != node.types[0].shape[at]]
    found = _none_of(reach, shape, spread)
    found = found.renumbered({**to, outer[k]: result[k], inner[k]: CHOSEN})
    if inner[k] not in reach.axes:
        return found
    for side in (0, 1):
        pair = inner[side], outer[side]
        upper = [m for q, at, m in facts[side].zero if (at, q) == pair]
        lower = [m for q, at, m in facts[side].zero if (q, at) == pair]
        if upper or lower:
            first, last = (-min(lower) if lower else -FAR), (min(upper) if upper else FAR)
            return found.seen_from(CHOSEN, first, last, result[side])
    return found.gone(CHOSEN, shape[inner[k]])


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
    "reshape": _reshape,
    "softmax": _softmax,
    "matmul": _matmul,
    **dict.fromkeys(REDUCTIONS, _reduced),
}
