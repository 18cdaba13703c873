"""Local rules: asked when a node is made, from autodiff on; each gives the same finite values.

A table from operation to function. Rules fold scalars and splats, drop identities and join views;
they count no users and look at operands only, so they cost little and need no sweep. Where an
operand is infinite or NaN a rule may differ from the node (x 0); of finite ones it never does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .graph import Node, Value
from .rounding import float_highest, integer_bounds, rounded
from .types import FLOATS, Type, broadcast

if TYPE_CHECKING:
    from .builder import Builder

Operands = tuple[Value, ...]
LocalRule = Callable[["Builder", Operands, dict[str, Any]], "Value | None"]

OPAQUE = frozenset(("stop-gradient", "straight-through", "barrier", "gradient-scale"))
"""No rule looks through these (45.31)."""


def local_rule(
    b: Builder, operation: str, operands: Operands, attributes: dict[str, Any]
) -> Value | None:
    """A `builder.Rule`: the value to use instead of a node, or None."""
    rule = RULES.get(operation)
    return None if rule is None else rule(b, operands, attributes)


def splat(value: Value) -> Any:
    """The number of a constant, or None."""
    node = value.node
    return node.get("value") if node.operation == "constant" else None


def _is(value: Value, number: int) -> bool:
    found = splat(value)
    return found is not None and found.__class__ is not bool and found == number


def _result(operands: Operands) -> tuple[int, ...] | None:
    shape: tuple[int, ...] | None = operands[0].shape
    for v in operands[1:]:
        if shape is not None and v.shape != shape:
            shape = broadcast(shape, v.shape)
    return shape


def _keeps(x: Value, operands: Operands) -> bool:
    """Whether x has the type that the node would have."""
    return all(v.dtype == x.dtype for v in operands) and x.shape == _result(operands)


def _folded(b: Builder, operands: Operands, function: Callable[..., Any]) -> Value | None:
    """The function of splats as a splat, rounded as the node would be; None where not finite."""
    numbers = [splat(v) for v in operands]
    if any(n is None or n.__class__ is bool for n in numbers):
        return None
    dtype, shape = operands[0].dtype, _result(operands)
    if shape is None or any(v.dtype != dtype for v in operands):
        return None
    found = function(*numbers)
    if dtype in FLOATS and not abs(found) <= float_highest(dtype):
        return None
    return b.constant(found, dtype, shape) if _holds(found, dtype) else None


def _holds(number: Any, dtype: str) -> bool:
    if dtype in FLOATS:
        return True
    low, high = integer_bounds(dtype)
    return bool(low <= number <= high)


def _exact(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of exact numbers, so that a float result is rounded once."""

    def exact(*numbers: Any) -> Any:
        if all(n.__class__ is int for n in numbers):
            return function(*numbers)
        if any(n - n != 0 for n in numbers):
            return float("inf")
        return _signed(function, numbers)

    return exact


def _signed(function: Callable[..., Any], numbers: tuple[Any, ...]) -> Any:
    from fractions import Fraction

    found = function(*map(Fraction, numbers))
    # Fractions have no -0: the float result has the right sign of zero.
    return found if found else function(*numbers)


_add = _exact(lambda x, y: x + y)
_subtract = _exact(lambda x, y: x - y)
_multiply = _exact(lambda x, y: x * y)
_divide = _exact(lambda x, y: x / y)


def _zeros(b: Builder, operands: Operands) -> Value | None:
    shape = _result(operands)
    if shape is None:
        return None
    return b.constant(0 if operands[0].dtype not in FLOATS else 0.0, operands[0].dtype, shape)


