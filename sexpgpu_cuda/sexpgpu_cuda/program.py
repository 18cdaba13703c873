"""One program: a batch and scalars brought to the device, its graphs launched, results fetched.

Batches are copied on a stream of their own, so that the next one is there when a step ends.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from sexpgpu_core.device import Outcome
from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_core.plan.plan import Region

from .draft import Draft
from .driver import Driver, Handle
from .issue import Issue, parts
from .rooms import DriverRooms
from .slots import Form, Slot
from .work import Record

IN_FLIGHT = 2


class Lane(NamedTuple):
    """What programs of a session share. `copies`: the stream of batches; `halt`: address of the
    word that an error sets."""

    driver: Driver
    rooms: DriverRooms
    main: Handle
    copies: Handle
    halt: int


class CudaProgram:
    """`launch` comes back at once, but waits for the launch before the one before it."""

    def __init__(self, name: str, draft: Draft, lane: Lane, issue: Issue, graphs: bool) -> None:
        """`graphs`: launched as graphs, not record by record."""
        self.name = name
        self.plan = draft.plan
        self.records = draft.records
        self._commits = draft.commits
        self._lane = lane
        self._issue = issue
        self._form = Form(draft)
        constants = self._constants(draft)
        made = (Slot(lane.driver, lane.rooms, self._form, constants) for _ in range(IN_FLIGHT))
        self._slots: list[tuple[Slot, Flight | None]] = [(slot, None) for slot in made]
        for image, room in zip(self._slots[0][0].scalars, self._form.rooms):
            lane.rooms.write(room.address, image)
        self._parts: list[tuple[Handle | None, list[Record]]] = [
            (issue.graph(found) if whole and graphs else None, found)
            for whole, found in parts(draft.records)
        ]

    def _constants(self, draft: Draft) -> Any:
        """The image of INPUT before a batch, which is also written."""
        import numpy as np

        room = draft.regions[Region.INPUT]
        image = np.zeros(room.size, np.uint8)
        for number, values in self.plan.constants.items():
            buffer = self.plan.buffers[number]
            array = np.array(values).reshape(buffer.type.shape)
            raw = np.ascontiguousarray(array.astype(numpy_dtype(buffer.type.dtype)))
            view = raw.reshape(-1).view(np.uint8)
            image[buffer.offset : buffer.offset + view.nbytes] = view
        self._lane.rooms.write(room.address, image)
        return image

    def launch(self, batch: Mapping[str, Any], scalars: Mapping[str, float | int]) -> Flight:
        """TypeError where an array is not of the graph's type, KeyError where one is missing."""
        slot, before = self._slots[0]
        if before is not None:
            before.settle()
        slot.give(self.name, batch, scalars)
        self._bring(slot)
        for graph, records in self._parts:
            if graph is None:
                self._issue.records(records)
            else:
                self._issue.launch(graph)
        self._fetch(slot)
        flight = Flight(self._lane, slot, self._commits)
        self._slots = [*self._slots[1:], (slot, flight)]
        return flight

    def _bring(self, slot: Slot) -> None:
        driver, main, copies, form = (*self._lane[:1], *self._lane[2:4], self._form)
        if slot.staging is not None:
            driver.copy_in(slot.staging.address, slot.input, copies)
            driver.record(slot.copied, copies)
            driver.wait(main, slot.copied)
            size = form.input.size
            driver.copy(form.input.address, slot.staging.address, size, main)
        for k in form.asked:
            driver.copy_in(form.rooms[k].address, slot.scalars[k], main)

    def _fetch(self, slot: Slot) -> None:
        driver, main = self._lane.driver, self._lane.main
        for room, start in self._form.pieces:
            if room.size:
                driver.copy_out(slot.results[start : start + room.size], room.address, main)
        driver.copy_out(slot.words, self._form.errors.address, main)
        driver.record(slot.done, main)


class Flight:
    """A launch under way."""

    def __init__(self, lane: Lane, slot: Slot, commits: bool) -> None:
        self._lane = lane
        self._slot = slot
        self._commits = commits
        self._outcome: Outcome | None = None
        self._told = False

    def done(self) -> bool:
        return self._outcome is not None or self._lane.driver.reached(self._slot.done)

    def outcome(self, timeout: float | None = None) -> Outcome:
        """Waits. TimeoutError after `timeout` seconds, E-DEVICE-FAULT where a kernel failed. An
        error that is told lets launches that come after it commit again."""
        until = None if timeout is None else time.monotonic() + timeout
        while until is not None and not self.done():
            if time.monotonic() > until:
                raise TimeoutError(f"no outcome in {timeout} s")
            time.sleep(0.001)
        found = self.settle()
        if found.error is not None and self._commits and not self._told:
            self._lane.driver.fill(self._lane.halt, 8, 0, self._lane.main)
        self._told = True
        return found

    def settle(self) -> Outcome:
        """The outcome, out of the slot, which another launch may then have."""
        if self._outcome is None:
            self._lane.driver.attend(self._slot.done)
            error = self._slot.error()
            opened = not self._commits or self._slot.opened()
            committed = opened and error is None
            self._outcome = Outcome(committed, self._slot.taken(), error)
        return self._outcome
