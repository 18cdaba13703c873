"""Drafts of programs without their memory: addresses alone, for what is only looked at."""

from __future__ import annotations

from typing import Any

from sexpgpu_core.plan.plan import Persistent, Plan, Region

from .draft import Draft
from .memory import BASE, GAP, Arena, Memory


class Room(Memory):
    """A region that has an address and a size, and no bytes."""

    def __init__(self, address: int, size: int) -> None:
        self.address = address
        self.size = max(size, 8)


class Addresses(Arena):
    """Gives addresses as an arena does; what is written goes nowhere."""

    def __init__(self) -> None:
        self.regions = []
        self._next = BASE

    def room(self, size: int) -> Memory:
        room = Room(self._next, size)
        self._next += -(-(room.size + GAP) // GAP) * GAP
        return room

    def array(self, address: int, dtype: Any, shape: tuple[int, ...]) -> Any:
        import numpy as np

        return np.empty(shape, dtype)

    def poke(self, address: int, value: int, width: int = 8) -> None:
        """Nothing: there are no bytes."""


def drafted(plan: Plan, persistent: Persistent) -> Draft:
    """A program's records as a device would be given them."""
    arena = Addresses()
    held = arena.room(persistent.bytes)
    return Draft(plan, arena, held, arena.room(plan.bytes.get(Region.TRANSIENT, 0)))
