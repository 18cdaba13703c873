"""A token's text to a number, or None when it is a symbol. Every float is a double."""

from __future__ import annotations

import re
from math import gcd, isinf

from ..diagnostics import problem
from ..evaluator.values import Ratio, Value

INTEGER = re.compile(r"[+-]?[0-9]+\.?\Z")
FLOAT = re.compile(r"([+-]?[0-9]*\.[0-9]+|[+-]?[0-9]+(?:\.[0-9]*)?(?=[esfdlESFDL]))"
                   r"(?:[esfdlESFDL]([+-]?[0-9]+))?\Z")  # fmt: skip
RATIO = re.compile(r"([+-]?[0-9]+)/([0-9]+)\Z")
CHUNK = 512
"""Digits that Python reads at once: over 4,300 it refuses."""

BITS = 1 << 20
"""Most bits of an integer that is read."""

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def parse_number(text: str) -> Value | None:
    """`12 12. 1/3 1.5 .5 1e-3 1d0`; None if the text is no number."""
    if INTEGER.match(text):
        return whole(text.rstrip("."))
    if found := FLOAT.match(text):
        value = float(found.group(1) + ("e" + found.group(2) if found.group(2) else ""))
        if isinf(value):
            raise problem("E-READ-SYNTAX", f"{text} is larger than a double can be")
        return value
    if found := RATIO.match(text):
        return ratio(whole(found.group(1)), whole(found.group(2)), text)
    return None


def whole(text: str, radix: int = 10) -> int:
    """Digits with a sign; E-LIMIT-INTEGER where there are too many."""
    if len(text) * (radix.bit_length() - 1) > BITS:
        raise problem("E-LIMIT-INTEGER", f"an integer of {len(text):,} digits is too long to read")
    sign = -1 if text[0] == "-" else 1
    return sign * integer_of(text.lstrip("+-"), radix)


def integer_of(digits: str, base: int = 10) -> int:
    """The integer that digits spell, which have no sign. Halves are joined by one product."""
    if len(digits) <= CHUNK or base in (2, 4, 8, 16, 32):
        return int(digits, base)
    half = len(digits) // 2
    head, tail = integer_of(digits[:-half], base), integer_of(digits[-half:], base)
    power: int = base**half
    return head * power + tail


def ratio(numerator: int, denominator: int, text: str) -> Value:
    """In lowest terms; an int where it is whole."""
    if denominator == 0:
        raise problem("E-READ-SYNTAX", f"{text} divides by zero")
    common = gcd(numerator, denominator)
    if common == denominator:
        return numerator // denominator
    return Ratio(numerator // common, denominator // common)


def parse_radix(text: str, radix: int) -> Value | None:
    """A rational written in a radix (`#x-ff`, `#3r1/2`); None if a digit does not belong."""
    body = text.lower()
    sign = -1 if body.startswith("-") else 1
    upper, slash, lower = body.lstrip("+-").partition("/")
    allowed = set(DIGITS[:radix])
    if not upper or not set(upper + lower) <= allowed or bool(slash) != bool(lower):
        return None
    if slash:
        return ratio(sign * whole(upper, radix), whole(lower, radix), text)
    return sign * whole(upper, radix)
