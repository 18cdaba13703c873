"""Special functions, an element at a time in doubles: by recurrence and by `math`."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from . import Reference
from .elementwise import by_element, plain


def _lgamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except ValueError:  # a pole
        return math.inf


def _digamma(x: float) -> float:
    if not math.isfinite(x) or (x <= 0 and x == math.floor(x)):
        return x if x > 0 else math.nan
    if x < 0:
        return _digamma(1 - x) - math.pi / math.tan(math.pi * (x - round(x)))
    total = 0.0
    while x < 20:
        total -= 1 / x
        x += 1
    terms = 1 / 12 - (1 / 120 - (1 / 252 - 1 / (240 * x * x)) / (x * x)) / (x * x)
    return total + math.log(x) - 0.5 / x - terms / (x * x)


def _erfinv(x: float) -> float:
    if math.isnan(x) or abs(x) >= 1:
        return math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    share = (1 - abs(x)) / 2
    y = -NormalDist().inv_cdf(share) / math.sqrt(2)
    for _ in range(2):  # on the tail, which keeps its digits
        y += (math.erfc(y) - 2 * share) / (2 / math.sqrt(math.pi) * math.exp(-y * y))
    return math.copysign(y, x)


TABLE: dict[str, Reference] = {
    "cbrt": plain(np.cbrt),
    "erfinv": plain(by_element(_erfinv)),
    "lgamma": plain(by_element(_lgamma)),
    "digamma": plain(by_element(_digamma)),
}
