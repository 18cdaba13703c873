"""Scalars as the low bytes of a word: what a device is given of a literal or a step scalar."""

from __future__ import annotations

import struct


def bits(value: float | int | bool, dtype: str) -> int:
    """A scalar as the low bytes of a word, rounded once to its dtype."""
    if dtype == "f32":
        return int.from_bytes(struct.pack("<f", _single(value)), "little")
    if dtype == "f64":
        return int.from_bytes(struct.pack("<d", value), "little", signed=True)
    if dtype == "f16":
        return int.from_bytes(struct.pack("<e", value), "little")
    if dtype == "bf16":
        return _bf16(value)
    return (int(value) + (1 << 63)) % (1 << 64) - (1 << 63)


def _single(value: float) -> float:
    """struct refuses what rounds to infinity; IEEE does not."""
    try:
        struct.pack("<f", value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return value


def _bf16(value: float) -> int:
    """Rounded once, from the double: to odd in 32 bits first, so that no tie is made or lost."""
    if value != value:
        return 0x7FC0
    single = struct.unpack("<f", struct.pack("<f", _single(value)))[0]
    raw: int = struct.unpack("<I", struct.pack("<f", single))[0]
    if single != value and abs(single) != float("inf"):
        toward = abs(single) > abs(value)
        raw = (raw - 1 if toward else raw) | 1
    return (raw + 0x7FFF + ((raw >> 16) & 1)) >> 16
