"""Where a program's bytes are: rooms by address, in a driver's memory or in nobody's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from .driver import Driver

BASE = 0x7F00_0000_0000
GAP = 1 << 20


class Room(NamedTuple):
    """Bytes from an address on, a multiple of 256."""

    address: int
    size: int


class Rooms(Protocol):
    def room(self, size: int) -> Room: ...
    def write(self, address: int, array: Any) -> None:
        """A contiguous array's bytes, once, before anything is launched."""
        ...


class DriverRooms:
    """Rooms of a driver's memory. `held`: bytes of all."""

    def __init__(self, driver: Driver, stream: Any) -> None:
        self._driver = driver
        self._stream = stream
        self.held = 0

    def room(self, size: int) -> Room:
        room = Room(self._driver.allocate(max(size, 8)), max(size, 8))
        self.held += room.size
        return room

    def write(self, address: int, array: Any) -> None:
        if array.nbytes:
            self._driver.copy_in(address, array, self._stream)
            self._driver.synchronize(self._stream)


class Addresses:
    """Addresses alone, for what is only looked at: what is written goes nowhere."""

    def __init__(self) -> None:
        self._next = BASE

    def room(self, size: int) -> Room:
        room = Room(self._next, max(size, 8))
        self._next += -(-(room.size + GAP) // GAP) * GAP
        return room

    def write(self, address: int, array: Any) -> None:
        """Nothing: there are no bytes."""


CHUNK = 1024
"""Words that lie together, so that one copy brings a step's scalars."""


class Words:
    """Blocks of scalars, 8 bytes each, in chunks. `known`: bits of literals by address; `pokes`:
    (address, step scalar's text, dtype) of the others, written before each launch."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._left = 0
        self.chunks: list[Room] = []
        self.known: dict[int, int] = {}
        self.pokes: list[tuple[int, str, str]] = []

    def take(self, count: int) -> int:
        """Address of a block, a multiple of 16."""
        count += count % 2
        if count > self._left:
            self._left = max(count, CHUNK)
            self.chunks.append(self._rooms.room(8 * self._left))
        chunk = self.chunks[-1]
        address = chunk.address + chunk.size - 8 * self._left
        self._left -= count
        return address
