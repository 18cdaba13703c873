"""Integers to digits in any base, without Python's limit on how long they may be."""

from __future__ import annotations

from .spending import spend_quotient

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FORMATS = {2: "b", 8: "o", 16: "X"}


def integer_text(n: int, base: int = 10) -> str:
    """Digits of n in a base from 2 to 36, with its sign."""
    if n < 0:
        return "-" + integer_text(-n, base)
    code = _FORMATS.get(base)
    if code:
        return format(n, code)
    if base == 10 and n.bit_length() < 4000:
        return str(n)
    spend_quotient("an integer's digits", n.bit_length())
    return _split(n, base)


CHUNK = 512
"""Digits that are made at once."""


def _split(n: int, base: int) -> str:
    """Divide by powers of the base, largest first: the depth is the log of the length."""
    powers = [base**CHUNK]
    while powers[-1] * powers[-1] <= n:
        powers.append(powers[-1] * powers[-1])
    parts = [n]
    for power in reversed(powers):
        parts = [half for part in parts for half in divmod(part, power)]
    return "".join(_chunk(part, base) for part in parts).lstrip("0") or "0"


def _chunk(n: int, base: int) -> str:
    """Exactly CHUNK digits."""
    if base == 10:
        return str(n).rjust(CHUNK, "0")
    digits = []
    for _ in range(CHUNK):
        n, digit = divmod(n, base)
        digits.append(DIGITS[digit])
    return "".join(reversed(digits))
