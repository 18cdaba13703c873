"""A kernel run over a grid: waves of blocks, the lowest waiting code first, barriers by block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .across import arrived
from .faults import PtxFault
from .instructions import step_of
from .memory import UNSIGNED, Memory
from .text import Entry, Instruction, Register, Symbol, meets
from .values import fetch
from .wave import Shadows, Wave

Array = Any
WAVE = 1 << 16
"""Threads that run together, at most."""
DONE = 1 << 40
TURNS = 1_000_000
"""Runs of basic blocks after which a kernel is taken for endless."""
BARRIERS = ("bar", "barrier")


class Code(NamedTuple):
    """An entry made ready: for each block its steps and how it ends."""

    entry: Entry
    steps: tuple[tuple[tuple[Callable[[Wave], None], Instruction], ...], ...]
    ends: tuple[Instruction | None, ...]


def prepare(entry: Entry) -> Code:
    """PtxFault (unknown), with its place, for what the interpreter has not."""
    steps, ends = [], []
    for block in entry.blocks:
        end = block[-1] if block and _ends(block[-1]) else None
        body = block[:-1] if end is not None else block
        steps.append(tuple((_step(entry, i), i) for i in body))
        ends.append(end)
    return Code(entry, tuple(steps), tuple(ends))


def _ends(ins: Instruction) -> bool:
    barrier = ins.words[0] in BARRIERS and "warp" not in ins.words
    return barrier or ins.words[0] in ("bra", "ret", "exit", "trap")


def _step(entry: Entry, ins: Instruction) -> Callable[[Wave], None]:
    try:
        step = step_of(ins)
    except PtxFault as fault:
        raise fault.at(entry.name, ins.line, ins.source) from None
    return step if ins.guard is None else _guarded(step, ins.guard)


def _guarded(step: Callable[[Wave], None], guard: tuple[str, bool]) -> Callable[[Wave], None]:
    """The step for those of the active threads whose predicate is as wanted."""
    test, wanted = fetch(Register(guard[0]), 1), guard[1]

    def some(w: Wave) -> None:
        before, who = w.active, w.who()
        chosen = who[w.each(test(w)) == wanted]
        if len(chosen):
            w.active = chosen
            step(w)
        w.active = before

    return some


def launch(
    code: Code,
    grid: int,
    threads: int,
    arguments: Sequence[int],
    memory: Memory,
    races: bool = False,
) -> None:
    """Run `grid` blocks of `threads`. `arguments`: raw bits, in the order of the parameters.
    `races`: watch every byte with shadow memory. Raises PtxFault, with its place."""
    entry = code.entry
    if len(arguments) != len(entry.parameters):
        raise PtxFault("value", f"{len(arguments)} arguments for {len(entry.parameters)}")
    if entry.limit is not None and threads > entry.limit:
        raise PtxFault("value", f"{threads} threads in a block of at most {entry.limit}")
    given = {
        p.name: np.array([v & ((1 << p.bits) - 1)], np.uint64).astype(UNSIGNED[p.bits])
        for p, v in zip(entry.parameters, arguments)
    }
    shadows = Shadows(memory, threads) if races else None
    together = max(WAVE // threads, 1)
    with np.errstate(all="ignore"):
        for first in range(0, grid, together):
            geometry = (first, min(together, grid - first), threads, grid)
            _run(code, Wave(entry, memory, given, geometry, shadows))


def _run(code: Code, w: Wave) -> None:
    for _ in range(TURNS):
        block = _chosen(code, w)
        if block >= len(code.steps):
            if not w.waiting.any():
                return
            _release(code, w)
            continue
        for step, ins in code.steps[block]:
            try:
                step(w)
            except PtxFault as fault:
                raise fault.at(code.entry.name, ins.line, ins.source) from None
        _leave(code, w, block)
    raise PtxFault("divergence", f"{code.entry.name} does not end")


def _chosen(code: Code, w: Wave) -> int:
    """The lowest code that some threads can run; they become the active ones. A warp's threads
    wait for their mates before a shuffle: where nobody else can go on, it is run and says who is
    missing."""
    if w.at is not None:
        w.active = None
        return w.at
    ready = np.where(w.waiting, DONE, w.pc)
    lowest = block = int(ready.min())
    while block < len(code.steps):
        chosen = ready == block
        together = bool(chosen.all())
        w.active = None if together else np.flatnonzero(chosen)
        w.at = block if together else None
        first = code.steps[block][0][1] if code.steps[block] else None
        if first is None or not meets(first):
            return block
        there = arrived(first, w)
        if len(there):
            w.active = None if len(there) == w.size else there
            return block
        block = int(np.where(ready > block, ready, DONE).min())
    if lowest < len(code.steps):
        w.active = np.flatnonzero(ready == lowest)
    return lowest


def _leave(code: Code, w: Wave, block: int) -> None:
    """Where the active threads go on after a block."""
    end, who = code.ends[block], w.who()
    following = block + 1 if block + 1 < len(code.steps) else DONE
    if end is None:
        _go(w, who, following)
        return
    taken = np.ones(1, bool)
    if end.guard is not None:
        taken = w.read(end.guard[0], 1) == end.guard[1]
    there, waits = _after(code, end, block), end.words[0] in BARRIERS
    if taken.all():
        _go(w, who, there)
        if waits and w.at is not None:
            w.interval += 1  # all threads are there: they go on together
        elif waits:
            w.waiting[who] = True
    elif not taken.any():
        _go(w, who, following)
    else:
        taken = w.each(taken)
        _go(w, who[~taken], following)
        _go(w, who[taken], there)
        w.waiting[who[taken]] = waits


def _go(w: Wave, who: Array, block: int) -> None:
    """Threads to a block: all of them together, or those."""
    if len(who) == w.size:
        w.at = block
        return
    if w.at is not None:
        w.pc[:] = w.at
        w.at = None
    w.pc[who] = block


def _after(code: Code, end: Instruction, block: int) -> int:
    if end.words[0] in ("ret", "exit"):
        return DONE
    if end.words[0] == "trap":
        raise PtxFault("value", "trap").at(code.entry.name, end.line, end.source)
    if end.words[0] in BARRIERS:
        return block + 1
    label = end.operands[0]
    if not isinstance(label, Symbol) or label.name not in code.entry.labels:
        raise PtxFault("unknown", f"label {label}").at(code.entry.name, end.line, end.source)
    return code.entry.labels[label.name]


def _release(code: Code, w: Wave) -> None:
    """Let blocks go on whose threads all wait, at one barrier."""
    blocks = w.block[w.waiting]
    counts, left = np.bincount(w.block[w.pc < DONE]), np.bincount(blocks)
    for block in np.unique(blocks):
        at = np.unique(w.pc[(w.block == block) & w.waiting])
        if len(at) > 1 or left[block] < counts[block] or left[block] < w.threads:
            line = next(iter(code.steps[int(at[0])]), (None, None))[1]
            told = PtxFault("barrier", f"block {int(block)}: threads wait at different barriers "
                            "or have left")  # fmt: skip
            raise told.at(code.entry.name, line.line if line else 0, line.source if line else "")
    w.interval[w.waiting] += 1
    w.waiting[:] = False