def _rule_add(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    x, y = o
    if _is(y, 0) and _keeps(x, o):
        return x
    if _is(x, 0) and _keeps(y, o):
        return y
    return _folded(b, o, _add) or _add_in_place(b, o) or _smaller(b, "add", o)


def _add_in_place(b: Builder, o: Operands) -> Value | None:
    """x + scatter-add(0, i, y) is scatter-add(x, i, y): tied weights (45.13)."""
    for x, y in (o, o[::-1]):
        node = y.node
        if node.operation == "scatter-add" and _is(node.operands[0], 0) and x.type == y.type:
            return b("scatter-add", x, *node.operands[1:], **dict(node.attributes))
    return None


def _smaller(b: Builder, operation: str, o: Operands) -> Value | None:
    """A splat that broadcasts to another operand's shape anyway becomes a scalar."""
    shape = _result(o)
    for i, v in enumerate(o):
        if v.shape and splat(v) is not None:
            rest = o[:i] + o[i + 1 :]
            if any(r.shape == shape for r in rest):
                scalar = b("constant", value=splat(v), dtype=v.dtype, shape=())
                return b(operation, *o[:i], scalar, *o[i + 1 :])
    return None


def _rule_subtract(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    x, y = o
    if _is(y, 0) and _keeps(x, o):
        return x
    if _is(x, 0) and _keeps(y, o) and y.dtype in FLOATS:
        return b("negate", y)
    return _folded(b, o, _subtract) or _smaller(b, "subtract", o)


def _rule_multiply(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    for x, y in (o, o[::-1]):
        if _is(y, 1) and _keeps(x, o):
            return x
        if _is(y, 0) and x.dtype == y.dtype:
            return _zeros(b, o)
        if _is(y, -1) and _keeps(x, o) and splat(x) is None:
            return b("negate", x)
    return _folded(b, o, _multiply) or _smaller(b, "multiply", o)


def _rule_divide(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    x, y = o
    if _is(y, 1) and _keeps(x, o):
        return x
    number = splat(y)
    if not number:
        return _smaller(b, "divide", o)
    if _is(x, 0) and number == number:
        return _zeros(b, o)
    return _folded(b, o, _divide) or _smaller(b, "divide", o)


def _rule_negate(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    if o[0].node.operation == "negate":
        return o[0].node.operands[0]
    return _folded(b, o, lambda x: -x)


def _rule_square(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    return _folded(b, o, lambda x: _multiply(x, x))


def _rule_power(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    x, y = o
    if _is(y, 1) and _keeps(x, o):
        return x
    if _is(y, 2) and _keeps(x, o):
        return b("square", x)
    if _is(y, 0) and y.dtype == x.dtype:
        shape = _result(o)
        return None if shape is None else b.constant(1.0, x.dtype, shape)
    return None


def _rule_where(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    test, x, y = o
    shape = _result(o)
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
        return b.constant(rounded(float(number), dtype), dtype, x.shape)
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


def _rule_reshape(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    x, shape = o[0], a["shape"]
    if x.shape == shape:
        return x
    node = x.node
    if node.operation == "reshape":
        return b("reshape", node.operands[0], shape=shape)
    return _splat_as(b, x, shape)


def _splat_as(b: Builder, x: Value, shape: tuple[int, ...]) -> Value | None:
    number = splat(x)
    if number is None:
        return None
    return b("constant", value=number, dtype=x.dtype, shape=shape)


def _rule_broadcast(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    x, shape = o[0], a["shape"]
    if x.shape == shape:
        return x
    if x.node.operation == "broadcast-to" and broadcast(x.shape, shape) == shape:
        return b("broadcast-to", x.node.operands[0], shape=shape)
    return _splat_as(b, x, shape) if broadcast(x.shape, shape) == shape else None


def _rule_permute(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    x, axes = o[0], a["axes"]
    if axes == tuple(range(len(x.shape))):
        return x
    if sorted(axes) != list(range(len(x.shape))):
        return None
    if x.node.operation == "permute":
        inner = x.node.get("axes")
        return b("permute", x.node.operands[0], axes=tuple(inner[i] for i in axes))
    return _splat_as(b, x, tuple(x.shape[i] for i in axes))


def _rule_slice(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    x = o[0]
    whole = a["stops"] == x.shape and not any(a["starts"]) and all(s == 1 for s in a["steps"])
    return x if whole else None


def _rule_pad(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    return None if any(a["low"] + a["high"] + (a.get("interior") or ())) else o[0]


def _rule_flip(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    x = o[0]
    if not a["axes"]:
        return x
    node = x.node
    if node.operation == "flip" and node.get("axes") == a["axes"]:
        return node.operands[0]
    return x if splat(x) is not None else None


def _rule_concat(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    return o[0] if len(o) == 1 else None


def _rule_sum(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    x, axes = o[0], a["axes"]
    if not axes:
        return x
    node = x.node
    if _is(x, 0):
        keep = a.get("keep")
        shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape) if keep or i not in axes)
        return _splat_as(b, x, shape)
    if node.operation == "reshape" and not a.get("keep") and axes == tuple(range(len(x.shape))):
        inner = node.operands[0]
        return b("reduce-sum", inner, axes=tuple(range(len(inner.shape))), keep=False)
    return None


def _rule_reduce(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    return o[0] if not a["axes"] else None


def _rule_matmul(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    x, y = (_untransposed(v) for v in o)
    if x is None and y is None:
        return None
    flags = {
        "transpose-x": (bool(a.get("transpose-x")) != (x is not None)) or None,
        "transpose-y": (bool(a.get("transpose-y")) != (y is not None)) or None,
    }
    return b("matmul", x or o[0], y or o[1], **flags)


def _untransposed(value: Value) -> Value | None:
    """What a value is the transposition (of the last two axes) of."""
    node, rank = value.node, len(value.shape)
    if node.operation != "permute" or rank < 2:
        return None
    swapped = (*range(rank - 2), rank - 1, rank - 2)
    return node.operands[0] if node.get("axes") == swapped else None


def _rule_logical_not(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    return o[0].node.operands[0] if o[0].node.operation == "logical-not" else None


def _rule_scatter_add(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    return o[0] if _is(o[2], 0) and a.get("out") == "drop" else None


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
    "reshape": _rule_reshape,
    "broadcast-to": _rule_broadcast,
    "permute": _rule_permute,
    "slice": _rule_slice,
    "pad": _rule_pad,
    "flip": _rule_flip,
    "concat": _rule_concat,
    "reduce-sum": _rule_sum,
    "reduce-max": _rule_reduce,
    "reduce-min": _rule_reduce,
    "reduce-product": _rule_reduce,
    "reduce-any": _rule_reduce,
    "reduce-all": _rule_reduce,
    "matmul": _rule_matmul,
    "logical-not": _rule_logical_not,
    "scatter-add": _rule_scatter_add,
}

__all__ = ["OPAQUE", "RULES", "Node", "local_rule", "splat"]
