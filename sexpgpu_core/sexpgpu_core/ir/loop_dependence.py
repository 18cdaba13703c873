"""Reaches through loops and choices: their bodies are walked with what goes into them.

In a body the number of the trip is an axis of its own, TRIP, which every operation keeps: what is
stacked has it in front again. Carries are walked until nothing is added to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .bands import Facts
from .dependence import Walk
from .graph import Node
from .reach import EVERYWHERE, FAR, NOWHERE, TRIP, Reach, joined

ROUNDS = 4
"""Walks of a body after which a carry that still grows is taken to depend on everything."""
Known = Mapping[str, Facts]


def _through(walk: Walk, key: str, given: Mapping[str, Reach], known: Known) -> dict[str, Reach]:
    """The reaches of a body's results from those of its inputs."""
    body = walk.bodies[key]
    start = {(n.id, 0): given.get(n.get("name"), NOWHERE) for n in body.inputs()}
    inside = Walk(walk.operations, start, {}, body.bodies, walk.size)
    for node in body.nodes:
        inside.step(node)
        if node.operation == "input" and node.get("name") in known:
            inside.facts[node.id, 0] = known[node.get("name")]
    return {name: inside.reaches[v.node.id, v.result] for name, v in body.results.items()}


def _scan(walk: Walk, node: Node, operands: list[Reach], facts: list[Facts]) -> list[Reach]:
    forward, trips = not node.get("reverse"), node.get("length")
    given = {
        name: reach.placed(_part if name.startswith("x:") else _deeper, True)
        for name, reach in zip(node.get("inputs"), operands)
    }
    made = _settled(walk, node, given, facts, forward)
    return [
        r.gone(TRIP, trips).placed(_shallower, True)
        if name.startswith("carry:")
        else r.placed(_stacked, True)
        for name, r in made.items()
    ]


def _while(walk: Walk, node: Node, operands: list[Reach], facts: list[Facts]) -> list[Reach]:
    """Any result may be of any trip: what the test depends on, all do."""
    given = {n: r.placed(_deeper, True) for n, r in zip(node.get("inputs"), operands)}
    made = _settled(walk, node, given, facts, True)
    test = list(made)[-1]
    ends = joined([made[test], given[test]])
    return [joined([r, given[n], ends]).placed(_shallower, True) for n, r in made.items()]


def _settled(
    walk: Walk, node: Node, given: dict[str, Reach], facts: list[Facts], forward: bool
) -> dict[str, Reach]:
    """The results of a body whose carries have what all trips put into them."""
    known = _captured(node, facts)
    for _ in range(ROUNDS):
        made = _through(walk, node.get("body"), given, known)
        grown = {n: joined([given[n], _later(r, forward)]) for n, r in made.items() if n in given}
        if all(given[n] == r for n, r in grown.items()):
            return made
        given.update(grown)
    return dict.fromkeys(made, EVERYWHERE)


def _captured(node: Node, facts: list[Facts]) -> Known:
    """What is known of operands that are the same for all trips."""
    return {n: f for n, f in zip(node.get("inputs"), facts) if n.startswith("capture:")}


def _later(reach: Reach, forward: bool) -> Reach:
    """What a trip leaves, as the trips after it have it: strictly earlier."""
    return reach.seen_from(TRIP, *((-FAR, -1) if forward else (1, FAR)))


# ---- numbers of axes: of what is stacked, the part of a trip; loops around a loop are one deeper
def _part(axis: int) -> int:
    return axis - 1


def _deeper(axis: int) -> int:
    return axis if axis >= 0 else axis - 1


def _stacked(axis: int) -> int:
    return axis + 1


def _shallower(axis: int) -> int:
    return axis if axis >= 0 else axis + 1


def _cond(walk: Walk, node: Node, operands: list[Reach], facts: list[Facts]) -> list[Reach]:
    given, known = dict(zip(node.get("inputs"), operands)), _captured(node, facts)
    sides = [_through(walk, node.get(key), given, known) for key in ("body", "other")]
    return [joined([given["test"], a, sides[1][n]]) for n, a in sides[0].items()]


def _custom(walk: Walk, node: Node, operands: list[Reach], facts: list[Facts]) -> list[Reach]:
    """The values are those of the first operands."""
    return operands[: len(node.types)]


RULES: dict[str, Callable[[Walk, Node, list[Reach], list[Facts]], list[Reach]]] = {
    "scan": _scan,
    "while": _while,
    "cond": _cond,
    "custom-gradient": _custom,
}
