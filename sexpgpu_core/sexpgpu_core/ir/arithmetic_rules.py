"""Local rules of elementwise operations: identities, zeros, splats, casts that keep the value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .graph import Value
from .rounding import float_highest, rounded
from .splats import (
    LocalRule,
    Operands,
    exactly,
    folded,
    has_splat,
    is_number,
    keeps,
    result_shape,
    splat,
    zero_splat,
)
from .types import FLOATS, Type

if TYPE_CHECKING:
    from .builder import Builder

_add = exactly(lambda x, y: x + y)
_subtract = exactly(lambda x, y: x - y)
_multiply = exactly(lambda x, y: x * y)
_divide = exactly(lambda x, y: x / y)


def _rule_add(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    x, y = o
    if not has_splat(o):
        return _add_in_place(b, o)
    if is_number(y, 0) and keeps(x, o):
        return x
    if is_number(x, 0) and keeps(y, o):
        return y
    return folded(b, o, _add) or _add_in_place(b, o) or _smaller(b, "add", o)


def _add_in_place(b: Builder, o: Operands) -> Value | None:
    """x + scatter-add(0, i, y) is scatter-add(x, i, y): tied weights (45.13)."""
    for x, y in (o, o[::-1]):
        node = y.node
        if node.operation == "scatter-add" and is_number(node.operands[0], 0) and x.type == y.type:
            return b("scatter-add", x, *node.operands[1:], **dict(node.attributes))
    return None


def _smaller(b: Builder, operation: str, o: Operands) -> Value | None:
    """A splat that broadcasts to another operand's shape anyway becomes a scalar."""
    for i, v in enumerate(o):
        if v.node.operation == "constant" and v.shape:
            rest, shape = o[:i] + o[i + 1 :], result_shape(o)
            if any(r.shape == shape for r in rest):
                scalar = b("constant", value=splat(v), dtype=v.dtype, shape=())
                return b(operation, *o[:i], scalar, *o[i + 1 :])
    return None


def _rule_subtract(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    if not has_splat(o):
        return None
    x, y = o
    if is_number(y, 0) and keeps(x, o):
        return x
    if is_number(x, 0) and keeps(y, o) and y.dtype in FLOATS:
        return b("negate", y)
    return folded(b, o, _subtract) or _smaller(b, "subtract", o)


def _rule_multiply(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    if not has_splat(o):
        return None
    for x, y in (o, o[::-1]):
        number = splat(y)
        if number is None or number.__class__ is bool or number not in (0, 1, -1):
            continue
        if number == 0 and x.dtype == y.dtype:
            return zero_splat(b, o)
        if number == 1 and keeps(x, o):
            return x
        if number == -1 and keeps(x, o) and splat(x) is None:
            return b("negate", x)
    return folded(b, o, _multiply) or _smaller(b, "multiply", o)


def _rule_divide(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    if not has_splat(o):
        return None
    x, y = o
    if is_number(y, 1) and keeps(x, o):
        return x
    number = splat(y)
    if not number:
        return _smaller(b, "divide", o)
    if is_number(x, 0) and number == number:
        return zero_splat(b, o)
    return folded(b, o, _divide) or _smaller(b, "divide", o)


def _rule_negate(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    if o[0].node.operation == "negate":
        return o[0].node.operands[0]
    return folded(b, o, lambda x: -x) if has_splat(o) else None


def _rule_square(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    return folded(b, o, lambda x: _multiply(x, x)) if has_splat(o) else None


def _rule_power(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    x, y = o
    if is_number(y, 1) and keeps(x, o):
        return x
    if is_number(y, 2) and keeps(x, o):
        return b("square", x)
    if is_number(y, 0) and y.dtype == x.dtype:
        shape = result_shape(o)
        return None if shape is None else b.constant(1.0, x.dtype, shape)
    return None


def _rule_where(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    test, x, y = o
    shape = result_shape(o)
    for chosen, when in ((x, True), (y, False)):
        if splat(test) is when and chosen.shape == shape:
            return chosen
    same = x.node is y.node and x.result == y.result
    return x if same and x.shape == shape else _smaller(b, "where", o)


def _rule_cast(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    x, dtype = o[0], a["dtype"]
    if x.dtype == dtype:
        return x
    number = splat(x)
    if number is not None and dtype in FLOATS and abs(number) <= float_highest(dtype):
        return b.constant(rounded(number, dtype), dtype, x.shape)
    if x.node.operation == "cast":
        inner = x.node.operands[0]
        if _widens(inner.dtype, x.dtype):
            return b("cast", inner, dtype=dtype)
    return None


_MANTISSA = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}


def _widens(narrow: str, wide: str) -> bool:
    """Whether each value of the one dtype is a value of the other."""
    if narrow in FLOATS:
        pair = (narrow, wide)
        return wide in FLOATS and _MANTISSA[narrow] < _MANTISSA[wide] and pair != ("bf16", "f16")
    if narrow == "bool":
        return True
    bits = 8 * Type(narrow).itemsize - (narrow[0] == "i")
    if wide in FLOATS:
        return bits <= _MANTISSA[wide] and wide != "f16"
    if wide == "bool":
        return False
    room = 8 * Type(wide).itemsize - (wide[0] == "i")
    return room >= bits and (wide[0] == "i" or narrow[0] == "u")


def _rule_logical_not(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    return o[0].node.operands[0] if o[0].node.operation == "logical-not" else None


RULES: dict[str, LocalRule] = {
    "add": _rule_add,
    "subtract": _rule_subtract,
    "multiply": _rule_multiply,
    "divide": _rule_divide,
    "negate": _rule_negate,
    "square": _rule_square,
    "power": _rule_power,
    "where": _rule_where,
    "cast": _rule_cast,
    "logical-not": _rule_logical_not,
}
