"""What a call becomes: one or more pieces of work, each a function over cells of its own grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sexpgpu_core.ir.types import WIDTH
from sexpgpu_core.plan.plan import Plan, Region
from sexpgpu_core.plan.words import bits
from sexpgpu_core.records import NamedTuple

from .loader import CodeUnit
from .memory import Memory


class Span(NamedTuple):
    """Bytes that a piece of work touches, by absolute address."""

    start: int
    stop: int
    written: bool


@dataclass(slots=True)
class Work:
    """`words`: the argument block. `cells`: its grid, fixed by shapes. `seconds`: a guess for one
    cell, which only decides how cells are handed out. `scratch`: bytes a thread needs, whose
    address goes into word `scratch_word`. `error`: the word that takes the address of the error
    pair, or -1. `pokes`: (word, step scalar's text, dtype). `links`: (word, unit, name) of code
    that this code calls. `loop`: what it repeats; its words are made with its table."""

    unit: CodeUnit
    name: str
    words: list[int]
    cells: int
    seconds: float
    spans: tuple[Span, ...] = ()
    scratch: int = 0
    scratch_word: int = -1
    error: int = -1
    pokes: tuple[tuple[int, str, str], ...] = ()
    links: tuple[tuple[int, CodeUnit, str], ...] = ()
    call: int = -1
    commit: bool = False
    loop: Loop | None = None

    def code(self) -> list[CodeUnit]:
        """All code that it runs."""
        inner = [u for w in self.loop.works for u in w.code()] if self.loop else []
        return [self.unit, *(link[1] for link in self.links), *inner]


@dataclass(slots=True)
class Loop:
    """`works` of one trip, in order; at most `limit` trips; `test`: address of the byte that each
    asks first, or 0. `patches`: (work, word, what the word moves by from trip to trip)."""

    works: list[Work]
    limit: int
    test: int
    patches: list[tuple[Work, int, int]]


COMMON = 1 << 20
"""Bytes of common room to begin with; untouched pages cost nothing."""


class Places:
    """Addresses of a program's buffers, and memory that single calls need beside them."""

    __slots__ = ("_common", "kept", "plan", "regions")

    def __init__(self, plan: Plan, regions: Mapping[Region, int]) -> None:
        self.plan = plan
        self.regions = regions
        self.kept: list[Memory] = []
        self._common = Memory(COMMON)

    def address(self, storage: int) -> int:
        buffer = self.plan.buffers[storage]
        return self.regions[buffer.region] + buffer.offset

    def span(self, storage: int, written: bool) -> Span:
        start = self.address(storage)
        return Span(start, start + self.plan.buffers[storage].bytes, written)

    def extra(self, size: int) -> int:
        """Address of room for one call alone."""
        self.kept.append(Memory(size))
        return self.kept[-1].address

    def common(self, size: int) -> int:
        """Address of room that calls use one after another: it stays in the caches."""
        if size > self._common.size:
            self.kept.append(self._common)
            self._common = Memory(size)
        return self._common.address

    def constant(self, values: Sequence[float], dtype: str) -> int:
        """Address of numbers of a dtype, written now."""
        width = WIDTH[dtype]
        memory = Memory(width * len(values))
        mask = (1 << 8 * width) - 1
        data = b"".join((bits(v, dtype) & mask).to_bytes(width, "little") for v in values)
        memory.map[: len(data)] = data
        self.kept.append(memory)
        return memory.address


__all__ = ["Loop", "Places", "Span", "Work", "bits"]
