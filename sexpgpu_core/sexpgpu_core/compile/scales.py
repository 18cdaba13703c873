"""Which scope's scale left its history first (80.7): the greatest magnitudes of a step's forward
values on one batch, by the values of now and by those of earlier steps.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ..diagnostics import Problem
from ..ir import Graph, Operations
from ..ir.graph import Node
from ..ir.interpret import run
from ..runtime.fault import Left

if TYPE_CHECKING:
    from ..runtime.folder import RunFolder
    from ..runtime.job import Job

FACTOR = 10.0
"""How many times its greatest of before a scale is when it has left its history."""

HISTORY = 3
"""How many checkpoints a fault is held against."""

Past = Iterable["tuple[int, Mapping[str, Any]]"]
"""Steps, and what the graph was to be given then."""


def left(graph: Graph, now: Mapping[str, Any], past: Past, operations: Operations) -> Left | None:
    """The first scope in the order of the forward pass that has left; None where none has. Where
    it grew too slowly for the last checkpoints, those before them are what it is held against."""
    forward = _forward(graph)
    if not forward.results:
        return None
    steps, before = [], list[Mapping[str, float]]()
    for step, inputs in past:
        steps.append(step)
        before.append(_scales(forward, inputs, operations))
    scales = _scales(forward, now, operations) if before else {}
    for count in range(len(before), 0, -1):
        for scope, scale in scales.items():
            most = max(known.get(scope, 0.0) for known in before[:count])
            if math.isfinite(most) and scale > FACTOR * most > 0:
                return Left(scope, scale, most, tuple(steps[:count]))
    return None


def past(job: Job, folder: RunFolder) -> Iterator[tuple[int, Callable[[str], Any]]]:
    """Persistent values of step 0, and of the last checkpoints."""
    yield 0, job.initial
    for saved in folder.checkpoints.whole()[-HISTORY:]:
        with contextlib.suppress(Problem):  # one that does not read tells nothing
            yield saved.step, partial(_held, job, folder.checkpoints.load(saved).arrays)


def _held(job: Job, arrays: Mapping[str, Any], name: str) -> Any:
    """What no checkpoint holds is as at step 0."""
    return arrays[name] if name in arrays else job.initial(name)


def _forward(graph: Graph) -> Graph:
    """What the losses need."""
    made = Graph()
    made.nodes, made.origins, made.bodies = graph.nodes, graph.origins, graph.bodies
    losses = {k: v for k, v in graph.results.items() if k == "loss" or k.startswith("loss:")}
    made.results = losses
    return made


def _scales(graph: Graph, inputs: Mapping[str, Any], operations: Operations) -> Mapping[str, float]:
    """By scope, in the order in which the first value of each is computed."""
    found: dict[str, float] = {}
    run(graph, inputs, operations, watch=_noting(found))
    return found


def _noting(found: dict[str, float]) -> Callable[[Graph, Node, Any, Any], None]:
    def note(graph: Graph, node: Node, arrays: Any, values: Any) -> None:
        origin = graph.origin(node)
        if origin is None or origin.grad or node.operation in ("constant", "input"):
            return
        scale = max(map(_magnitude, values), default=0.0)
        found[origin.scope] = max(scale, found.get(origin.scope, 0.0))

    return note


def _magnitude(array: Any) -> float:
    """The greatest; infinite where one is not finite, 0 of what is not of floats."""
    import numpy as np

    if array.dtype.kind in "iub" or not array.size:
        return 0.0
    most = float(np.abs(array.astype(np.float64)).max())
    return most if math.isfinite(most) else math.inf
