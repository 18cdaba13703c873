"""Operations on the bits of integers."""

from __future__ import annotations

from ..operation import Precision
from .elementwise import element, integers_1, integers_2

_EXACT = Precision.EXACT

ROWS = [
    element("bit-and", integers_2, "Bits of both.", "zero", _EXACT, commutative=True),
    element("bit-or", integers_2, "Bits of either.", "zero", _EXACT, commutative=True),
    element("bit-xor", integers_2, "Bits that differ.", "zero", _EXACT, commutative=True),
    element("bit-not", integers_1, "All bits turned.", "zero", _EXACT),
    element(
        "shift",
        integers_2,
        "x moved left by count bits, right by -count where it is negative; arithmetic if signed.",
        "zero",
        _EXACT,
        signature="I, operands x count, broadcast",
    ),
    element("popcount", integers_1, "Number of bits that are 1.", "zero", _EXACT),
]
