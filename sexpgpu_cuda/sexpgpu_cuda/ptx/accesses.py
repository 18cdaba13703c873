"""Loads, stores and atomics: addresses checked, vectors taken word by word, races watched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .conversion import SIGNED
from .faults import PtxFault
from .memory import UNSIGNED
from .text import Address, Immediate, Instruction, Operand, Symbol, Vector
from .values import NUMBERS, bits_of, fetch, packed, target, typed
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
    size, kind = count * bits // 8, ins.words[-1]

    def step(w: Wave) -> None:
        at = _watched(w, place(w), space, size, "reads")
        memory = w.memory if space == "global" else w.shared
        for name, values in zip(names, memory.read(at, bits, count)):
            if kind in SIGNED:
                values = packed(values.view(NUMBERS[kind]).astype(np.int64))
            w.write(name, values)

    return step


def store(ins: Instruction) -> Step:
    space, count, bits = _form(ins)
    place = _address(ins.operands[0], space)
    values = [fetch(o, bits) for o in _parts(ins.operands[1], count)]
    size = count * bits // 8

    def step(w: Wave) -> None:
        at = _watched(w, w.each(place(w)), space, size, "writes")
        memory = w.memory if space == "global" else w.shared
        memory.write(at, [w.each(value(w)) for value in values], bits)

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
    memory = w.memory if space == "global" else w.shared
    for i in range(len(at)):
        one = at[i : i + 1]
        (raw,) = memory.read(one, bits)
        old, values = raw.view(given[0].dtype), [v[i : i + 1] for v in given]
        if change is None:
            new = np.where(old == values[0], values[1], old)
        else:
            new = change(old, values[0]).astype(old.dtype)
        found[i] = raw[0]
        memory.write(one, [packed(new)], bits)
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
    addresses, who = w.each(at), w.who()
    for a, chosen in w.memory.parts(addresses):
        place = (addresses[chosen] - np.uint64(a.start)).astype(np.int64)
        some, shadow = who[chosen], w.shadows.of[id(a)]
        getattr(shadow, doing)(place, size, w.numbers[some], w.interval[some])
