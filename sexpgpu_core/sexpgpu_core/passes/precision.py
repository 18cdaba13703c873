"""The precision policy as casts (45.24): once, after autodiff, before the other passes.

LOW operations take 16-bit operands and give 16 bits; FULL ones take and give f32; FOLLOW ones and
moves compute in f32 and give the widest of their operands, numbers of the file not counted; EXACT
ones are never touched. What the file made f64, 16 bits or integers stays as it made it. In a run
of f64 that stands for f32, and only what a policy of the file names is narrowed.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir import Builder, Node, Value
from ..ir.operation import Fusion, Operation, Operations, Precision
from ..ir.policy import Policy, policy_of
from .rebuild import Change

NARROW = ("bf16", "f16")
FULL = {"attention-backward": (5,)}
"""Operands of LOW operations that stay f32: logarithms of sums."""
BODIED = frozenset(("update", "scan", "while", "cond"))


def precision_change(operations: Operations, policy: str) -> Change:
    """A change for a whole graph whose own policy is `policy`; a node's `policy` field stands
    over it."""
    known: dict[str, Policy] = {}

    def change(b: Builder, node: Node, operands: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if not operands or node.operation in BODIED or node.operation == "cast":
            return b.remake(node, _restored(b, node, operands))
        text = node.policy or policy
        found = known.get(text)
        if found is None:
            found = known[text] = policy_of(text, policy)
        return _action(operations[node.operation])(b, node, operands, found)

    return change


def _restored(b: Builder, node: Node, operands: tuple[Value, ...]) -> tuple[Value, ...]:
    """Operands as the file has them: what `update`, regions and casts of the file take."""
    return tuple(_as(b, v, old.dtype) for v, old in zip(operands, node.operands))


def _as(b: Builder, value: Value, dtype: str) -> Value:
    return value if value.dtype == dtype else b("cast", value, dtype=dtype)


def _low(b: Builder, node: Node, operands: tuple[Value, ...], policy: Policy) -> tuple[Value, ...]:
    """f32 operands are narrowed; what the file made 16 bits wide stays as it made it."""
    if policy.low is None:
        return b.remake(node, _restored(b, node, operands))
    full, moves = FULL.get(node.operation, ()), PARTS.get(node.operation, ("reshape",))
    narrowed = tuple(
        _ahead(b, v, policy.low if old.dtype == policy.full and i not in full else old.dtype, moves)
        for i, (v, old) in enumerate(zip(operands, node.operands))
    )
    return b.remake(node, narrowed)


def _full(b: Builder, node: Node, operands: tuple[Value, ...], policy: Policy) -> tuple[Value, ...]:
    return b.remake(node, _restored(b, node, operands))


def _follow(
    b: Builder, node: Node, operands: tuple[Value, ...], policy: Policy
) -> tuple[Value, ...]:
    """Operands that were f32 are made equal again: at f32 if one is, or in an island. Beside
    numbers narrow ones are computed in f32, and the result is rounded to what they were."""
    pairs = list(zip(operands, node.operands))
    wide = policy.full
    floats = {v.dtype for v, old in pairs if old.dtype == wide and not _is_number(v, wide)}
    widest = floats.pop() if len(floats) == 1 else wide
    if widest == wide or policy.island:
        return b.remake(node, _restored(b, node, operands))
    if not any(_is_number(v, wide) for v, old in pairs if old.dtype == wide):
        return b.remake(node, operands)
    made = b.remake(node, _restored(b, node, operands))
    return tuple(_as(b, v, widest) if v.dtype == wide else v for v in made)


def _is_number(value: Value, wide: str) -> bool:
    return value.node.operation == "constant" and value.dtype == wide


def _ahead(b: Builder, value: Value, dtype: str, moves: tuple[str, ...]) -> Value:
    """Cast what a chain of moves begins with: one narrow copy serves all who use parts of it or
    see it in another shape."""
    node = value.node
    if value.dtype == dtype or node.operation not in moves:
        return _as(b, value, dtype)
    (moved,) = b.remake(node, (_ahead(b, node.operands[0], dtype, moves),))
    return moved


PARTS = dict.fromkeys(("attention-forward", "attention-backward"), ("slice", "reshape"))
"""Operations of which operands are parts of one product, queries, keys and values; of others only
shapes are looked through."""

Action = Callable[[Builder, Node, tuple[Value, ...], Policy], tuple[Value, ...]]
ACTIONS: dict[Precision, Action] = {
    Precision.LOW: _low,
    Precision.FULL: _full,
    Precision.FOLLOW: _follow,
    Precision.EXACT: _full,
}


def _action(operation: Operation) -> Action:
    """A move changes no value: it keeps what its operand is stored in."""
    moves = operation.precision is Precision.EXACT and operation.fusion is Fusion.MOVE
    return _follow if moves else ACTIONS[operation.precision]
