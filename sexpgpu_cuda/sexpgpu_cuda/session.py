"""A session: a driver's memory and the programs over it. Used by one thread."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from sexpgpu_core.device import ArraySnapshot, Unit, check_fits
from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_core.plan.plan import Persistent, Plan, Region

from .codes import Codes
from .draft import Draft
from .driver import Driver
from .issue import Issue
from .program import CudaProgram, Lane
from .providers import WHOLE, Libraries
from .rooms import DriverRooms, Room
from .tuning import tuning, workspace
from .work import LibraryCall, Loop, Record


class Ways(NamedTuple):
    """How programs are launched. `graphs`: as graphs, not record by record; `poisoned`: memory is
    NaN where nothing is alive; `one_by_one`: the host waits for each record, to name a fault."""

    graphs: bool = True
    poisoned: bool = False
    one_by_one: bool = False


USUAL = Ways()


class CudaSession:
    """Owns the driver until `close()`. One TRANSIENT region, as large as the largest plan's.

    `kernels`: of each program, its distinct pieces of code and those that a cache had; `seconds`:
    what the others took.
    """

    def __init__(
        self,
        units: Sequence[Unit],
        persistent: Persistent,
        driver: Driver,
        ways: Ways = USUAL,
        libraries: Libraries = WHOLE,
    ) -> None:
        self._layout = persistent
        self.driver = driver
        self._ways = ways
        self._libraries = libraries
        main, copies = driver.stream(), driver.stream()
        self._rooms = DriverRooms(driver, main)
        self._persistent = self._rooms.room(persistent.bytes)
        plans = {u.name: u.plan for u in units if u.plan is not None}
        largest = max((p.bytes.get(Region.TRANSIENT, 0) for p in plans.values()), default=0)
        self._transient = self._rooms.room(largest)
        self._lane = Lane(driver, self._rooms, main, copies, self._rooms.room(8).address)
        self._codes = Codes(driver)
        self._workspace = Room(0, 0)
        self.kernels: dict[str, dict[str, int]] = {}
        self.seconds: dict[str, float] = {}
        self._programs: dict[str, CudaProgram] = {}
        drafts = {name: self._draft(plan) for name, plan in plans.items()}
        wanted = max((self._prepared(name, d) for name, d in drafts.items()), default=0)
        self._workspace = Room(workspace(driver, wanted), wanted)
        for name, draft in drafts.items():
            self._take(name, draft)

    @property
    def held(self) -> int:
        """Bytes of the device's memory."""
        return self._rooms.held + self._workspace.size

    def _draft(self, plan: Plan) -> Draft:
        return Draft(
            plan,
            self._rooms,
            self._persistent,
            self._transient,
            self._lane.halt,
            self._ways.poisoned,
            self._libraries,
        )

    def _prepared(self, name: str, draft: Draft) -> int:
        """A program's calls of libraries made ready; bytes of the workspace that they want."""
        tuning().program(name)
        return max(map(self.driver.prepare, calls(draft.records)), default=0)

    def _take(self, name: str, draft: Draft) -> None:
        """What is captured has the workspace's address: it stays where and as large as it is."""
        began, before = time.perf_counter(), set(self._codes.made)
        keys = self._codes.take(draft.records)
        made = self._codes.made - before
        self.kernels[name] = {"kernels": len(keys), "cached": len(keys - made)}
        self.seconds[name] = time.perf_counter() - began
        driver, main = self.driver, self._lane.main
        alone = self._ways.one_by_one
        issue = Issue(driver, self._codes, main, self._workspace.address, alone)
        graphs = self._ways.graphs and not alone
        self._programs[name] = CudaProgram(name, draft, self._lane, issue, graphs)

    def add(self, unit: Unit) -> bool:
        """One more program; False where its transient bytes exceed the region's, or its calls
        want more than the workspace, which no program that is captured could be moved from."""
        plan = unit.plan
        if plan is None or plan.bytes.get(Region.TRANSIENT, 0) > self._transient.size:
            return False
        draft = self._draft(plan)
        if self._prepared(unit.name, draft) > self._workspace.size:
            return False
        self._take(unit.name, draft)
        return True

    def program(self, name: str) -> CudaProgram:
        return self._programs[name]

    def write(self, name: str, value: Any) -> None:
        """Copy a value in. TypeError where shape or dtype are not the layout's."""
        import numpy as np

        check_fits(name, value, self._empty(name))
        self._rooms.write(self._address(name), np.ascontiguousarray(value))

    def read(self, name: str) -> Any:
        """A copy of a persistent value, as of the last launch."""
        return self.snapshot([name]).array(name)

    def snapshot(self, names: Sequence[str]) -> ArraySnapshot:
        arrays = {name: self._empty(name) for name in names}
        for name, array in arrays.items():
            if array.nbytes:
                self.driver.copy_out(array, self._address(name), self._lane.main)
        self.driver.synchronize(self._lane.main)
        return ArraySnapshot(arrays)

    def _empty(self, name: str) -> Any:
        import numpy as np

        dtype, shape = self._layout.types[name]
        return np.empty(shape, numpy_dtype(dtype))

    def _address(self, name: str) -> int:
        return self._persistent.address + self._layout.offsets[name]

    def close(self) -> None:
        """Idempotent; what is in flight is given up."""
        self.driver.close()


def calls(records: Sequence[Record]) -> list[LibraryCall]:
    """All calls of libraries, also those of loops."""
    found: list[LibraryCall] = []
    for record in records:
        if isinstance(record, LibraryCall):
            found.append(record)
        elif isinstance(record, Loop):
            found += [*calls(record.first), *calls(record.second)]
    return found
