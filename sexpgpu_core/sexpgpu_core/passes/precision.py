"""The precision policy as casts (45.24): once, after autodiff, before the other passes.

LOW operations take 16-bit operands and give 16 bits; FULL ones take and give f32; FOLLOW ones
compute in the widest of their operands; EXACT ones are never touched. f64 and integers stay.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir import Builder, Node, Value
from ..ir.operation import Operations, Precision
from .rebuild import Change

POLICIES = {"f32": None, "bf16": "bf16", "f16": "f16"}
"""A policy's 16-bit dtype, or None where nothing is cast."""
NARROW = ("bf16", "f16")
BODIED = frozenset(("update", "scan", "while", "cond"))


def precision_change(operations: Operations, policy: str) -> Change | None:
    """A change for a whole graph whose own policy is `policy`; a node's `policy` field stands
    over it. None where nothing changes."""

    def change(b: Builder, node: Node, operands: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if not operands or node.operation in BODIED or node.operation == "cast":
            return _kept(b, node, operands)
        low = POLICIES.get(node.policy or policy)
        kind = operations[node.operation].precision
        return ACTIONS[kind](b, node, operands, low)

    return change


def _kept(b: Builder, node: Node, operands: tuple[Value, ...]) -> tuple[Value, ...] | None:
    """`update` and casts of the file take what they took: operands back to their own dtypes."""
    return b.remake(node, _restored(b, node, operands))


def _restored(b: Builder, node: Node, operands: tuple[Value, ...]) -> tuple[Value, ...]:
    return tuple(_as(b, v, old.dtype) for v, old in zip(operands, node.operands))


def _as(b: Builder, value: Value, dtype: str) -> Value:
    return value if value.dtype == dtype else b("cast", value, dtype=dtype)


def _low(b: Builder, node: Node, operands: tuple[Value, ...], low: str | None) -> tuple[Value, ...]:
    """f32 operands are narrowed; what the file made 16 bits wide stays as it made it."""
    if low is None:
        return b.remake(node, _restored(b, node, operands))
    narrowed = tuple(
        _as(b, v, low if old.dtype == "f32" else old.dtype)
        for v, old in zip(operands, node.operands)
    )
    return b.remake(node, narrowed)


def _full(
    b: Builder, node: Node, operands: tuple[Value, ...], low: str | None
) -> tuple[Value, ...]:
    """16-bit operands that the policy made are widened; those of the file stay."""
    widened = tuple(
        _as(b, v, "f32") if v.dtype in NARROW and old.dtype == "f32" else v
        for v, old in zip(operands, node.operands)
    )
    return b.remake(node, widened)


def _follow(
    b: Builder, node: Node, operands: tuple[Value, ...], low: str | None
) -> tuple[Value, ...]:
    """Operands that were equal in dtype are made equal again, at the widest."""
    changed = [i for i, (v, old) in enumerate(zip(operands, node.operands)) if v.dtype != old.dtype]
    if not changed:
        return b.remake(node, operands)
    floats = [v.dtype for v, old in zip(operands, node.operands) if old.dtype == "f32"]
    widest = "f32" if "f32" in floats else floats[0]
    same = tuple(
        _as(b, v, widest) if old.dtype == "f32" else v for v, old in zip(operands, node.operands)
    )
    return b.remake(node, same)


def _exact(
    b: Builder, node: Node, operands: tuple[Value, ...], low: str | None
) -> tuple[Value, ...]:
    return b.remake(node, _restored(b, node, operands))


Action = Callable[[Builder, Node, tuple[Value, ...], "str | None"], tuple[Value, ...]]
ACTIONS: dict[Precision, Action] = {
    Precision.LOW: _low,
    Precision.FULL: _full,
    Precision.FOLLOW: _follow,
    Precision.EXACT: _exact,
}
