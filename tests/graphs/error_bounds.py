"""How far a result may lie from its exact value: a center in f64 and a radius an element.

A forward error analysis by the graph itself. Each operation carries the radii of its operands on
(by its linear part where it has one, by the corners of the operands' intervals where it works
element by element) and adds its own roundings in its dtype. A discrete result that the radii leave
open has an infinite radius: it may be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from balls import HIGHEST, TINY, UNIT, UNKNOWN, Ball, apply, exact, unknown, wide
from error_elements import element, equality, factors, moved, products, running, scattered
from error_orders import chosen, extremum, order, places, pool_gradient, sorted_

from sexpgpu_core.ir import Graph, Node
from sexpgpu_core.ir.interpret import expansion
from sexpgpu_core.ir.operation import Fusion
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.types import FLOATS, Type, numpy_dtype


def error_bounds(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, Ball]:
    """Balls of all results, for inputs that are exact."""
    with np.errstate(all="ignore"):
        given = {k: exact(np.asarray(v)) for k, v in inputs.items()}
        return _Walk(graph).results(given)


class _Walk:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.values: dict[tuple[int, int], Ball] = {}

    def results(self, given: Mapping[str, Ball]) -> dict[str, Ball]:
        live = self.graph.live()
        for node in self.graph.nodes:
            if node.id in live:
                operands = [self.values[v.node.id, v.result] for v in node.operands]
                for i, ball in enumerate(self._balls(node, operands, given)):
                    self.values[node.id, i] = ball
        return {n: self.values[v.node.id, v.result] for n, v in self.graph.results.items()}

    def _balls(
        self, node: Node, operands: list[Ball], given: Mapping[str, Ball]
    ) -> tuple[Ball, ...]:
        if node.operation == "input":
            ball = given[node.get("name")]
            dtype = numpy_dtype(wide(node.types[0]).dtype)
            return (Ball(ball.center.astype(dtype), ball.radius),)
        if node.operation in LOOPS:
            return LOOPS[node.operation](node, operands, self.graph.bodies)
        rule = RULES.get(node.operation)
        parts = None if rule is not None else _parts(node)
        if parts is not None:
            found = _Walk(parts).results({str(i): b for i, b in enumerate(operands)})
            return tuple(found[str(i)] for i in range(len(node.types)))
        if rule is None:
            rule = element if OPERATIONS[node.operation].fusion is Fusion.ELEMENT else moved
        return tuple(_limited(b, t) for b, t in zip(rule(node, operands), node.types))


def _scan(node: Node, operands: list[Ball], bodies: Mapping[str, Graph]) -> tuple[Ball, ...]:
    """Trip after trip: radii grow with the carries."""
    given = dict(zip(node.get("inputs"), operands))
    names = [name for name, _, _ in node.get("results")]
    trips = range(node.get("length"))
    stacked: dict[str, dict[int, Ball]] = {n: {} for n in names if n.startswith("y:")}
    for t in reversed(trips) if node.get("reverse") else trips:
        inputs = {
            n: Ball(b.center[t], b.radius[t]) if n.startswith("x:") else b for n, b in given.items()
        }
        found = _Walk(bodies[node.get("body")]).results(inputs)
        given.update({n: b for n, b in found.items() if n.startswith("carry:")})
        for name, rows in stacked.items():
            rows[t] = found[name]
    return tuple(_stack(stacked[n], trips) if n in stacked else given[n] for n in names)


def _stack(rows: Mapping[int, Ball], trips: range) -> Ball:
    return Ball(
        np.stack([rows[t].center for t in trips]), np.stack([rows[t].radius for t in trips])
    )


def _cond(node: Node, operands: list[Ball], bodies: Mapping[str, Graph]) -> tuple[Ball, ...]:
    """The values of the body that is chosen; of either, if the test is open, nothing is known."""
    given = dict(zip(node.get("inputs")[1:], operands[1:]))
    test = operands[0]
    found = _Walk(bodies[node.get("body" if test.center else "other")]).results(given)
    balls = [found[name] for name, _, _ in node.get("results")]
    return tuple(unknown(b.center) if test.radius.any() else b for b in balls)


Loop = Callable[[Node, "list[Ball]", "Mapping[str, Graph]"], "tuple[Ball, ...]"]
LOOPS: dict[str, Loop] = {"scan": _scan, "cond": _cond}


def _parts(node: Node) -> Graph | None:
    """A composite's expansion."""
    try:
        return expansion(node, OPERATIONS)
    except NotImplementedError:
        return None


def _limited(ball: Ball, type: Type) -> Ball:
    """Beyond the dtype's range anything may be; below its normal numbers a little is lost."""
    if type.dtype not in FLOATS:
        return ball
    center, radius = ball
    radius = np.where(np.abs(center) + radius > HIGHEST[type.dtype], UNKNOWN, radius)
    radius = np.where(np.isnan(radius), UNKNOWN, radius)
    same = ~np.isfinite(center) & (ball.radius == 0)
    return Ball(center, np.where(same, 0.0, radius + (radius > 0) * TINY[type.dtype]))


def _leaf(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
    return tuple(map(exact, apply(node, [b.center for b in operands])))


def _random(node: Node, operands: list[Ball]) -> tuple[Ball, ...]:
    (found,) = apply(node, [b.center for b in operands])
    if node.operation in ("random-bits", "random-bernoulli"):
        return (exact(found),)
    narrow = UNIT.get(node.types[0].dtype, 0.0) if node.types[0].dtype in ("f16", "bf16") else 0.0
    return (Ball(found, narrow * np.abs(found)),)


RULES: dict[str, Callable[[Node, list[Ball]], tuple[Ball, ...]]] = {
    **dict.fromkeys(["constant", "iota", "table"], _leaf),
    **dict.fromkeys(["random-bits", "random-uniform", "random-normal"], _random),
    "random-bernoulli": _random,
    **dict.fromkeys(["reduce-sum", "cumsum", "avg-pool", "avg-pool-gradient"], running),
    **dict.fromkeys(["reduce-product", "cumprod"], factors),
    **dict.fromkeys(["reduce-max", "reduce-min", "cummax", "cummin", "max-pool"], extremum),
    **dict.fromkeys(["argmax", "argmin"], places),
    "argsort": order,
    **dict.fromkeys(["equal", "not-equal"], equality),
    "searchsorted": chosen,
    **dict.fromkeys(["reduce-any", "reduce-all"], extremum),
    **dict.fromkeys(["sort", "top-k"], sorted_),
    **dict.fromkeys(["scatter-add", "add-along"], scattered),
    **dict.fromkeys(
        ["matmul", "conv", "conv-input-gradient", "conv-weight-gradient"], products(0, 1)
    ),
    "max-pool-gradient": pool_gradient,
}
