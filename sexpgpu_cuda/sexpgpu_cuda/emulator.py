"""Records run on the CPU: kernels by their PTX, library calls by stand-ins, loops trip by trip."""

from __future__ import annotations

from collections.abc import Iterable

from .cache import PtxCache
from .memory import Arena
from .ptx.launch import Code, launch, prepare
from .ptx.memory import Memory, Span
from .ptx.text import parse
from .work import Launch, LibraryCall, Loop, Record, Unit, moved

ARCHITECTURE = "sm_90"

_codes: dict[str, Code] = {}


class Emulator:
    """`races`: every byte is watched with shadow memory. `made`: keys of what was compiled, not
    found in a cache."""

    def __init__(self, arena: Arena, races: bool, cache: PtxCache | None = None) -> None:
        self.arena = arena
        self.races = races
        self.cache = cache or PtxCache()
        self.made: set[str] = set()

    def compile(self, records: Iterable[Record]) -> set[str]:
        """Make ready what the records run; the keys of their code."""
        keys = set()
        for unit in units(records):
            keys.add(unit.key)
            if unit.key not in _codes:
                _codes[unit.key] = prepare(parse(self._ptx(unit))[unit.name])
        return keys

    def _ptx(self, unit: Unit) -> str:
        key = f"{unit.key}-{ARCHITECTURE}"
        found = self.cache.get(key)
        if found is not None:
            return found.decode()
        from .compiler import compile_text

        text = compile_text(unit.text(), unit.name, ARCHITECTURE)
        self.cache.put(key, text.encode())
        self.made.add(unit.key)
        return text

    def run(self, record: Record) -> None:
        if isinstance(record, Loop):
            self._loop(record)
        elif isinstance(record, LibraryCall):
            record.run(self.arena, *record.arguments)
        else:
            self._launch(record)

    def _loop(self, loop: Loop) -> None:
        for trip in range(loop.limit):
            if loop.test and not self.arena.byte(loop.test):
                return
            for first, second in zip(loop.first, loop.second):
                self.run(moved(first, second, trip))

    def _launch(self, record: Launch) -> None:
        regions = {id(m): m for m in (self.arena.find(s.start) for s in record.spans)}
        allocations = [m.allocation for m in regions.values()]
        memory = Memory(allocations, [Span(*s) for s in record.spans])
        code = _codes[record.unit.key]
        launch(code, record.grid, record.threads, record.arguments, memory, self.races)


def units(records: Iterable[Record]) -> Iterable[Unit]:
    """All code, also that of loops."""
    for record in records:
        if isinstance(record, Launch):
            yield record.unit
        elif isinstance(record, Loop):
            yield from units(record.first)
            yield from units(record.second)
