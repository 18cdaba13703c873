"""Instructions of a whole warp: shuffles, votes. Every thread that is named must be there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .faults import PtxFault
from .text import Instruction, Vector
from .values import fetch, target
from .wave import WARP, Wave

Array = Any
Step = Callable[[Wave], None]
VOTES = ("all", "any", "uni", "ballot")
WHOLE = 2**32 - 1
"""The mask of a whole warp."""


def arrived(ins: Instruction, w: Wave) -> Array:
    """Those of the active threads all of whose mates, by the mask, are active too."""
    if w.active is None:
        return w.who()
    absent = _named(w, fetch(ins.operands[-1], 32)(w))[2]
    found: Array = w.who()[absent == 0]
    return found


def _named(w: Wave, mask: Array) -> tuple[Array, Array, Array]:
    """Of the active threads: lane as a number of bits, mask, and what of it is elsewhere."""
    who, masks = w.who(), w.each(mask).astype(np.uint64)
    lanes = (w.thread[who] % WARP).astype(np.uint64)
    warps = w.block[who] * (-(-w.threads // WARP)) + w.thread[who] // WARP
    there = np.zeros(int(warps.max()) + 1, np.uint64)
    np.bitwise_or.at(there, warps, np.uint64(1) << lanes)
    partial = w.threads % WARP
    if partial:  # lanes that the last warp of a block does not have
        last = (w.thread[who] // WARP) == w.threads // WARP
        room = np.where(last, np.uint64((1 << partial) - 1), np.uint64(2**32 - 1))
        masks = masks & room
    return lanes, masks, masks & ~there[warps]


def _members(w: Wave, mask: Array) -> Array:
    """Numbers of the active threads. PtxFault (shared) where one that is named is elsewhere."""
    if w.active is None and len(mask) == 1 and mask[0] == WHOLE:
        return w.who()
    lanes, masks, absent = _named(w, mask)
    if absent.any():
        raise PtxFault("shared", f"a warp's mask {int(masks[absent != 0][0]):#x} names threads "
                       f"that are not there, {int(absent[absent != 0][0]):#x}")  # fmt: skip
    if ((masks >> lanes) & np.uint64(1) == 0).any():
        raise PtxFault("shared", "a thread is not in its own mask")
    return w.who()


def shuffle(ins: Instruction) -> Step:
    """shfl.sync of bfly down up idx over whole warps (clamp as printed is taken apart)."""
    mode = ins.words[2]
    if ins.words[1] != "sync" or mode not in ("bfly", "down", "up", "idx"):
        raise PtxFault("unknown", ".".join(ins.words))
    into = ins.operands[0]
    names = [target(o) for o in into.items] if isinstance(into, Vector) else [target(into), "_"]
    value, offset, clamp, mask = (fetch(o, 32) for o in ins.operands[1:])

    def step(w: Wave) -> None:
        who, values = _members(w, mask(w)), w.each(value(w))
        given, valid = _mates(w, mode, who, offset(w), clamp(w))
        if w.active is not None:
            full = np.zeros(w.size, np.uint32)
            full[who] = values
            values = full
        w.write(names[0], values[given])
        w.write(names[1], valid)

    return step


def _mates(w: Wave, mode: str, who: Array, offset: Array, clamp: Array) -> tuple[Array, Array]:
    """Whom each of the active threads reads, and whether there is such a one."""
    alike = w.active is None and len(offset) == len(clamp) == 1
    form = (mode, int(offset[0]), int(clamp[0]))
    if alike and form in w.mates:
        return w.mates[form]
    lane = (w.thread[who] % WARP).astype(np.int64)
    source, valid = _source(mode, lane, w.each(offset), w.each(clamp))
    valid &= w.thread[who] - lane + source < w.threads
    found = np.where(valid, who - lane + source, who), valid
    if alike:
        w.mates[form] = found
    return found


def _source(mode: str, lane: Array, offset: Array, clamp: Array) -> tuple[Array, Array]:
    """The lane that is read, and whether there is one."""
    offset, clamp = offset.astype(np.int64) & 31, clamp.astype(np.int64)
    most, segment = clamp & 31, clamp >> 8 & 31
    highest = (lane & segment) | (most & ~segment)
    lowest = lane & segment
    if mode == "up":
        source = lane - offset
        return source, source >= highest
    if mode == "idx":
        source = lowest | (offset & ~segment)
    else:
        source = lane ^ offset if mode == "bfly" else lane + offset
    return source, source <= highest


def ballot(ins: Instruction) -> Step:
    """vote.sync: all any uni give a predicate, ballot the bits of a warp."""
    mode = ins.words[2]
    if ins.words[1] != "sync" or mode not in VOTES:
        raise PtxFault("unknown", ".".join(ins.words))
    name = target(ins.operands[0])
    test, mask = fetch(ins.operands[1], 1), fetch(ins.operands[2], 32)

    def step(w: Wave) -> None:
        who = _members(w, mask(w))
        told = w.each(test(w))
        lanes = (w.thread[who] % WARP).astype(np.uint64)
        warps = w.block[who] * (-(-w.threads // WARP)) + w.thread[who] // WARP
        count = int(warps.max()) + 1
        yes, there = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
        np.bitwise_or.at(yes, warps, np.where(told, np.uint64(1) << lanes, np.uint64(0)))
        np.bitwise_or.at(there, warps, np.uint64(1) << lanes)
        w.write(name, _voted(mode, yes[warps], there[warps]))

    return step


def _voted(mode: str, yes: Array, there: Array) -> Array:
    if mode == "ballot":
        return yes.astype(np.uint32)
    if mode == "any":
        return yes != 0
    return yes == there if mode == "all" else (yes == there) | (yes == 0)


def sync_warp(ins: Instruction) -> Step:
    """bar.warp.sync: the warp's threads are there; memory is watched as if it were not."""
    mask = fetch(ins.operands[0], 32)

    def step(w: Wave) -> None:
        _members(w, mask(w))

    return step
