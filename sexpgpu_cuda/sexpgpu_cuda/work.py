"""What a call becomes: records of a program's list, over device addresses.

A record's `arguments` and `spans` are numbers, so that a loop's trips differ by additions alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Union

from sexpgpu_core.ir.types import WIDTH
from sexpgpu_core.kernels.kernel import Kernel
from sexpgpu_core.plan.plan import Plan, Region
from sexpgpu_core.plan.words import bits

from .providers import WHOLE, Libraries, Refused
from .rooms import Room, Rooms, Words

if TYPE_CHECKING:
    from .driver import Work


class Span(NamedTuple):
    """Bytes of device memory that a record touches."""

    start: int
    stop: int
    written: bool

    def moved(self, by: int) -> Span:
        return self._replace(start=self.start + by, stop=self.stop + by)


class Unit(NamedTuple):
    """A kernel's code: `key` says all that `text` (LLVM) depends on. `vectors`: LDG or STG for
    each operand that it moves 16 bytes at a time."""

    key: str
    name: str
    text: Callable[[], str]
    vectors: tuple[str, ...] = ()


class Launch(NamedTuple):
    """A kernel over a grid. `arguments`: raw bits, in the order of its parameters."""

    unit: Unit
    grid: int
    threads: int
    arguments: tuple[int, ...]
    spans: tuple[Span, ...]
    call: int = -1
    commit: bool = False


class LibraryCall(NamedTuple):
    """A vendor library's work. `run(arena, *arguments)` is its stand-in on the CPU; `work` is what
    a GPU is given."""

    name: str
    run: Callable[..., None]
    arguments: tuple[int, ...]
    spans: tuple[Span, ...]
    work: Work
    call: int = -1
    commit: bool = False


class Fill(NamedTuple):
    """Bytes set: of words that a launch begins with, or poison where nothing is alive."""

    address: int
    size: int
    byte: int = 0xFF
    call: int = -1

    @property
    def name(self) -> str:
        return "fill"

    @property
    def spans(self) -> tuple[Span, ...]:
        return (Span(self.address, self.address + self.size, True),)


class Loop(NamedTuple):
    """Trips of a body. `first` and `second`: its records in these; the others go on as they
    differ. `test`: address of a bool that each trip begins by asking, or 0."""

    first: tuple[Record, ...]
    second: tuple[Record, ...]
    limit: int
    test: int
    call: int = -1
    commit: bool = False


Record = Union[Launch, LibraryCall, Fill, Loop]  # noqa: UP007


def units(records: Iterable[Record]) -> Iterable[Unit]:
    """All code, also that of loops: every trip runs the first one's (`moved`)."""
    for record in records:
        if isinstance(record, Launch):
            yield record.unit
        elif isinstance(record, Loop):
            yield from units(record.first)


def moved(first: Record, second: Record, trip: int) -> Record:
    """A record of a loop's body in any trip."""
    if isinstance(first, Loop):
        assert isinstance(second, Loop)
        ahead = tuple(moved(a, b, trip) for a, b in zip(first.first, second.first))
        behind = tuple(moved(a, b, trip) for a, b in zip(first.second, second.second))
        test = first.test + (second.test - first.test) * trip
        return first._replace(first=ahead, second=behind, test=test)
    assert not isinstance(first, Fill)
    assert not isinstance(second, (Loop, Fill))
    pairs = zip(first.arguments, second.arguments)
    arguments = tuple(a + (b - a) * trip for a, b in pairs)
    spans = tuple(a.moved((b.start - a.start) * trip) for a, b in zip(first.spans, second.spans))
    return first._replace(arguments=arguments, spans=spans)


class Place(NamedTuple):
    """Where an access begins, its strides over the outer axes and of its index, in elements, and
    of what its address is a multiple, in bytes."""

    address: int
    strides: tuple[int, int, int]
    step: int
    multiple: int


class Applied(NamedTuple):
    """A kernel with everything that a launch needs. `operands`: bytes, by operand."""

    kernel: Kernel
    outer: tuple[int, int, int]
    places: tuple[Place, ...]
    operands: tuple[Span, ...]
    scalars: tuple[float | int | bool | str, ...] = ()

    @property
    def elements(self) -> int:
        """Of the largest operand."""
        pairs = zip(self.operands, self.kernel.operands)
        return max((s.stop - s.start) // WIDTH[o.dtype] for s, o in pairs)

    @property
    def items(self) -> int:
        """Rows, or cells of a fold."""
        rows = self.outer[1] * self.outer[2]
        return self.outer[0] * (-(-rows // self.kernel.cell) if self.kernel.folded else rows)


class Places:
    """Addresses of a program's buffers, and room beside them. `gate`, `errors` and `halt`:
    addresses of those words. `refused`: calls that are kernels of ours and not a library's."""

    def __init__(
        self,
        plan: Plan,
        regions: dict[Region, int],
        rooms: Rooms,
        gate: int,
        errors: int,
        halt: int = 0,
        libraries: Libraries = WHOLE,
    ) -> None:
        self.plan = plan
        self.regions = regions
        self.rooms = rooms
        self.gate = gate
        self.errors = errors
        self.halt = halt
        self.libraries = libraries
        self.refused: list[Refused] = []
        self.words = Words(rooms)
        self.kept: list[Room] = []

    def address(self, storage: int) -> int:
        buffer = self.plan.buffers[storage]
        return self.regions[buffer.region] + buffer.offset

    def multiple(self, storage: int) -> int:
        """Of how many bytes (16 at most) the address is a multiple, in every trip of a loop."""
        return math.gcd(16, self.address(storage))

    def span(self, storage: int, written: bool) -> Span:
        start = self.address(storage)
        return Span(start, start + max(self.plan.buffers[storage].type.bytes, 1), written)

    def word(self, address: int, written: bool) -> Span:
        return Span(address, address + 8, written)

    def error(self, call: int) -> int:
        return self.errors + 8 * max(call, 0)

    def extra(self, size: int) -> int:
        """Address of room for one call alone."""
        self.kept.append(self.rooms.room(size))
        return self.kept[-1].address

    def block(self, count: int) -> int:
        """Address of words."""
        return self.words.take(count)

    def scalars(self, values: Sequence[float | int | bool | str], dtypes: Sequence[str]) -> int:
        """Address of a block of words; a text is the name of a step scalar."""
        block = self.block(len(values))
        for k, (value, dtype) in enumerate(zip(values, dtypes)):
            if isinstance(value, str):
                self.words.pokes.append((block + 8 * k, value, dtype))
            else:
                self.words.known[block + 8 * k] = bits(value, dtype)
        return block

    def data(self, values: Sequence[float], dtype: str) -> int:
        """Address of numbers of a dtype, written now."""
        import numpy as np

        width = WIDTH[dtype]
        address = self.extra(width * len(values))
        low = (1 << 8 * width) - 1
        self.rooms.write(address, np.array([bits(v, dtype) & low for v in values], f"u{width}"))
        return address
