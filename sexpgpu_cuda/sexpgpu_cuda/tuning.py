"""Which algorithm of a library a call takes: timed once, before step 0, then always the same.

Picks are kept for the machine by all that they depend on, and are a document that a run can keep
(45.12). Nothing here decides among algorithms whose bits may differ from launch to launch.
"""

from __future__ import annotations

import functools
import hashlib
import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from sexpgpu_core.diagnostics import problem
from sexpgpu_core.object_cache import ContentCache

if TYPE_CHECKING:
    from .driver import Driver, Handle

CANDIDATES = 8
"""Algorithms that are timed, the likeliest first."""
WORKSPACE = 256 << 20
"""Bytes that an algorithm may ask for, where one does it with so little."""
ROUNDS, RUNS = 3, 5
"""Each candidate is timed so often, so many launches at a time; its best time counts."""


class Choice(NamedTuple):
    """An algorithm as its library can be given it again, and bytes of the workspace it wants."""

    algorithm: str
    workspace: int


class PickCache(ContentCache):
    kind = "tuning"


class Tuning:
    """`picks`: of the run that goes on, by key. Another one begins with `take`."""

    def __init__(self, cache: PickCache | None = None) -> None:
        self.picks: dict[str, Choice] = {}
        self._made: dict[str, Choice] = {}
        self._asked: dict[str, set[str]] = {}
        self._program = ""
        self._cache = cache or PickCache()

    def program(self, name: str) -> None:
        """Whose calls are prepared from here on."""
        self._program = name

    def pick(self, key: str, choose: Callable[[], Choice]) -> Choice:
        """The choice of a key, which says library, version and GPU; made where nobody did."""
        self._asked.setdefault(self._program, set()).add(key)
        if key not in self.picks:
            found = self._made.get(key) or self._kept(key)
            self.picks[key] = found or self._keep(key, choose())
        return self.picks[key]

    def document(self) -> str:
        if not self.picks:
            return ""
        whole = {"version": 1, "document": "tuning", "picks": _listed(self.picks)}
        return json.dumps(whole, indent=1) + "\n"

    def given(self, programs: Collection[str]) -> str:
        asked = set[str]().union(*(self._asked.get(p, ()) for p in programs))
        return _text({key: self.picks[key] for key in asked})

    def take(self, document: str) -> None:
        picks: dict[str, Choice] = {}
        whole = json.loads(document) if document else {"picks": {}}
        given = whole.get("picks") if isinstance(whole, dict) else None
        if not isinstance(given, dict):
            raise ValueError("no table of picks")
        for key, value in given.items():
            algorithm, workspace = value
            picks[key] = Choice(str(algorithm), int(workspace))
        self.picks, self._asked, self._program = picks, {}, ""

    def _kept(self, key: str) -> Choice | None:
        body = self._cache.get(_name(key))
        return Choice(*json.loads(body)) if body is not None else None

    def _keep(self, key: str, choice: Choice) -> Choice:
        self._made[key] = choice
        self._cache.put(_name(key), json.dumps(list(choice)).encode())
        return choice


def _text(picks: Mapping[str, Choice]) -> str:
    """JSON; empty where nothing was picked."""
    return json.dumps(_listed(picks), indent=1) + "\n" if picks else ""


def _listed(picks: Mapping[str, Choice]) -> dict[str, list[object]]:
    """In order of keys."""
    return {key: list(value) for key, value in sorted(picks.items())}


@functools.cache
def tuning() -> Tuning:
    """Of this process."""
    return Tuning()


_rooms: WeakKeyDictionary[Driver, int] = WeakKeyDictionary()


def room(driver: Driver) -> int:
    """Address of WORKSPACE bytes where algorithms work while they are timed."""
    if driver not in _rooms:
        _rooms[driver] = driver.allocate(WORKSPACE)
    return _rooms[driver]


def workspace(driver: Driver, size: int) -> int:
    """Address of `size` bytes where a run's calls work: where they were timed, if they were."""
    if size <= WORKSPACE and driver in _rooms:
        return _rooms[driver]
    return driver.allocate(size) if size else 0


def timed(
    driver: Driver, found: Sequence[Choice], launch: Callable[[Choice, int, int], None], what: str
) -> Choice:
    """The fastest. `launch(choice, workspace, stream)` enqueues it. Raises E-DEVICE-OPERATION
    where there is none."""
    if not found:
        raise problem("E-DEVICE-OPERATION", f"no algorithm does {what}", device="cuda")
    stream, place = driver.stream(), room(driver)
    launches = [functools.partial(launch, c, place, int(stream)) for c in found]
    return found[fastest(driver, stream, launches)]


def _name(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def fastest(driver: Driver, stream: Handle, candidates: Sequence[Callable[[], None]]) -> int:
    """Which of some launches takes least; the first of one. All are run once before."""
    if len(candidates) < 2:
        return 0
    for launch in candidates:
        launch()
    driver.synchronize(stream)
    best = [min(_seconds(driver, stream, c) for _ in range(ROUNDS)) for c in candidates]
    return best.index(min(best))


def _seconds(driver: Driver, stream: Handle, launch: Callable[[], None]) -> float:
    start = time.perf_counter()
    for _ in range(RUNS):
        launch()
    driver.synchronize(stream)
    return time.perf_counter() - start
