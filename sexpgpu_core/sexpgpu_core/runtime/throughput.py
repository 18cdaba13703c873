"""Seconds of steps, examples a second, and how long the steps waited for data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..diagnostics import Diagnostic, diagnostic
from ..records import NamedTuple

_SHARE = 0.1
_LONG_ENOUGH = 1.0


class Pace(NamedTuple):
    """Some steps: how many, seconds that they took, and of those that they waited for data; the
    clock when the last was done."""

    steps: int
    active: float
    waited: float
    at: float

    def told(self, rows: int, counters: Mapping[str, int]) -> dict[str, Any]:
        """`throughput` of a `step` event: means of a step."""
        pace = max(self.active / self.steps, 1e-9)
        return {
            "step_s": round(pace, 9),
            "examples_per_s": round(rows / pace, 3),
            "data_wait_s": round(self.waited / self.steps, 9),
            "per_s": {name: round(amount / pace, 3) for name, amount in counters.items()},
        }

    def waiting(self) -> Diagnostic | None:
        """W-DATA-WAIT where the steps waited for long."""
        share = self.waited / self.active if self.active else 0.0
        if share < _SHARE or self.active < _LONG_ENOUGH:
            return None
        told = f"the step waited for data {share:.0%} of the last {self.steps} steps"
        return diagnostic("W-DATA-WAIT", told, share=round(share, 3), steps=self.steps)


class Throughput:
    """Counts time in which steps run; passes and snapshots are left out by `pause`."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._mark = self._step_mark = clock()
        self._active = self._total = self._waited = 0.0
        self._steps = self._logged = 0
        self.step_s: float | None = None

    def start(self, step: int) -> None:
        """Steps begin now, after `step` of them in earlier attempts."""
        self._mark, self._logged = self._clock(), step

    def step(self, waited: float) -> None:
        """One step is done; `waited` for its batch."""
        now = self._clock()
        self._active += now - self._mark
        self._total += now - self._mark
        self._waited += waited
        self._mark, self._steps = now, self._steps + 1
        self.step_s = self._total / self._steps

    def pause(self) -> None:
        """What passed since the last step was no step."""
        self._mark = self._clock()

    def since_log(self, step: int) -> Pace:
        """The steps since this was last asked."""
        pace = Pace(max(1, step - self._logged), self._active, self._waited, self._mark)
        self._active = self._waited = 0.0
        self._logged = step
        return pace
