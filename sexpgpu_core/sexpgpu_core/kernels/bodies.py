"""Bodies of updates that fusion may take as one elementwise node of several results."""

from __future__ import annotations

from ..ir import Graph
from .elements import COST, KNOWN

Shape = tuple[int, ...]
CHEAP = 24
"""Most additions that scalars of a body may cost: they are done again in every kernel."""


def is_even(body: Graph, shape: Shape) -> bool:
    """Whether all that is computed is elementwise, of that shape or a cheap scalar, and each
    result is made here, once."""
    if 0 in shape or not any(n > 1 for n in shape):
        return False
    ends = [v.node for v in body.results.values()]
    distinct = len({n.id for n in ends}) == len(ends)
    live, scalars = body.live(), 0
    for node in body.nodes:
        op, own = node.operation, node.types[0].shape
        if node.id not in live or op in ("input", "constant"):
            continue
        if op not in KNOWN or own not in (shape, ()):
            return False
        scalars += COST.get(op, 1) if own != shape else 0
    made = all(n.operation in KNOWN and n.types[0].shape == shape for n in ends)
    return distinct and made and scalars <= CHEAP
