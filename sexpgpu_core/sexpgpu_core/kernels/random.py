"""Random nodes as expressions: Philox by column, row, step and iteration (45.14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir import Node
from ..ir.box_muller import normal
from ..ir.philox import site_key
from ..ir.rounding import rounded
from ..ir.types import Attribute
from .frames import Frame
from .views import dense_strides

if TYPE_CHECKING:
    from .build import Build


def number(b: Build, node: Node, frame: Frame) -> int:
    """The expression of a random node at a frame."""
    column, rest = _counter(b, node, frame)
    if node.operation == "random-bits":
        return _words(b, column, rest)
    if node.operation == "random-normal":
        return _cast(b, _normal(b, column, rest), node.types[0].dtype)
    fraction = _fraction(b, _words(b, column, rest))
    if node.operation == "random-uniform":
        return _cast(b, fraction, node.types[0].dtype)
    limit = b.number(rounded(float(node.get("p")), "f32"), "f32")
    return b.add("less", (fraction, limit), "bool")


def _counter(b: Build, node: Node, frame: Frame) -> tuple[int, tuple[int, ...]]:
    """Column; and row, step, iteration and the two words of the key, all u32."""
    shape, given = node.types[0].shape, node.get("batch-axis")
    axis = given or 0
    row, column = b.number(0, "u32"), b.number(0, "u32")
    columns = shape[:axis] + shape[axis + 1 :]
    weights = frame[:axis] + frame[axis + 1 :]
    for n, w, step in zip(columns, weights, dense_strides(columns)):
        if n > 1:
            place = b.index(n, w, "u32")
            column = _sum(b, column, place, step)
    if shape and shape[axis] > 1:
        row = b.index(shape[axis], frame[axis], "u32")
    if given is not None:
        row = _sum(b, row, b.number(node.get("row-offset") or 0, "u32"), 1)
        if len(node.operands) > 1:
            row = _sum(b, row, _word(b, node, 1), 1)
    key = site_key(node.get("seed"), node.get("domain"), node.get("site"))
    trip = _word(b, node, 2) if len(node.operands) > 2 else b.number(0, "u32")
    return column, (row, _word(b, node, 0), trip, *(b.number(v, "u32") for v in key))


def _word(b: Build, node: Node, k: int) -> int:
    """A scalar integer operand as u32."""
    e = b.value(node.operands[k], ())
    return e if b.expressions[e].dtype == "u32" else b.add("cast", (e,), "u32")


def _sum(b: Build, total: int, term: int, factor: int) -> int:
    if factor != 1:
        term = b.add("multiply", (term, b.number(factor, "u32")), "u32")
    zero = b.expressions[total].literal
    if zero is not None and zero == 0:
        return term
    return b.add("add", (total, term), "u32")


def _words(b: Build, column: int, rest: tuple[int, ...]) -> int:
    return b.add("philox", (column, *rest), "u32")


def _fraction(b: Build, bits: int) -> int:
    """[0, 1) by 24 bits."""
    high = b.add("shift-right", (bits, b.number(8, "u32")), "u32")
    scale = b.number(2.0**-24, "f32")
    return b.add("multiply", (b.add("cast", (high,), "f32"), scale), "f32")


class _Expressions:
    """The arithmetic of a kernel; its numbers are part of its structure."""

    def __init__(self, b: Build) -> None:
        self.b = b

    def number(self, value: Attribute, dtype: str) -> int:
        return self.b.add("literal", (), dtype, literal=value)

    def apply(self, op: str, operands: tuple[int, ...], dtype: str) -> int:
        return self.b.add(op, operands, dtype)


def _normal(b: Build, column: int, rest: tuple[int, ...]) -> int:
    """Box-Muller on the pair of words a place belongs to."""
    one = b.number(1, "u32")
    odd = b.add("bit-and", (column, one), "u32")
    first = _words(b, b.add("subtract", (column, odd), "u32"), rest)
    second = _words(b, b.add("bit-or", (column, one), "u32"), rest)
    is_odd = b.add("not-equal", (odd, b.number(0, "u32")), "bool")
    found: int = normal(_Expressions(b), first, second, is_odd)
    return found


def _cast(b: Build, e: int, dtype: str) -> int:
    return e if dtype == "f32" else b.add("cast", (e,), dtype)
