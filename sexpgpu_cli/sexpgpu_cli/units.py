"""Numbers to short text: counts, bytes, seconds, metrics."""

from __future__ import annotations

import math
from typing import Any


def count(n: float) -> str:
    """1234567 -> `1.23 M`."""
    for size, unit in ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e4, " k")):
        if abs(n) >= size or (unit == " k" and abs(n) >= 1e4):
            scale = 1e3 if unit == " k" else size
            return f"{n / scale:.3g}{unit}"
    return f"{n:,.0f}"


def size(n: float) -> str:
    """Bytes, by 1024: `41.9 MiB`."""
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if n >= 1024**power:
            return f"{n / 1024**power:.1f} {unit}"
    return f"{n:.0f} B"


def duration(seconds: float | None) -> str:
    """`0:54`, `1:02:03`, `27.4 ms`; `-` where it is not known."""
    if seconds is None:
        return "-"
    if seconds < 1:
        return f"{seconds * 1e3:.1f} ms"
    if seconds < 10:
        return f"{seconds:.2f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def metric(value: Any) -> str:
    """A metric's value, which may be the text of a non-finite number."""
    if isinstance(value, str) or value is None:
        return str(value)
    return f"{value:.4f}" if 1e-3 <= abs(value) < 1e5 or not value else f"{value:.3e}"


def real(value: Any) -> float:
    """A JSON number of a document as a float: "nan" and "inf" are texts there."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan
