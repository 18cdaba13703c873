"""a b + c with one rounding: `fma` nodes by a rule that counts no users, so that neither another
use of the product nor a cut between kernels changes a bit (45.10)."""

from __future__ import annotations

from ..ir import Builder, Value
from ..ir.types import broadcast

FLOATS = ("f32", "f64")
CONTRACTED = ("add", "subtract")


def contracted(b: Builder, operation: str, operands: tuple[Value, ...]) -> Value | None:
    """fma instead of an add or subtract of a product of equal dtype and the result's shape."""
    x, y = operands
    if "multiply" not in (x.node.operation, y.node.operation) or x.dtype not in FLOATS:
        return None
    shape = x.shape if x.shape == y.shape else broadcast(x.shape, y.shape)
    if _product(x, shape):
        p, q = x.node.operands
        return b("fma", p, q, y if operation == "add" else b("negate", y))
    if _product(y, shape):
        p, q = y.node.operands
        return b("fma", p if operation == "add" else b("negate", p), q, x)
    return None


def _product(value: Value, shape: tuple[int, ...] | None) -> bool:
    return value.node.operation == "multiply" and value.shape == shape
