"""a b + c with one rounding: `fma` nodes by a rule that counts no users, so that neither another
use of the product nor a cut between kernels changes a bit (45.10)."""

from __future__ import annotations

from ..ir import Builder, Node, Value

FLOATS = ("f32", "f64")


def contract(b: Builder, node: Node, operands: tuple[Value, ...]) -> tuple[Value, ...] | None:
    """A change: add and subtract of a product of equal dtype and the result's shape."""
    if node.operation not in ("add", "subtract") or node.types[0].dtype not in FLOATS:
        return None
    x, y = operands
    shape = node.types[0].shape
    if _product(x, shape):
        p, q = x.node.operands
        return (b("fma", p, q, y if node.operation == "add" else b("negate", y)),)
    if _product(y, shape):
        p, q = y.node.operands
        return (b("fma", p if node.operation == "add" else b("negate", p), q, x),)
    return None


def _product(value: Value, shape: tuple[int, ...]) -> bool:
    return value.node.operation == "multiply" and value.shape == shape
