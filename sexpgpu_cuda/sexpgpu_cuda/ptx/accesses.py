"""Loads, stores and atomics: addresses checked, vectors taken word by word, races watched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .faults import PtxFault
from .memory import UNSIGNED
from .text import Address, Immediate, Instruction, Operand, Symbol, Vector
from .values import bits_of, fetch, packed, target, typed
from .wave import Wave

Array = Any
Step = Callable[[Wave], None]
CACHE = frozenset(("nc", "ca", "cg", "cs", "lu", "volatile", "relaxed", "gpu", "cta", "sys", "wb"))
VECTOR = {"v2": 2, "v4": 4, "v8": 8}


def parameter_load(ins: Instruction) -> Step:
    """A value of the launch, the same for all threads."""
    place, bits, name = ins.operands[1], bits_of(ins.words[-1]), target(ins.operands[0])
    if not isinstance(place, Address) or not isinstance(place.base, Symbol) or place.offset:
        raise PtxFault("unknown", f"parameter {place}")
    argument, kind = place.base.name, UNSIGNED[bits]
    return lambda w: w.write(name, w.arguments[argument].astype(kind))


def load(ins: Instruction) -> Step:
    space, count, bits = _form(ins)
    place = _address(ins.operands[1], space)
    names = [target(o) for o in _parts(ins.operands[0], count)]
    size, step_bytes = count * bits // 8, bits // 8

    def step(w: Wave) -> None:
        at = _watched(w, place(w), space, size, "reads")
        for k, name in enumerate(names):
            w.write(name, _read(w, at, space, k * step_bytes, bits))

    return step


def store(ins: Instruction) -> Step:
    space, count, bits = _form(ins)
    place = _address(ins.operands[0], space)
    values = [fetch(o, bits) for o in _parts(ins.operands[1], count)]
    size, step_bytes = count * bits // 8, bits // 8

    def step(w: Wave) -> None:
        at = _watched(w, w.each(place(w)), space, size, "writes")
        for k, value in enumerate(values):
            _write(w, at, space, k * step_bytes, bits, w.each(value(w)))

    return step


ATOMICS: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": lambda old, new: new,
}


def atomic(ins: Instruction) -> Step:
    """One thread after another, in ascending order: what the device does in some order."""
    words = [w for w in ins.words[1:-1] if w not in CACHE]
    if len(words) != 2 or words[0] not in ("global", "shared"):
        raise PtxFault("unknown", ".".join(ins.words))
    space, kind, gives = words[0], ins.words[-1], ins.words[0] == "atom"
    operands = ins.operands[1:] if gives else ins.operands
    place, name = _address(operands[0], space), target(ins.operands[0]) if gives else "_"
    values = [typed(o, kind) for o in operands[1:]]
    change, bits = ATOMICS.get(words[1]), bits_of(kind)
    if change is None and words[1] != "cas":
        raise PtxFault("unknown", ".".join(ins.words))

    def step(w: Wave) -> None:
        at = _watched(w, w.each(place(w)), space, bits // 8, "atomics")
        given = [w.each(v(w)) for v in values]
        w.write(name, _in_turn(w, at, space, bits, change, given))

    return step


def _in_turn(w: Wave, at: Array, space: str, bits: int, change: Any, given: list[Array]) -> Array:
    found = np.zeros(len(at), UNSIGNED[bits])
    for i in range(len(at)):
        one = at[i : i + 1]
        raw = _read(w, one, space, 0, bits)
        old, values = raw.view(given[0].dtype), [v[i : i + 1] for v in given]
        if change is None:
            new = np.where(old == values[0], values[1], old)
        else:
            new = change(old, values[0]).astype(old.dtype)
        found[i] = raw[0]
        _write(w, one, space, 0, bits, packed(new))
    return found


def _form(ins: Instruction) -> tuple[str, int, int]:
    """(space, values, bits of one). Generic and local memory are not there."""
    words = [w for w in ins.words[1:-1] if w not in CACHE]
    vector = [VECTOR[w] for w in words if w in VECTOR]
    spaces = [w for w in words if w not in VECTOR]
    if len(spaces) != 1 or spaces[0] not in ("global", "shared") or len(vector) > 1:
        raise PtxFault("unknown", f"{'.'.join(ins.words)}: global and shared memory alone")
    return spaces[0], vector[0] if vector else 1, bits_of(ins.words[-1])


def _parts(operand: Operand, count: int) -> tuple[Operand, ...]:
    parts = operand.items if isinstance(operand, Vector) else (operand,)
    if len(parts) != count:
        raise PtxFault("unknown", f"{count} values in {operand}")
    return parts


def _address(operand: Operand, space: str) -> Callable[[Wave], Array]:
    if not isinstance(operand, Address):
        raise PtxFault("unknown", f"address {operand}")
    bits = 64 if space == "global" or isinstance(operand.base, (Symbol, Immediate)) else 0
    base, offset = fetch(operand.base, bits or 64), np.uint64(operand.offset % (1 << 64))
    return lambda w: base(w) + offset


def _watched(w: Wave, at: Array, space: str, size: int, doing: str) -> Array:
    """Addresses checked; of shared memory their places among all blocks'."""
    if space == "global":
        w.memory.check(at, size, doing != "reads")
        if w.shadows is not None and len(at):
            _watch_global(w, at, size, doing)
        return at
    w.shared.check(at, size)
    who = w.who()
    place = w.shared.place(w.each(at), w.block[who])
    if w.shared_shadow is not None:
        getattr(w.shared_shadow, doing)(place, size, who, w.interval[who])
    return place


def _watch_global(w: Wave, at: Array, size: int, doing: str) -> None:
    assert w.shadows is not None
    first = int(at.flat[0])
    for a in w.memory.allocations:
        if a.start <= first < a.stop:
            who = w.who()
            place = (w.each(at) - np.uint64(a.start)).astype(np.int64)
            shadow = w.shadows.of[id(a)]
            getattr(shadow, doing)(place, size, w.numbers[who], w.interval[who])


def _read(w: Wave, at: Array, space: str, offset: int, bits: int) -> Array:
    if space == "global":
        return w.memory.read(at + np.uint64(offset), bits)
    return w.shared.read(at + offset, bits)


def _write(w: Wave, at: Array, space: str, offset: int, bits: int, values: Array) -> None:
    if space == "global":
        w.memory.write(at + np.uint64(offset), values, bits)
    else:
        w.shared.write(at + offset, values, bits)
