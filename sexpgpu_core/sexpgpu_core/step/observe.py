"""The observer: a step again from the same values and batch, whose results are numbers alone.

It has no `next:` result and no verdict, so it cannot write persistent memory (45.9). Forward and
backward passes are made of the parts of the step's own graph; the update is a trial.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..ir import Builder, Graph, Operations, Value
from ..ir.ops.loops import scan
from ..staging.traced import Looped, Optimization, Traced, Trips
from .assemble import blocks_of, gradients_of, losses_of, updated
from .updates import groups_due
from .verdict import gradient_norm

WATCH = "watch:"


class Observer:
    """The graph being made. `watch`: values of the traced graph, by a name of the caller's."""

    def __init__(
        self,
        traced: Traced,
        optimization: Optimization,
        operations: Operations,
        watch: Mapping[str, Value | Looped],
        *,
        microbatches: int = 1,
        scaled: bool = False,
    ) -> None:
        view = _view(traced, operations, watch)
        self.blocks, self.b = blocks_of(view, optimization, operations, microbatches)
        self.optimization = optimization
        self._traced, self._operations, self._scaled = view, operations, scaled
        self._losses: dict[str, Value] = {}
        self._gradients: dict[str, Value] | None = None
        self._norm: Value | None = None
        self._new: dict[str, dict[str, Value]] | None = None

    def watched(self, name: str) -> list[Value]:
        """Of each block; once where it is the same in all, as what no example reaches is."""
        return list(dict.fromkeys(block[WATCH + name] for block in self.blocks))

    def loss(self) -> Value:
        """Of the step; the sum where there are several."""
        found = list(self._of_losses().values())
        total = found[0]
        for other in found[1:]:
            total = self.b("add", total, other)
        return total

    def parameter(self, path: str) -> Value:
        type = self._traced.parameters[path].type
        return self.b.input(path, "parameter", type.dtype, type.shape)

    def state(self, path: str, name: str) -> Value:
        """An optimizer's state before the update."""
        states = self.optimization.updates[path].states
        type = next(s.type for s in states if s.name == name)
        return self.b.input(f"{path}/{name}", "optimizer", type.dtype, type.shape)

    def gradient(self, path: str) -> Value:
        """After unscaling, before clipping."""
        return self._of_gradients()[path]

    def norm(self) -> Value:
        """Of all gradients, before clipping."""
        if self._norm is None:
            self._norm = gradient_norm(self.b, self._of_gradients().values())
        return self._norm

    def new(self, path: str) -> Value:
        """The parameter as the step would leave it."""
        if self._new is None:
            clips = self.optimization.clip_norm is not None
            norm = self.norm() if clips else None
            self._new = updated(self.b, self.optimization, self._of_gradients(), norm)
        return self._new[path][f"parameter:{path}"]

    def update(self, path: str) -> Value:
        return self.b("subtract", self.new(path), self.parameter(path))

    def graph(self, results: Mapping[str, Value]) -> Graph:
        """The finished graph."""
        self.b.graph.results = dict(results)
        return self.b.graph

    def _of_losses(self) -> dict[str, Value]:
        if not self._losses:
            self._losses = losses_of(self.b, self._traced, self.blocks)
        return self._losses

    def _of_gradients(self) -> dict[str, Value]:
        if self._gradients is None:
            due = list(groups_due(self.optimization))
            losses = self._of_losses()
            self._gradients = gradients_of(
                self.b, self.optimization, self._operations, losses, due, self._scaled
            )
        return self._gradients


def _view(traced: Traced, operations: Operations, watch: Mapping[str, Value | Looped]) -> Traced:
    """The same graph with what is watched among its results; the traced one stays as it is."""
    graph = _copied(traced.graph)
    seen = {n: v for n, v in watch.items() if not isinstance(v, Looped)}
    inside = {n: v for n, v in watch.items() if isinstance(v, Looped)}
    for trips in dict.fromkeys(map(_loops, inside.values())):
        values = {n: v.value for n, v in inside.items() if _loops(v) == trips}
        around = next(v.trips for v in inside.values() if _loops(v) == trips)
        seen.update(_stacked(graph, operations, around, values))
    graph.results.update({WATCH + n: v for n, v in seen.items()})
    return traced._replace(graph=graph)


def _loops(looped: Looped) -> tuple[int, ...]:
    return tuple(id(trips.body) for trips in looped.trips)


def _copied(graph: Graph) -> Graph:
    """Other lists of the same nodes."""
    made = Graph()
    made.nodes, made.origins = list(graph.nodes), dict(graph.origins)
    made.bodies, made.results = dict(graph.bodies), dict(graph.results)
    return made


def _stacked(
    graph: Graph, operations: Operations, around: Iterable[Trips], values: Mapping[str, Value]
) -> dict[str, Value]:
    """Values of a body in the graph around its loops, by one more loop that gives them alone."""
    trips, *rest = around
    body = _copied(trips.body)
    found = _stacked(body, operations, rest, values) if rest else dict(values)
    carries = {n: v for n, v in body.results.items() if n.startswith("carry:")}
    names = {f"y:{i}": n for i, n in enumerate(found, len(carries))}
    body.results = {**carries, **{y: found[n] for y, n in names.items()}}
    b = Builder(operations, graph)
    made = scan(b, body, trips.operands, trips.length, trips.reverse)
    return {n: made[y] for y, n in names.items()}
