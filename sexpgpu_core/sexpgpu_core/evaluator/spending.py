"""What builtins cost in steps by the size of their data, so that the limit of steps covers them."""

from __future__ import annotations

from math import isqrt

from ..diagnostics import problem
from .machine import Limits, current, running

CELLS_A_STEP = 2
"""Cells or elements walked or made that cost as much as one step of evaluation."""

FIRST_LOOK = 1_000
"""Cells after which a walk first asks whether it goes on too long."""


def limits() -> Limits:
    """The limits of the evaluator that is running."""
    return current().limits if running() else Limits()


def spend(name: str, cells: int) -> None:
    """Pay for a walk over that many cells."""
    if cells >= CELLS_A_STEP and running():
        current().spend(cells // CELLS_A_STEP, name)


def spend_bits(name: str, bits: int) -> None:
    """Pay for an operation that takes time as the length of an integer grows: sums and copies."""
    if bits >= 4096 and running():
        current().spend(bits >> 10, name)


def spend_product(name: str, bits: int) -> None:
    """Pay for a product of so many bits: time grows with the power 1.6 of the length."""
    if bits >= 4096 and running():
        k = bits >> 10
        current().spend(8 * k * isqrt(k), name)


def spend_quotient(name: str, bits: int) -> None:
    """Pay for a division, a root, a divisor or digits: time grows with the square."""
    if bits >= 4096 and running():
        current().spend(10 * (bits >> 10) ** 2, name)


def look(name: str, walked: int, share: int = 5) -> int:
    """When a walk that has visited so many cells asks again.

    E-LIMIT-CELLS beyond a part of the cells that may be made: it goes in circles, or through a
    structure that shares its parts so that it would take as long.
    """
    most = limits().cells // share
    if walked <= most:
        return min(2 * walked, most)
    raise problem(
        "E-LIMIT-CELLS",
        f"{name} has walked {most:,} cells: the structure is circular or too large",
        limit=most,
    )
