"""The updates of a step: one `update` node a parameter, EMA, and states.

A group's body was traced once for a shape; the node applies it, so kernels are shared (45.29).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..ir import Builder, Node, Value
from ..ir.ops.update import Body, apply_body, body_of
from ..ir.scalars import text
from ..staging.traced import Optimization, State, Update


def scalar(b: Builder, tree: Any, dtype: str = "f32") -> Value:
    """A number or a step-scalar tree as a scalar of the graph."""
    if isinstance(tree, tuple):
        return b.input(text(tree), "scalar", dtype, ())
    return b.constant(float(tree), dtype)


class Updates:
    """Updates of a step's parameters. Bodies are read once, scalars made once."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self._bodies: dict[int, Body] = {}
        self._scalars: dict[tuple[str, str], Value] = {}

    def parameter(self, path: str, update: Update, grad: Value) -> dict[str, Value]:
        """Next values by persistent name: the parameter's and its optimizer states'."""
        body = self._bodies.get(id(update.body))
        if body is None:
            body = self._bodies[id(update.body)] = body_of(update.body, self.b.operations)
        operands = {
            name: self._operand(path, name, node, grad)
            for name, node in zip(body.names, body.inputs)
        }
        found = apply_body(self.b, body, operands)
        states = {f"optimizer:{path}/{s.name}": found[s.name] for s in update.states}
        return {f"parameter:{path}": found["param"], **states}

    def _operand(self, path: str, name: str, node: Node, grad: Value) -> Value:
        dtype, shape = node.types[0]
        if name == "grad":
            return _as(self.b, grad, dtype)
        if name == "param":
            return self.b.input(path, "parameter", dtype, shape)
        if node.get("kind") == "scalar":
            return self._scalar(name, dtype)
        return self.b.input(f"{path}/{name}", "optimizer", dtype, shape)

    def _scalar(self, name: str, dtype: str) -> Value:
        found = self._scalars.get((name, dtype))
        if found is None:
            found = self._scalars[name, dtype] = self.b.input(name, "scalar", dtype, ())
        return found


def _as(b: Builder, value: Value, dtype: str) -> Value:
    return value if value.dtype == dtype else b("cast", value, dtype=dtype)


def average(b: Builder, path: str, decay: Value, new: Value) -> dict[str, Value]:
    """EMA: e' = d e + (1 - d) p'."""
    ema = b.input(path, "ema", new.dtype, new.shape)
    rest = b("subtract", b.constant(1.0, decay.dtype), decay)
    return {f"ema:{path}": b("add", b("multiply", ema, decay), b("multiply", new, rest))}


def combine_states(
    b: Builder, states: Mapping[str, State], proposals: Sequence[Mapping[str, Value]]
) -> dict[str, Value]:
    """What is committed of the blocks' proposals (45.3): mean, delta, sum, max or min."""
    found = {}
    for path, state in states.items():
        given = [p[path] for p in proposals if path in p]
        if given:
            found[f"state:{path}"] = _combine(b, path, state, given)
    return found


def _combine(b: Builder, path: str, state: State, given: list[Value]) -> Value:
    if len(given) == 1 and state.combine != "sum":
        return given[0]
    total = given[0]
    operation = {"max": "maximum", "min": "minimum"}.get(state.combine, "add")
    for value in given[1:]:
        total = b(operation, total, value)
    if state.combine == "mean":
        return b("multiply", total, b.constant(1.0 / len(given), total.dtype))
    if state.combine == "delta":
        old = b.input(path, "state", *state.type)
        extra = b("multiply", old, b.constant(len(given) - 1, old.dtype))
        return b("subtract", total, extra)
    return total


def clip_value(b: Builder, gradients: dict[str, Value], limit: Value) -> dict[str, Value]:
    """Each element to [-limit, limit]."""
    low = b("negate", limit)
    return {
        path: b("minimum", b("maximum", g, _as(b, low, g.dtype)), _as(b, limit, g.dtype))
        for path, g in gradients.items()
    }


def groups_due(optimization: Optimization) -> dict[str, Update]:
    """Updates of the parameters that are trained, in order of path's first use."""
    return {
        path: update
        for path, update in optimization.updates.items()
        if not optimization.groups[optimization.group_of[path]].frozen
    }
