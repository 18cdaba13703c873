"""Reaches through loops and choices: their bodies are walked with what goes into them.

In a body the number of the trip is an axis of its own, TRIP, which every operation keeps: what is
stacked has it in front again. Carries are walked until nothing is added to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .dependence import Walk
from .graph import Node
from .reach import EVERYWHERE, FAR, NOWHERE, TRIP, Reach, joined

ROUNDS = 4
"""Walks of a body after which a carry that still grows is taken to depend on everything."""


def _through(walk: Walk, key: str, given: Mapping[str, Reach]) -> dict[str, Reach]:
    """The reaches of a body's results from those of its inputs."""
    body = walk.bodies[key]
    start = {(n.id, 0): given.get(n.get("name"), NOWHERE) for n in body.inputs()}
    inside = Walk(walk.operations, start, {}, body.bodies)
    for node in body.nodes:
        inside.step(node)
    return {name: inside.reaches[v.node.id, v.result] for name, v in body.results.items()}


def _scan(walk: Walk, node: Node, operands: list[Reach]) -> list[Reach]:
    forward = not node.get("reverse")
    given = {
        name: _part(reach) if name.startswith("x:") else reach
        for name, reach in zip(node.get("inputs"), operands)
    }
    made = _settled(walk, node, given, forward)
    return [_last(r) if name.startswith("carry:") else _stacked(r) for name, r in made.items()]


def _while(walk: Walk, node: Node, operands: list[Reach]) -> list[Reach]:
    made = _settled(walk, node, dict(zip(node.get("inputs"), operands)), True)
    return [_last(r) for r in made.values()]


def _settled(walk: Walk, node: Node, given: dict[str, Reach], forward: bool) -> dict[str, Reach]:
    """The results of a body whose carries have what all trips put into them."""
    for _ in range(ROUNDS):
        made = _through(walk, node.get("body"), given)
        grown = {n: joined([given[n], _later(r, forward)]) for n, r in made.items() if n in given}
        if all(given[n] == r for n, r in grown.items()):
            return made
        given.update(grown)
    return dict.fromkeys(made, EVERYWHERE)


def _later(reach: Reach, forward: bool) -> Reach:
    """What a trip leaves, as the trips after it have it."""
    if TRIP not in reach.axes:
        return reach
    before = (-FAR, -1) if forward else (1, FAR)
    return joined([reach.without(TRIP), reach.seen_from(TRIP, *before)])


def _part(reach: Reach) -> Reach:
    """Of what is stacked, the part of a trip."""
    return reach.renumbered({a: TRIP if a == 0 else a - 1 for a in reach.axes})


def _stacked(reach: Reach) -> Reach:
    return reach.renumbered({a: 0 if a == TRIP else a + 1 for a in reach.axes})


def _last(reach: Reach) -> Reach:
    return EVERYWHERE if TRIP in reach.axes else reach


def _cond(walk: Walk, node: Node, operands: list[Reach]) -> list[Reach]:
    given = dict(zip(node.get("inputs"), operands))
    sides = [_through(walk, node.get(key), given) for key in ("body", "other")]
    test = given["test"]
    return [EVERYWHERE if not test.empty else joined([a, sides[1][n]]) for n, a in sides[0].items()]


def _custom(walk: Walk, node: Node, operands: list[Reach]) -> list[Reach]:
    """The values are those of the first operands."""
    return operands[: len(node.types)]


RULES: dict[str, Callable[[Walk, Node, list[Reach]], list[Reach]]] = {
    "scan": _scan,
    "while": _while,
    "cond": _cond,
    "custom-gradient": _custom,
}
