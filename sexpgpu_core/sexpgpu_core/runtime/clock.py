"""Time as the runtime is given it, and as documents write it."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timezone
from functools import lru_cache

from ..records import NamedTuple


class Clock(NamedTuple):
    """`now`: seconds since 1970. `monotonic`: seconds from anywhere, never going back."""

    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.perf_counter

    def stamp(self) -> str:
        """Now, as documents write it."""
        return stamp(self.now())


def stamp(seconds: float) -> str:
    """`2026-12-01T18:20:03.412Z`: UTC, milliseconds."""
    milliseconds = int(seconds * 1000)
    return f"{_second(milliseconds // 1000)}.{milliseconds % 1000:03d}Z"


@lru_cache(maxsize=2)
def _second(whole: int) -> str:
    """A second is asked for many times while it lasts."""
    return f"{datetime.fromtimestamp(whole, timezone.utc):%Y-%m-%dT%H:%M:%S}"


def seconds_of(text: str) -> float:
    """The inverse of `stamp`."""
    moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
    return moment.timestamp()
