"""Doubles to decimal digits and text. Reading what was printed gives the same double."""

from __future__ import annotations

import math


def decimal_digits(x: float) -> tuple[str, int]:
    """Shortest digits and exponent k of a finite x >= 0: x = 0.DIGITS * 10**k. 0 is ("0", 1)."""
    if x == 0:
        return "0", 1
    mantissa, _, exponent = repr(x).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(digits)
    point = len(whole) - leading + (int(exponent) if exponent else 0)
    return digits.rstrip("0") or "0", point


def float_text(x: float) -> str:
    """How a float prints: plain from 1e-3 to 1e7, else with an exponent."""
    if not math.isfinite(x):
        return "#<not-a-number>" if math.isnan(x) else f"#<{'-' if x < 0 else ''}infinity>"
    sign = "-" if math.copysign(1.0, x) < 0 else ""
    digits, point = decimal_digits(abs(x))
    if x == 0 or 1e-3 <= abs(x) < 1e7:
        return sign + plain_digits(digits, point)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}e{point - 1}"


def plain_digits(digits: str, point: int) -> str:
    """DIGITS with the decimal point after `point` of them, a digit on either side of it."""
    if point <= 0:
        return "0." + "0" * -point + digits
    if len(digits) <= point:
        return digits + "0" * (point - len(digits)) + ".0"
    return digits[:point] + "." + digits[point:]
