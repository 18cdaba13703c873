"""What one launch in flight has for itself: pinned images of what it is given and what it gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sexpgpu_core.device import check_fits
from sexpgpu_core.ir.types import WIDTH, Type, numpy_dtype
from sexpgpu_core.plan.plan import Plan, Region
from sexpgpu_core.plan.words import bits

from .draft import Draft
from .driver import Driver
from .rooms import Room, Rooms

NONE = (1 << 64) - 1
"""An error word that nobody wrote."""


class Poke(NamedTuple):
    """A step scalar's place in an image."""

    image: int
    start: int
    width: int
    text: str
    dtype: str


class Field(NamedTuple):
    """An array's place in an image."""

    name: str
    type: Type
    start: int

    def of(self, image: Any) -> Any:
        """A view."""
        raw: Any = image[self.start : self.start + max(self.type.bytes, 1)]
        kind = numpy_dtype(self.type.dtype)
        return raw[: self.type.bytes].view(kind).reshape(self.type.shape)


class Form:
    """What all launches of a program have in common: the rooms that are copied, and what lies
    where in them."""

    def __init__(self, draft: Draft) -> None:
        plan = draft.plan
        self.input = draft.regions[Region.INPUT]
        self.fields = tuple(_fields(plan))
        scalars = draft.regions[Region.SCALAR]
        words = draft.places.words
        self.rooms = (scalars, *words.chunks)
        self.known = words.known
        self.pokes = (*_scalars(plan), *self._words(words.pokes))
        self.asked = sorted({p.image for p in self.pokes})
        self.results, self.pieces, self.size = _results(draft)
        self.errors = draft.errors
        self.calls = draft.calls

    def _words(self, pokes: Sequence[tuple[int, str, str]]) -> list[Poke]:
        return [Poke(*self.place(at), 8, text, dtype) for at, text, dtype in pokes]

    def place(self, address: int) -> tuple[int, int]:
        """Which of the chunks' images an address is in, and where."""
        for k, room in enumerate(self.rooms):
            if k and room.address <= address < room.address + room.size:
                return k, address - room.address
        raise IndexError(f"no word at {address:#x}")

    def images(self, driver: Driver) -> list[Any]:
        """Of the rooms of scalars, literals in their places."""
        made = [driver.pinned(room.size) for room in self.rooms]
        for address, value in self.known.items():
            k, start = self.place(address)
            put(made[k], start, value, 8)
        return made


def _fields(plan: Plan) -> list[Field]:
    return [
        Field(b.name, b.type, b.offset)
        for b in plan.buffers
        if b.region is Region.INPUT and b.name and b.id not in plan.constants
    ]


def _scalars(plan: Plan) -> list[Poke]:
    there = (b for b in plan.buffers if b.region is Region.SCALAR)
    return [Poke(0, b.offset, WIDTH[b.type.dtype], b.name, b.type.dtype) for b in there]


def _results(draft: Draft) -> tuple[list[Field], list[tuple[Room, int]], int]:
    """Fields of the image of results, the rooms that it is copied from with where each begins in
    it, and its size. OUTPUT is copied as one."""
    fields: list[Field] = []
    pieces: list[tuple[Room, int]] = []
    output, size = draft.regions[Region.OUTPUT], 0
    if any(draft.plan.buffers[r.buffer].region is Region.OUTPUT for r in draft.plan.results):
        pieces.append((output, 0))
        size = -(-output.size // 64) * 64
    for result in draft.plan.results:
        buffer = draft.plan.buffers[result.buffer]
        start = buffer.offset
        if buffer.region is not Region.OUTPUT:
            start, size = size, size + -(-result.type.bytes // 64) * 64
            address = draft.places.address(buffer.id)
            pieces.append((Room(address, result.type.bytes), start))
        fields.append(Field(result.name, result.type, start))
    return fields, pieces, size


class Slot:
    """One of two sets of images. `copied`: its batch is on the device; `done`: its results are
    here."""

    def __init__(self, driver: Driver, rooms: Rooms, form: Form, constants: Any) -> None:
        self.form = form
        self.input = driver.pinned(form.input.size)
        self.input[...] = constants
        self.staging = rooms.room(form.input.size) if form.fields else None
        self.scalars = form.images(driver)
        self.results = driver.pinned(max(form.size, 1))
        self.words = driver.pinned(form.errors.size)
        self.copied, self.done = driver.event(), driver.event()
        self._fields = {f.name: f.of(self.input) for f in form.fields}

    def give(
        self, program: str, batch: Mapping[str, Any], scalars: Mapping[str, float | int]
    ) -> None:
        """TypeError where an array is not of the graph's type, KeyError where one is missing."""
        for name, target in self._fields.items():
            check_fits(f"{program}: {name}", batch[name], target)
            target[...] = batch[name]
        for p in self.form.pokes:
            put(self.scalars[p.image], p.start, bits(scalars[p.text], p.dtype), p.width)

    def taken(self) -> dict[str, Any]:
        """Results, the caller's own."""
        return {f.name: f.of(self.results).copy() for f in self.form.results}

    def error(self) -> tuple[int, int] | None:
        """(call, row) of the first call that reported one."""
        import numpy as np

        words = self.words.view(np.uint64)[: self.form.calls]
        told = np.flatnonzero(words != np.uint64(NONE))
        return (int(told[0]), int(words[told[0]])) if len(told) else None

    def opened(self) -> bool:
        """Whether the gate was open."""
        return bool(self.words[8 * self.form.calls])


def put(image: Any, start: int, value: int, width: int) -> None:
    """A word's low bytes."""
    raw = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    image[start : start + width] = list(raw)
