"""Whether values change at places whose reach does not hold the position that was changed."""

from __future__ import annotations

from typing import Any

import numpy as np

from sexpgpu_core.ir import Graph, Value
from sexpgpu_core.ir.dependence import Dependence
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.reach import Reach


def violations(
    graph: Graph,
    found: Dependence,
    results: dict[str, Value],
    data: dict[str, Any],
    name: str,
    axis: int,
) -> list[str]:
    """Results that change at places which do not see the position that was changed."""
    before = run(graph, data, OPERATIONS)
    wrong = []
    for position in range(data[name].shape[axis]):
        moved = data[name].copy()
        at = (slice(None),) * axis + (position,)
        moved[at] = -moved[at] - np.asarray(0.25, moved.dtype)
        after = run(graph, {**data, name: moved}, OPERATIONS)
        for key, value in results.items():
            same = (before[key] == after[key]) | (before[key] != before[key])
            reach = found.of(value)
            if reach.everywhere:
                continue
            for spot in np.argwhere(~same):
                if not _holds(reach, spot, position):
                    wrong.append(f"{key} {tuple(spot)} by position {position}: {reach}")
    return wrong


def _holds(reach: Reach, spot: Any, position: int) -> bool:
    """Whether an element may read a position."""
    for paces, (low, high) in reach.terms.items():
        middle = 0
        for (axis, stride, size), pace in paces:
            index = int(spot[axis]) // stride
            middle += pace * (index % size if size else index)
        if low <= position - middle <= high:
            return True
    return False
