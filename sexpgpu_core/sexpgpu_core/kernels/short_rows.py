"""Small values as large kernels read them: stored so that the inner axis is a long one.

A number a group or a row of few channels would make each kernel that reads it walk 4 or 8 elements
at a time. A copy of it beside each channel, or once a place of a line, is made first.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..ir import Node, Value
from ..ir.types import Type

Shape = tuple[int, ...]

LONG = 64
"""Elements that the inner axis of an elementwise kernel has at least, if it can."""
LARGER = 8
"""A reader has at least so many times the elements of the copy."""


class ShortRows:
    """Copies by what they are of, each made once. `node` makes a node where we are."""

    def __init__(self, node: Callable[..., Node]) -> None:
        self.copies: set[Value] = set()
        self._node = node
        self._spread: dict[Value, Value] = {}
        self._lines: dict[tuple[Value, Shape], Value] = {}

    def operands(self, node: Node, whole: Type, elementwise: bool) -> tuple[Value, ...]:
        """A node's operands, or copies of them. `whole`: the shape that its kernel runs over."""
        given = tuple([self._beside(v, whole.size) for v in node.operands])
        return tuple([self._lined(v, whole) for v in given]) if elementwise else given

    def _beside(self, value: Value, size: int) -> Value:
        """A value that repeats numbers along its last axis, copied for a reader of that size."""
        found = self._spread.get(value)
        if found is not None:
            return found
        source = value.node
        if source.operation == "broadcast-to":
            below = self._beside(source.operands[0], size)
            if below is source.operands[0]:
                below = self._lined(below, value.type)
            if below is source.operands[0]:
                return value
            found = Value(self._node("broadcast-to", (below,), source.types, shape=value.shape))
        elif repeats_last(source) and value.type.size * LARGER <= size:
            found = self._copied(value)
        else:
            return value
        self._spread[value] = found
        return found

    def _lined(self, value: Value, whole: Type) -> Value:
        """A short row, once a place of a line of a much larger value."""
        shape = (*[1] * (len(whole.shape) - 2), *whole.shape[-2:])
        if not is_short_row(value.shape, whole.shape) or LARGER * math.prod(shape) > whole.size:
            return value
        found = self._lines.get((value, shape))
        if found is None:
            wide = self._node("broadcast-to", (value,), (Type(value.dtype, shape),), shape=shape)
            found = self._lines[value, shape] = self._copied(Value(wide))
        return found

    def _copied(self, value: Value) -> Value:
        found = Value(self._node("copy", (value,), (value.type,)))
        self.copies.add(found)
        return found


def repeats_last(node: Node) -> bool:
    """Whether a node repeats each number of its operand a few times along the last axis, as a
    group's are for its channels: a broadcast axis made one with the axis before it."""
    if node.operation != "reshape" or node.operands[0].node.operation != "broadcast-to":
        return False
    wide, own = node.operands[0].shape, node.operands[0].node.operands[0].shape
    return (
        len(own) == len(wide) > 1
        and own[-1] == 1 < wide[-1] < LONG
        and own[-2] > 1
        and node.types[0].shape[-1] == wide[-1] * wide[-2]
    )


def is_short_row(own: Shape, shape: Shape) -> bool:
    """Whether a shape is one row of few elements, a number a channel, beside all places."""
    row = len(own) > 0 and 1 < own[-1] < LONG and math.prod(own) == own[-1] == shape[-1]
    return row and len(shape) > 2 and shape[-2] > 1


def ends_in_short_row(node: Node) -> bool:
    """Whether a reduction of neighbouring axes leaves few elements a row: lines of rows are folded
    first then, as long ones, and the axis above the row at the end. 16 bits would be rounded once
    more."""
    source, axes = node.operands[0], node.get("axes")
    shape = source.shape
    return (
        source.dtype in ("f32", "f64")
        and 1 < shape[-1] < LONG
        and axes[-1] == len(shape) - 2
        and shape[-2] > 1
        and math.prod([shape[a] for a in axes[:-1]]) >= LONG
    )
