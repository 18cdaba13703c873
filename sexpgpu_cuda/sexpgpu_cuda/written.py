"""Kernels that are written by hand, a thread an item: text by a form, a launch over what it takes.

A form is all that the code depends on; sizes and addresses are parameters.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sexpgpu_core.ir.types import WIDTH
from sexpgpu_core.kernels.target import Register

from .frame import Frame, Side
from .kernels import emitter, too_many
from .layout import INDICES
from .target import GLOBAL, PtxTarget
from .work import Launch, Span, Unit

THREADS = 128
"""Of a block, where an item is a thread's."""


class Written(NamedTuple):
    """A kernel: `body` prints what a block does. `pointers`: of its parameters; `numbers`: i32."""

    body: Callable[[PtxTarget, Any, Mapping[str, Register]], None]
    pointers: tuple[str, ...]
    numbers: tuple[str, ...]


def text(kernel: Written, form: Any, name: str, threads: int, room: int) -> str:
    """The kernel's module for a form."""
    t = PtxTarget(1)
    given = {n: Register(f"%{n}", "ptr") for n in kernel.pointers}
    given.update({n: Register(f"%{n}", "i32") for n in kernel.numbers})
    t.label("entry")
    kernel.body(t, form, given)
    t.jump("done")
    t.label("done")
    t.lines.append("  ret void")
    parameters = [f"{GLOBAL} %{n}" for n in kernel.pointers]
    return t.kernel(name, [*parameters, *(f"i32 %{n}" for n in kernel.numbers)], threads, room)


def launch(
    frame: Frame, kernel: Written, form: Any, sides: tuple[tuple[Side, bool], ...],
    numbers: tuple[int, ...], *, blocks: int = 0, threads: int = THREADS, room: int = 0,
    wide: bool = False, vectors: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """`sides`: memory in the order of the pointers, and whether it is written; the last pointer
    may be the call's error word. `numbers`: the first is how many items there are. `blocks`: 0 for
    as many as the items need. `wide`: the kernel counts elements in 64 bits; `vectors`: as a Unit
    has them. Raises E-DEVICE-COMPILE where 32 bits do not count it."""
    there = [] if wide else sides
    elements = [(s.bytes.stop - s.bytes.start) // WIDTH[s.dtype] for s, _ in there]
    if max(*numbers, *elements) > INDICES:
        raise too_many(frame.number, max(*numbers, *elements))
    parts = f"{emitter()} {kernel.body.__module__} {kernel.body.__name__} {form!r} {threads} {room}"
    key = hashlib.sha256(parts.encode()).hexdigest()[:32]
    name = f"w{key}"
    unit = Unit(key, name, lambda: text(kernel, form, name, threads, room), vectors)
    addresses, spans = [s.address for s, _ in sides], [s.span(w) for s, w in sides]
    if len(kernel.pointers) > len(sides):
        error = frame.places.error(frame.number)
        addresses, spans = [*addresses, error], [*spans, Span(error, error + 8, True)]
    grid = blocks or -(-numbers[0] // threads)
    frame.records.append(
        Launch(
            unit, grid, threads, (*addresses, *numbers), tuple(spans), frame.number, frame.commit
        )
    )


def items(t: PtxTarget, there: Register) -> Register:
    """The thread's item; a thread without one is done."""
    mine = t.thread(THREADS)
    t.branch(t.compare("slt", mine, there), "work", "done")
    t.label("work")
    return mine
