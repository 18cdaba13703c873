"""What a device is. Data flows Graph -> Schedule -> Plan -> Program -> Outcome, never back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, Protocol

from .ir import Graph
from .plan.plan import Persistent, Plan
from .records import NamedTuple, Record

if TYPE_CHECKING:
    import numpy as np


Compiled = Callable[[int, int], None]
"""Told how many kernels are done, of how many no cache had."""
COMPILED: ContextVar[Compiled | None] = ContextVar("compiled", default=None)
"""Who wants to know of it while a device opens (45.39); a device asks once, before it begins."""


class DeviceFacts(NamedTuple):
    """What probing found. memory in bytes; `fix`: what to do where it is not present."""

    present: bool
    why: str | None
    memory: int
    cores: int
    versions: tuple[tuple[str, str], ...]
    fix: str = ""


class World(NamedTuple):
    rank: int = 0
    ranks: int = 1


class Unit(NamedTuple):
    """What a device is given of one program: the optimized graph, and its plan at level kernels."""

    name: str
    graph: Graph
    plan: Plan | None


class Code(NamedTuple):
    """A kernel's machine code. `facts`: what is known of it, such as its registers."""

    name: str
    body: bytes
    cached: bool
    facts: dict[str, int]


class Outcome(Record):
    """What one launch gave. `results`: named results as arrays (scalars too), owned by the caller.

    `committed`: False where the verdict was false, or the launch came after a sticky halt.
    `error`: (call number, row) of a checked guard, such as an index out of range, or None.
    """

    __slots__ = ("committed", "error", "results")

    def __init__(
        self,
        committed: bool,
        results: dict[str, Any] | None = None,
        error: tuple[int, int] | None = None,
    ) -> None:
        self.committed = committed
        self.results = {} if results is None else results
        self.error = error


class Pending(Protocol):
    def done(self) -> bool: ...
    def outcome(self, timeout: float | None = None) -> Outcome: ...


class Done:
    """A launch that has finished before it was handed out."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome

    def done(self) -> bool:
        return True

    def outcome(self, timeout: float | None = None) -> Outcome:
        return self._outcome


class Program(Protocol):
    name: str

    def launch(
        self, batch: Mapping[str, np.ndarray], scalars: Mapping[str, float | int]
    ) -> Pending:
        """Run once. `batch` maps fields to arrays of the graph's types, borrowed until the launch
        is done; `scalars` maps canonical texts to numbers, rounded once to the input's dtype.
        Blocks only when two launches are in flight."""
        ...


class Snapshot(Protocol):
    """Persistent values as of the last launch; readable from another thread until released."""

    def array(self, name: str) -> np.ndarray: ...
    def release(self) -> None: ...


class Session(Protocol):
    """Owns every byte until close(). Persistent values by name: "parameter:gpt/wte"."""

    def program(self, name: str) -> Program: ...
    def write(self, name: str, value: np.ndarray) -> None: ...
    def read(self, name: str) -> np.ndarray: ...
    def snapshot(self, names: Sequence[str]) -> Snapshot: ...
    def add(self, unit: Unit) -> bool:
        """One more program over the same memory, between two launches. False where its transient
        bytes exceed what is held: nothing is allocated for it."""
        ...

    def close(self) -> None: ...


class Device(Protocol):
    """Made by a lazy factory; holds no memory and opens nothing.

    `level` "graph": units come without plans (`reference`). `library(operation)` says whether the
    device takes a node of that name as a call of its own; what it does not take is expanded or is
    E-DEVICE-OPERATION. `in_host_memory`: its programs work in this process's memory, so that a
    second process may hold a run's programs too; one that does not say has memory of its own.
    A device may have `cheap`: how many additions an element it does again rather than store a
    value (kernels.storing.CHEAP); and `cells`: how many rows a cell of a fold takes, by what is
    folded (kernels.folding.Cells); and `picks`: which algorithms its libraries take
    (runtime.tuning.Picks).
    """

    name: str
    level: Literal["graph", "kernels"]
    in_host_memory: bool

    def probe(self) -> DeviceFacts: ...
    def numerics(self) -> dict[str, str]: ...
    def library(self, operation: str) -> bool: ...
    def open(
        self, units: Sequence[Unit], persistent: Persistent, world: World = ..., threads: int = ...
    ) -> Session: ...


class ArraySnapshot:
    """Arrays in the host's memory that nobody changes until they are released."""

    def __init__(self, arrays: dict[str, Any]) -> None:
        self._arrays = arrays

    def array(self, name: str) -> Any:
        return self._arrays[name]

    def release(self) -> None:
        self._arrays = {}


class HostValues:
    """The part of a session that holds its persistent values, where the host can reach them."""

    def __init__(self, arrays: dict[str, Any]) -> None:
        self._arrays = arrays

    def write(self, name: str, value: Any) -> None:
        """Copy a value in. TypeError where shape or dtype are not the layout's."""
        target = self._arrays[name]
        check_fits(name, value, target)
        target[...] = value

    def read(self, name: str) -> Any:
        """A copy of a persistent value, as of the last launch."""
        return self._arrays[name].copy()

    def snapshot(self, names: Sequence[str]) -> ArraySnapshot:
        return ArraySnapshot({n: self._arrays[n].copy() for n in names})


def check_fits(name: str, value: Any, target: Any) -> None:
    """TypeError where a value has not the shape and dtype of what it is written over."""
    if value.shape != target.shape or value.dtype != target.dtype:
        raise TypeError(f"{name} is {value.dtype} {value.shape}, not {target.dtype} {target.shape}")
