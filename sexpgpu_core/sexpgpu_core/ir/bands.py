"""What is known of values by their places: indices, and where masks make them constant.

A band (query, key, most) of a value's axes says what holds where key - query > most. `true` (and
`false`) of a bool: it is not true (not false) there; `live`: it does not depend on the source of
the analysis there; `zero`: it is 0 there; `low`: it is so low there that a softmax makes it 0.
`place`: (axis, offset) of an integer that is its own index on an axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..records import NamedTuple
from .graph import Node

Band = tuple[int, int, int]
Bands = frozenset[Band]
NO_BANDS: Bands = frozenset()
VERY_LOW = -1e4
"""A score that no other outweighs: exp of it beside a score near 0 is 0 in 16 bits and in 32."""


class Facts(NamedTuple):
    """See the module. `number`: the value of a splat."""

    place: tuple[int, int] | None = None
    number: float | None = None
    true: Bands = NO_BANDS
    false: Bands = NO_BANDS
    live: Bands = NO_BANDS
    zero: Bands = NO_BANDS
    low: Bands = NO_BANDS

    def moved(self, to: Mapping[int, int]) -> Facts:
        """By the new number of each axis; what lies on an axis that is gone is forgotten."""
        at = self.place
        place = (to[at[0]], at[1]) if at is not None and at[0] in to else None
        kept = (_kept(b, to) for b in (self.true, self.false, self.live, self.zero, self.low))
        return Facts(place, self.number, *kept)

    def lifted(self, lead: int) -> Facts:
        """With axes put before the others."""
        return self.moved({a: a + lead for a in range(16)})


NOTHING = Facts()


def _kept(bands: Bands, to: Mapping[int, int]) -> Bands:
    return frozenset((to[q], to[k], m) for q, k, m in bands if q in to and k in to)


def index_facts(node: Node, facts: list[Facts], reached: list[bool]) -> Facts:
    """The facts of a node's result. `reached`: operands that depend on the source."""
    rule = RULES.get(node.operation)
    if rule is None:
        return _pointwise(node, facts, reached) if node.operation in POINTWISE else NOTHING
    return rule(node, facts, reached)


def _spread(node: Node, facts: list[Facts]) -> list[Facts]:
    """Facts of broadcast operands, by the axes of the result; an axis of size 1 has no places."""
    rank = len(node.types[0].shape)
    found = []
    for v, known in zip(node.operands, facts):
        lead = rank - len(v.shape)
        found.append(known.moved({a: a + lead for a, n in enumerate(v.shape) if n != 1}))
    return found


def _meet(bands: list[Bands]) -> Bands:
    """What holds by all of them."""
    if not bands:
        return NO_BANDS
    pairs = [{(q, k): m for q, k, m in b} for b in bands]
    shared = set(pairs[0]).intersection(*pairs[1:])
    return frozenset((q, k, max(p[q, k] for p in pairs)) for q, k in shared)


def _pointwise(node: Node, facts: list[Facts], reached: list[bool]) -> Facts:
    """Constant where all that depends on the source is."""
    wide = _spread(node, facts)
    live = _meet([f.live | f.zero for f, r in zip(wide, reached) if r])
    return Facts(live=live)


def _constant(node: Node, facts: list[Facts], reached: list[bool]) -> Facts:
    return Facts(number=float(node.get("value")))


def _iota(node: Node, facts: list[Facts], reached: list[bool]) -> Facts:
    return Facts(place=(node.get("axis"), 0))


def _add(node: Node, facts: list[Facts], reached: list[bool], sign: int = 1) -> Facts:
    x, y = _spread(node, facts)
    found = _pointwise(node, facts, reached)
    if x.place is not None and y.number is not None and float(y.number).is_integer():
        found = found._replace(place=(x.place[0], x.place[1] + sign * int(y.number)))
    elif sign > 0 and y.place is not None and x.number is not None and x.number.is_integer():
        found = found._replace(place=(y.place[0], y.place[1] + int(x.number)))
    return found._replace(low=x.low | (y.low if sign > 0 else NO_BANDS))


def _subtract(node: Node, facts: list[Facts], reached: list[bool]) -> Facts:
    return _add(node, facts, reached, -1)


def _multiply(node: Node, facts: list[Facts], reached: list[bool]) -> Facts:
    x, y = _spread(node, facts)
    zero = x.zero | y.zero
    live = _pointwise(node, facts, reached).live | zero
    low = NO_BANDS
    for a, b in ((x, y), (y, x)):
        if b.number is not None and b.number > 0:
            low = low | a.low
    return Facts(live=live, zero=zero, low=low)


def _divide(node: Node, facts: list[Facts], reached: list[bool]) -> Facts:
    x, y = _spread(node, facts)
    live = _pointwise(node, facts, reached).live | x.zero
    return Facts(live=live, zero=x.zero, low=x.low if (y.number or 0) > 0 else NO_BANDS)


def _compare(strict: int, swapped: bool) -> Callable[[Node, list[Facts], list[bool]], Facts]:
    """x < y (or x <= y), or the other way round."""

    def rule(node: Node, facts: list[Facts], reached: list[bool]) -> Facts:
        x, y = _spread(node, facts)
        found = _pointwise(node, facts, reached)
        less, more = (y, x) if swapped else (x, y)
        if less.place is None or more.place is None or less.place[0] == more.place[0]:
            return found
        (key, a), (query, b) = less.place, more.place
        most = b - a - strict
        return found._replace(
            true=frozenset([(query, key, most)]), false=frozenset([(key, query, -most - 1)])
        )

    return rule


