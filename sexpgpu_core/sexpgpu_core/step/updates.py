"""The updates of a step: one `update` node a parameter, EMA, and states.

A group's body was traced once for a shape; the node applies it, so kernels are shared (45.29).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..ir import Builder, Node, Value
from ..ir.ops.update import Body, apply_body, body_of
from ..ir.scalars import text
from ..ir.types import FLOATS, full_float
from ..staging.traced import Optimization, State, Traced, Update


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


def average(b: Builder, path: str, decay: Any, new: Value) -> dict[str, Value]:
    """EMA: e' = d e + (1 - d) p'. `decay`: d, a number or a step scalar."""
    d = scalar(b, decay, full_float(new.dtype))
    ema = b.input(path, "ema", new.dtype, new.shape)
    rest = b("subtract", b.constant(1.0, d.dtype), d)
    return {f"ema:{path}": b("add", b("multiply", ema, d), b("multiply", new, rest))}


def averaged_states(traced: Traced, optimization: Optimization) -> set[str]:
    """Persistent names of model states that are averaged as well: `:ema-state t`, floats."""
    if not optimization.ema_state:
        return set()
    return {
        f"state:{path}"
        for path, state in traced.states.items()
        if state.type.dtype in FLOATS and not state.rows
    }


def unaveraged(optimization: Optimization, b: Builder) -> Callable[[Node], Value | None]:
    """What stands in place of an average that is not kept: of a frozen parameter, which is one."""
    due = groups_due(optimization)

    def replace(node: Node) -> Value | None:
        if node.get("kind") != "ema" or node.get("name") in due:
            return None
        return b.input(node.get("name"), "parameter", *node.types[0])

    return replace


def combine_states(
    b: Builder, states: Mapping[str, State], proposals: Sequence[Mapping[str, Value]], rows: int
) -> dict[str, Value]:
    """What is committed of the blocks' proposals (45.3): mean, delta, sum, max or min; rows one
    after another. `rows`: of a block."""
    found = {}
    for path, state in states.items():
        given = [p[path] for p in proposals if path in p]
        if given:
            name = f"rows:{state.rows}" if state.rows else f"state:{path}"
            found[name] = _combine(b, path, state, given, rows)
    return found


def _pushed(b: Builder, given: list[Value], rows: int) -> Value:
    """A queue after all blocks: each pushed `rows` of its own to what the queue was (R37)."""
    shape = given[0].shape
    steps, zeros = (1,) * len(shape), (0,) * (len(shape) - 1)
    new = [b("slice", v, starts=(shape[0] - rows, *zeros), stops=shape, steps=steps) for v in given]
    old = given[0]
    if shape[0] > rows * len(given):
        # the first block's queue begins with what is left after its own rows came
        begin, stop = rows * (len(given) - 1), shape[0] - rows
        kept = b("slice", old, starts=(begin, *zeros), stops=(stop, *shape[1:]), steps=steps)
        return b("concat", kept, *new, axis=0)
    return b("concat", *new, axis=0)


def _combine(b: Builder, path: str, state: State, given: list[Value], rows: int) -> Value:
    if state.rows:
        return b("concat", *given, axis=0) if len(given) > 1 else given[0]
    if len(given) == 1:
        return given[0]
    if state.combine == "concat":
        return _pushed(b, given, rows)
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


def groups_due(optimization: Optimization, due: frozenset[int] | None = None) -> dict[str, Update]:
    """Updates of the parameters that are trained, in order of path's first use; `due`: of these
    groups alone."""
    group_of = optimization.group_of
    return {
        path: update
        for path, update in optimization.updates.items()
        if not optimization.groups[group_of[path]].frozen and (due is None or group_of[path] in due)
    }
