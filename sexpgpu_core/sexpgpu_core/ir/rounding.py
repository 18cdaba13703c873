"""A number to a dtype: rounded once, to nearest even, from its exact value (45.23). No NumPy."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

from ..diagnostics import problem
from .types import FLOATS, WIDTH

Number = int | float | bool | Fraction

_FORMAT = {"f64": (53, -1074, 1024), "f32": (24, -149, 128), "f16": (11, -24, 16)}
_FORMAT["bf16"] = (8, -133, 128)
_HIGHEST = {d: math.ldexp(2.0**p - 1, top - p) for d, (p, _, top) in _FORMAT.items()}


def rounded(value: Number, dtype: str) -> Number:
    """The value that `dtype` has for a number; a float of a float dtype, an int, or a bool.

    Raises E-DTYPE-RANGE (an integer outside, a finite number that becomes infinite) and
    E-DTYPE-WEAK (a float or ratio with an integer dtype).
    """
    if dtype in FLOATS:
        return _float(value, dtype)
    if dtype == "bool":
        return bool(value)
    if value.__class__ not in (int, bool):
        raise problem("E-DTYPE-WEAK", f"{value} is no integer and the tensor is {dtype}")
    return _integer(int(value), dtype)


def integer_bounds(dtype: str) -> tuple[int, int]:
    """Least and greatest integer of an integer dtype."""
    bits = 8 * WIDTH[dtype]
    return (0, 2**bits - 1) if dtype[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def float_highest(dtype: str) -> float:
    """Greatest finite number of a float dtype."""
    return _HIGHEST[dtype]


def _integer(value: int, dtype: str) -> int:
    low, high = integer_bounds(dtype)
    if not low <= value <= high:
        raise problem("E-DTYPE-RANGE", f"{value} is outside {dtype}, {low} to {high}")
    return value


def _float(value: Number, dtype: str) -> float:
    if value.__class__ is float:
        if dtype == "f64" or not math.isfinite(value):
            return float(value)
        if dtype == "f32":
            try:
                return float(struct.unpack("<f", struct.pack("<f", value))[0])
            except OverflowError:
                raise _beyond(value, dtype) from None
    return _exact(Fraction(value), dtype, value)


def _exact(exact: Fraction, dtype: str, value: Number) -> float:
    if not exact:
        return math.copysign(0.0, value) if value.__class__ is float else 0.0
    precision, least, top = _FORMAT[dtype]
    magnitude = abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    unit = max(exponent - precision + 1, least)
    steps = round(magnitude / Fraction(2) ** unit)
    if steps and steps.bit_length() + unit > top:
        raise _beyond(value, dtype)
    return math.copysign(math.ldexp(steps, unit), exact)


def _beyond(value: Number, dtype: str) -> Exception:
    return problem("E-DTYPE-RANGE", f"{value} is too large for {dtype}")