def _and(node: Node, facts: list[Facts], reached: list[bool]) -> Facts:
    x, y = _spread(node, facts)
    found = _pointwise(node, facts, reached)
    return found._replace(true=x.true | y.true, false=_meet([x.false, y.false]))


def _or(node: Node, facts: list[Facts], reached: list[bool]) -> Facts:
    x, y = _spread(node, facts)
    found = _pointwise(node, facts, reached)
    return found._replace(true=_meet([x.true, y.true]), false=x.false | y.false)


def _not(node: Node, facts: list[Facts], reached: list[bool]) -> Facts:
    (x,) = facts
    return x._replace(true=x.false, false=x.true, place=None, number=None)


def _where(node: Node, facts: list[Facts], reached: list[bool]) -> Facts:
    test, x, y = _spread(node, facts)
    live, zero, low = _pointwise(node, facts, reached).live, NO_BANDS, NO_BANDS
    for chosen, other, bands, k in ((x, y, test.true, 2), (y, x, test.false, 1)):
        # Where the bands hold, the value is `other`.
        if not reached[k]:
            live = live | (bands if not reached[0] else NO_BANDS)
        if other.number == 0:
            zero = zero | bands | chosen.zero
        if other.number is not None and other.number <= VERY_LOW:
            low = low | bands | chosen.low
    return Facts(live=live | zero, zero=zero, low=low)


def _cast(node: Node, facts: list[Facts], reached: list[bool]) -> Facts:
    (x,) = facts
    if node.operands[0].dtype == "bool":
        return Facts(live=x.live | x.true, zero=x.true) if not reached[0] else Facts(live=x.live)
    return x


def _exp(node: Node, facts: list[Facts], reached: list[bool]) -> Facts:
    (x,) = facts
    return Facts(live=x.live | x.low, zero=x.low)


def _keeps_zero(node: Node, facts: list[Facts], reached: list[bool]) -> Facts:
    (x,) = facts
    return Facts(live=x.live | x.zero, zero=x.zero)


def _softmax(node: Node, facts: list[Facts], reached: list[bool]) -> Facts:
    """Zero where the scores are low or the mask is false."""
    wide = _spread(node, facts)
    zero = wide[0].low | (wide[1].true if len(wide) > 1 else NO_BANDS)
    return Facts(live=zero, zero=zero)


def _permute(node: Node, facts: list[Facts], reached: list[bool]) -> Facts:
    return facts[0].moved({a: i for i, a in enumerate(node.get("axes"))})


def _broadcast_to(node: Node, facts: list[Facts], reached: list[bool]) -> Facts:
    return _spread(node, facts)[0]


def _reshape(node: Node, facts: list[Facts], reached: list[bool]) -> Facts:
    """Axes whose sizes and those before them stay, but for axes of size 1."""
    before, after = node.operands[0].shape, node.types[0].shape
    ends: dict[tuple[int, int], int] = {}
    total = 1
    for i, n in enumerate(after):
        if n != 1:
            ends[total, n] = i
        total *= n
    to, total = {}, 1
    for i, n in enumerate(before):
        if n != 1 and (total, n) in ends:
            to[i] = ends[total, n]
        total *= n
    return facts[0].moved(to)


def _slice(node: Node, facts: list[Facts], reached: list[bool]) -> Facts:
    """Places and bands move by where the slice starts."""
    if any(s != 1 for s in node.get("steps")):
        return NOTHING
    starts, x = node.get("starts"), facts[0]
    place = None if x.place is None else (x.place[0], x.place[1] + starts[x.place[0]])
    bands = (_cut(b, starts) for b in (x.true, x.false, x.live, x.zero, x.low))
    return Facts(place, x.number, *bands)


def _cut(bands: Bands, starts: tuple[int, ...]) -> Bands:
    return frozenset((q, k, m + starts[q] - starts[k]) for q, k, m in bands)


Rule = Callable[[Node, list[Facts], list[bool]], Facts]
ZERO_TO_ZERO = (
    *("abs", "sign", "square", "sqrt", "sin", "tan", "asin", "atan", "sinh", "tanh", "negate"),
)
POINTWISE = frozenset(
    (
        *("maximum", "minimum", "power", "atan2", "mod", "rem", "clip", "fma", "reciprocal"),
        *("rsqrt", "exp2", "expm1", "log", "log2", "log1p", "cos", "acos", "cosh", "asinh"),
        *("acosh", "atanh", "erf", "erfc", "sigmoid", "equal", "not-equal", "is-finite"),
        *("is-nan", "is-inf", "floor", "ceiling", "round", "truncate", "relu", "gelu", "silu"),
    )
)
RULES: dict[str, Rule] = {
    "constant": _constant,
    "iota": _iota,
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "less": _compare(1, False),
    "less-equal": _compare(0, False),
    "greater": _compare(1, True),
    "greater-equal": _compare(0, True),
    "logical-and": _and,
    "logical-or": _or,
    "logical-not": _not,
    "where": _where,
    "cast": _cast,
    "exp": _exp,
    "softmax": _softmax,
    "permute": _permute,
    "broadcast-to": _broadcast_to,
    "reshape": _reshape,
    "slice": _slice,
    **dict.fromkeys(ZERO_TO_ZERO, _keeps_zero),
    **dict.fromkeys(("stop-gradient", "gradient-scale"), lambda node, facts, reached: facts[0]),
}
