"""The updates of a step: one `update` node a parameter, EMA, and states.

A group's body was traced once for a shape; the node applies it, so kernels are shared (45.29).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..ir import Builder, Value
from ..ir.ops.update import apply_body
from ..ir.scalars import text
from ..staging.traced import Optimization, State, Update


def scalar(b: Builder, tree: Any, dtype: str = "f32") -> Value:
    """A number or a step-scalar tree as a scalar of the graph."""
    if isinstance(tree, tuple):
        return b.input(text(tree), "scalar", dtype, ())
    return b.constant(float(tree), dtype)


def update_parameter(
    b: Builder, path: str, update: Update, body: str, grad: Value
) -> dict[str, Value]:
    """Next values by persistent name: the parameter's and its optimizer states'. `body`: hash."""
    operands: dict[str, Value] = {}
    for node in update.body.inputs():
        name, kind, type = node.get("name"), node.get("kind"), node.types[0]
        if name == "grad":
            operands[name] = _as(b, grad, type.dtype)
        elif name == "param":
            operands[name] = b.input(path, "parameter", type.dtype, type.shape)
        elif kind == "scalar":
            operands[name] = b.input(name, "scalar", type.dtype, ())
        else:
            operands[name] = b.input(f"{path}/{name}", "optimizer", type.dtype, type.shape)
    found = apply_body(b, body, update.body, operands)
    states = {f"optimizer:{path}/{s.name}": found[s.name] for s in update.states}
    return {f"parameter:{path}": found["param"], **states}


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
