"""A plan: records over one arena, ready for a device. Nothing is decided after it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from ..ir.types import Type
from ..kernels.kernel import KernelCall, NodeCall


class Region(Enum):
    """PERSISTENT is common to all plans of a run; TRANSIENT means nothing between launches."""

    PERSISTENT = "persistent"
    TRANSIENT = "transient"
    INPUT = "input"
    SCALAR = "scalar"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class Buffer:
    """One storage with its address. `first`, `last`: lifetime in call numbers, inclusive."""

    id: int  # the storage's id
    type: Type
    region: Region
    offset: int  # bytes from the region's start, a multiple of 64
    bytes: int
    first: int
    last: int
    name: str = ""  # PERSISTENT: "parameter:PATH"; INPUT: the field; SCALAR: canonical text


@dataclass(frozen=True, slots=True)
class Result:
    """A named result that is read back after a launch: always dense in its buffer."""

    name: str
    buffer: int
    type: Type


@dataclass(slots=True)
class Plan:
    """One program: step/STAGE, eval/PASS, eval/PASS/rest, output/NAME."""

    name: str
    calls: list[KernelCall | NodeCall]
    commit: int
    buffers: tuple[Buffer, ...]  # indexed by storage id
    results: tuple[Result, ...]
    verdict: int | None  # buffer of the bool scalar
    bytes: dict[Region, int] = field(default_factory=dict)
    constants: dict[int, object] = field(default_factory=dict)
    """Buffer -> array data, written into the INPUT region once, when the program is opened."""


@dataclass(frozen=True, slots=True)
class Persistent:
    """The PERSISTENT region of a run: one layout, common to all its plans."""

    offsets: dict[str, int]  # "parameter:PATH" -> bytes from the start
    types: dict[str, Type]
    bytes: int
