"""Splats: constants of one number as local rules see them, and folding them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .graph import Value
from .rounding import float_highest, integer_bounds
from .types import FLOATS, broadcast

if TYPE_CHECKING:
    from .builder import Builder

Operands = tuple[Value, ...]
LocalRule = Callable[["Builder", Operands, dict[str, Any]], "Value | None"]


def splat(value: Value) -> Any:
    """The number of a constant, or None."""
    node = value.node
    return node.get("value") if node.operation == "constant" else None


def has_splat(operands: Operands) -> bool:
    """Whether one is a constant: most nodes have none, and then few rules apply."""
    for source, _ in operands:  # noqa: SIM110 - a generator costs more than the rest
        if source.operation == "constant":
            return True
    return False


def is_number(value: Value, number: int) -> bool:
    found = splat(value)
    return found is not None and found.__class__ is not bool and found == number


def result_shape(operands: Operands) -> tuple[int, ...] | None:
    shape: tuple[int, ...] | None = operands[0].shape
    for v in operands[1:]:
        if shape is not None and v.shape != shape:
            shape = broadcast(shape, v.shape)
    return shape


def keeps(x: Value, operands: Operands) -> bool:
    """Whether x has the type that the node would have."""
    return all(v.dtype == x.dtype for v in operands) and x.shape == result_shape(operands)


def folded(b: Builder, operands: Operands, function: Callable[..., Any]) -> Value | None:
    """The function of splats as a splat, rounded as the node would be; None where not finite."""
    numbers = []
    for v in operands:
        number = splat(v)
        if number is None or number.__class__ is bool:
            return None
        numbers.append(number)
    dtype, shape = operands[0].dtype, result_shape(operands)
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


def exactly(function: Callable[..., Any]) -> Callable[..., Any]:
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


def zero_splat(b: Builder, operands: Operands) -> Value | None:
    shape = result_shape(operands)
    if shape is None:
        return None
    return b.constant(0 if operands[0].dtype not in FLOATS else 0.0, operands[0].dtype, shape)
