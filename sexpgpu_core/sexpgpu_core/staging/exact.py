"""Lisp numbers as elements of a dtype: rounded once, from the exact value (45.23)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ..diagnostics import problem
from ..evaluator.values import Ratio
from ..ir.rounding import rounded
from ..ir.types import INTEGERS


def is_number(value: Any) -> bool:
    """A Lisp number: an integer, a float or a ratio."""
    return value.__class__ in (int, float, Ratio)


def python_number(value: Any) -> int | float | Fraction:
    """A Lisp number as Python has it, without rounding."""
    if value.__class__ is Ratio:
        return Fraction(value.numerator, value.denominator)
    return value  # type: ignore[no-any-return]


def default_dtype(value: Any) -> str:
    """What a number is where no tensor says it: f32, or i32 for an integer."""
    return "i32" if value.__class__ is int else "f32"


def round_to(value: Any, dtype: str) -> int | float:
    """The element of `dtype` nearest to a Lisp number; E-DTYPE-RANGE, E-DTYPE-WEAK."""
    if dtype == "bool":
        raise problem(
            "E-DTYPE-ARGUMENT",
            f"the number {show(value)} meets a tensor of bool",
            hint="bool has no arithmetic: (cast x :f32) first, or use where",
            dtype=dtype,
        )
    if dtype in INTEGERS and value.__class__ is not int:
        raise problem(
            "E-DTYPE-WEAK",
            f"{show(value)} meets a tensor of {dtype}",
            hint=f"cast the tensor, (cast x :f32), or write an integer in place of {show(value)}",
            number=show(value),
            dtype=dtype,
        )
    return rounded(python_number(value), dtype)  # type: ignore[return-value]


def show(value: Any) -> str:
    """A number as Lisp writes it."""
    if value.__class__ is Ratio:
        return f"{value.numerator}/{value.denominator}"
    return repr(value)
