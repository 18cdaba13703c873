"""A plan: records over one arena, ready for a device. Nothing is decided after it."""

from __future__ import annotations

from enum import Enum

from ..ir.types import Type
from ..kernels.kernel import Call
from ..records import NamedTuple, Record


class Region(Enum):
    """PERSISTENT is common to all plans of a run; TRANSIENT means nothing between launches. BOUND,
    in the plan of a loop's body, is memory of the plan around it."""

    PERSISTENT = "persistent"
    TRANSIENT = "transient"
    INPUT = "input"
    SCALAR = "scalar"
    OUTPUT = "output"
    BOUND = "bound"


class Buffer(NamedTuple):
    """One storage with its address. `first`, `last`: lifetime in call numbers, inclusive."""

    id: int  # the storage's id
    type: Type
    region: Region
    offset: int  # bytes from the region's start, a multiple of 64
    bytes: int
    first: int
    last: int
    name: str = ""  # PERSISTENT: "parameter:PATH"; INPUT: the field; SCALAR: canonical text


class Result(NamedTuple):
    """A named result that is read back after a launch: always dense in its buffer."""

    name: str
    buffer: int
    type: Type


class Plan(Record):
    """One program: step/STAGE, eval/PASS, eval/PASS/rest, output/NAME.

    `buffers` are indexed by storage id; `verdict` is the buffer of the bool scalar. `constants`:
    buffer -> array data, written into the INPUT region once, when the program is opened.
    """

    __slots__ = (
        *("name", "calls", "commit", "buffers", "results", "verdict", "bytes", "constants"),
    )

    def __init__(
        self,
        name: str,
        calls: list[Call],
        commit: int,
        buffers: tuple[Buffer, ...],
        results: tuple[Result, ...],
        verdict: int | None,
        bytes: dict[Region, int],
        constants: dict[int, object],
    ) -> None:
        self.name = name
        self.calls = calls
        self.commit = commit
        self.buffers = buffers
        self.results = results
        self.verdict = verdict
        self.bytes = bytes
        self.constants = constants


class Persistent(NamedTuple):
    """The PERSISTENT region of a run: one layout, common to all its plans."""

    offsets: dict[str, int]  # "parameter:PATH" -> bytes from the start
    types: dict[str, Type]
    bytes: int

    @property
    def saved(self) -> dict[str, Type]:
        """What a checkpoint holds: all but the arrays of files, which are read again."""
        return {n: t for n, t in self.types.items() if not n.startswith("constant:")}

    @property
    def saved_bytes(self) -> int:
        """Of what a checkpoint holds, as it lies in memory."""
        return self.bytes - sum(t.bytes for n, t in self.types.items() if n not in self.saved)
