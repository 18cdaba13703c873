"""Loops of a plan to work: the body's pieces over memory, and what moves from trip to trip.

A body is lowered for its first trip and for its second. Words of the argument blocks that differ
are addresses of what is stacked, which the driver moves by the difference after each trip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sexpgpu_core.ir.types import WIDTH
from sexpgpu_core.kernels.kernel import Call, KernelCall, Repeat
from sexpgpu_core.plan.plan import Plan, Region

from . import driver
from .calls import node_works
from .driver import LINE, RECORD
from .kernels import kernel_work
from .loader import Code, CodeUnit
from .memory import Memory, Words
from .native.unit import native_unit
from .work import Loop, Places, Work

Patch = tuple[Work, int, int]
BLOCK = 6
"""Words of a loop's argument block."""


def driver_unit() -> CodeUnit:
    return native_unit("driver", driver.SOURCE, driver.EXPORTED, driver.CONSTANTS)


def call_works(call: Call, places: Places, number: int) -> list[Work]:
    """The work of any call of a plan."""
    if isinstance(call, KernelCall):
        return [kernel_work(call, places, number)]
    if isinstance(call, Repeat):
        return [_repeat_work(call, places, number)]
    return node_works(call, places, number)


def _repeat_work(call: Repeat, places: Places, number: int) -> Work:
    first = BodyPlaces(call, places, 0, [])
    works = _body_works(call.plan, first, number)
    second = BodyPlaces(call, places, 1, first.given)
    patches = _moved(works, _body_works(call.plan, second, number))
    test = 0 if call.test is None else places.address(call.test)
    spans = [places.span(s, True) for s in call.writes()]
    spans += [places.span(s, False) for s in call.reads() - call.writes()]
    spans += [span for work in works for span in work.spans]
    trip = sum(w.cells * w.seconds for w in works)
    return Work(
        driver_unit(),
        "repeat",
        [0] * BLOCK,
        1,
        trip * min(call.limit, 1 << 20),
        tuple(spans),
        call=number,
        loop=Loop(works, call.limit, test, patches),
    )


def _body_works(plan: Plan, places: Places, number: int) -> list[Work]:
    found = [w for call in plan.calls for w in call_works(call, places, number) if w.cells > 0]
    for work in found:
        work.commit = False
    return found


def _moved(first: Sequence[Work], second: Sequence[Work]) -> list[Patch]:
    """Words of the first that are others in the second trip, also of loops inside."""
    patches: list[Patch] = []
    for a, b in zip(first, second):
        for i, (x, y) in enumerate(zip(a.words, b.words)):
            if x != y:
                patches.append((a, i, y - x))
        if a.loop is not None and b.loop is not None:
            patches += _moved(a.loop.works, b.loop.works)
    return patches


class BodyPlaces(Places):
    """Addresses in a trip of a loop's body. `given`: addresses of the room that single calls asked
    for, in order; the second lowering is given the same again."""

    __slots__ = ("_around", "_at", "_bound", "_constants", "_room", "given")

    def __init__(self, call: Repeat, around: Places, trip: int, given: list[int]) -> None:
        self.plan = call.plan
        self.regions = around.regions
        self.kept = around.kept
        self.given = given
        self._around = around
        self._at = 0 if trip else -1
        self._room = around.address(call.room)
        self._bound = {
            b.name: (around.address(b.storage), b.offset + trip * b.step) for b in call.bound
        }
        self._constants = {
            number: self._array(values) for number, values in call.plan.constants.items()
        }

    def address(self, storage: int) -> int:
        buffer = self.plan.buffers[storage]
        if buffer.region is Region.BOUND:
            start, offset = self._bound[buffer.name]
            return start + offset * WIDTH[buffer.type.dtype]
        if buffer.region is Region.INPUT:
            return self._constants[storage]
        return self._room + buffer.offset

    def extra(self, size: int) -> int:
        return self._again(lambda: self._around.extra(size))

    def common(self, size: int) -> int:
        return self._again(lambda: self._around.common(size))

    def constant(self, values: Sequence[float], dtype: str) -> int:
        return self._again(lambda: self._around.constant(values, dtype))

    def _array(self, values: object) -> int:
        """Address of a table's data."""
        import numpy as np

        array = np.ascontiguousarray(values)

        def made() -> int:
            address = self._around.extra(max(array.nbytes, 1))
            self._around.kept[-1].map[: array.nbytes] = array.tobytes()
            return address

        return self._again(made)

    def _again(self, made: Callable[[], int]) -> int:
        if self._at < 0:
            self.given.append(made())
            return self.given[-1]
        self._at += 1
        return self.given[self._at - 1]


class LoopTable:
    """Records, blocks and patches of a loop, and of loops inside it, in memory of their own."""

    def __init__(self, loop: Loop, code: Code, errors: int) -> None:
        """`errors`: address of the error words."""
        self.kept: list[Memory] = []
        self._code = code
        self._errors = errors
        self._blocks: dict[int, int] = {}  # of a work, by its id
        self.words = self._made(loop)

    def _made(self, loop: Loop) -> list[int]:
        """The argument block of a loop."""
        table = self._words(RECORD * max(len(loop.works), 1))
        scratch = Memory(max([w.scratch for w in loop.works], default=0))
        self.kept.append(scratch)
        sizes = [-(-max(len(w.words), 1) // LINE) * LINE for w in loop.works]
        blocks = self._words(sum(sizes))
        for i, work in enumerate(loop.works):
            block = self._block(work, scratch.address, blocks, sum(sizes[:i]))
            address = self._code[work.unit.key, work.name]
            table.write(RECORD * i, [address, block, work.cells])
        patches = self._words(2 * max(len(loop.patches), 1))
        for i, (work, word, step) in enumerate(loop.patches):
            patches.write(2 * i, [self._blocks[id(work)] + 8 * word, step])
        count = len(loop.works)
        return [table.address, count, loop.limit, loop.test, patches.address, len(loop.patches)]

    def _block(self, work: Work, scratch: int, blocks: Words, at: int) -> int:
        words = list(work.words) if work.loop is None else self._made(work.loop)
        if work.scratch:
            words[work.scratch_word] = scratch
        for word, unit, name in work.links:
            words[word] = self._code[unit.key, name]
        if work.error >= 0:
            words[work.error] = self._errors + 16 * work.call
        blocks.write(at, words)
        self._blocks[id(work)] = blocks.at(at)
        return blocks.at(at)

    def _words(self, count: int) -> Words:
        made = Words(max(count, 1))
        self.kept.append(made)
        return made
