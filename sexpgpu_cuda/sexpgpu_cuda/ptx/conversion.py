"""cvt: numbers of one PTX type to another, rounded as the instruction says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .faults import PtxFault
from .text import Instruction, Vector
from .values import NUMBERS, bits_of, fetch, packed, target, typed
from .wave import Wave

Array = Any
ROUNDING: dict[str, Callable[[Array], Array]] = {
    "rni": np.rint,
    "rzi": np.trunc,
    "rmi": np.floor,
    "rpi": np.ceil,
}


SIGNED = ("s8", "s16")
"""Types narrower than the registers that hold them, which their sign fills."""


def bf16(x: Array) -> Array:
    """f32 to the bits of bf16, to nearest even; NaN is 0x7FFF, as the instruction has it."""
    word = x.view(np.uint32).astype(np.uint64)
    up = (word + 0x7FFF + ((word >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)
    return np.where(np.isnan(x), 0x7FFF, up).astype(np.uint16)


def from_bf16(bits: Array) -> Array:
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def convert(ins: Instruction) -> Callable[[Wave], None]:
    """The step of one cvt instruction."""
    *modes, to, given = ins.words[1:]
    if to in ("bf16x2", "f16x2"):
        return _pair(ins, to, given)
    if isinstance(ins.operands[0], Vector):
        raise PtxFault("unknown", ".".join(ins.words))
    name = target(ins.operands[0])
    if given == "bf16":
        raw = fetch(ins.operands[1], 16)
        read: Callable[[Wave], Array] = lambda w: from_bf16(raw(w))
    else:
        read = typed(ins.operands[1], given)
    change, signed = _change(modes, given, to), to in SIGNED

    def step(w: Wave) -> None:
        found = change(read(w))
        w.write(name, packed(found.astype(np.int64) if signed else found))

    return step


def _pair(ins: Instruction, to: str, given: str) -> Callable[[Wave], None]:
    """Two f32 to one register: the first is the upper half."""
    name = target(ins.operands[0])
    if given != "f32" or len(ins.operands) != 3 or ins.words[1] != "rn":
        raise PtxFault("unknown", ".".join(ins.words))
    up, low = (typed(o, "f32") for o in ins.operands[1:])
    half = bf16 if to == "bf16x2" else lambda x: x.astype(np.float16).view(np.uint16)

    def step(w: Wave) -> None:
        high, below = half(up(w)).astype(np.uint32), half(low(w)).astype(np.uint32)
        w.write(name, (high << np.uint32(16)) | below)

    return step


def _change(modes: list[str], given: str, to: str) -> Callable[[Array], Array]:
    wanted = set(modes) - set(ROUNDING) - {"rn", "sat"}
    if wanted or bits_of(given) == 1 or bits_of(to) == 1:
        raise PtxFault("unknown", f"cvt modes {sorted(wanted)}")
    rounding = next((ROUNDING[m] for m in modes if m in ROUNDING), None)
    if to == "bf16":
        return bf16
    kind, source_float = NUMBERS[to], given[0] in "fb" and given in ("f16", "f32", "f64", "bf16")
    if to[0] == "f":
        if source_float:
            return lambda x: (rounding(x) if rounding else x).astype(kind)
        return lambda x: x.astype(kind)
    if source_float:
        if rounding is None:
            raise PtxFault("unknown", f"cvt.{to}.{given} without a rounding")
        return lambda x: saturated(rounding(x), kind)
    if "sat" in modes:
        return lambda x: _clamped(x, kind)
    return lambda x: x.astype(kind)


def saturated(x: Array, kind: Any) -> Array:
    """A whole float to an integer: what is outside becomes the nearest, NaN becomes 0."""
    limits = np.iinfo(kind)
    with np.errstate(invalid="ignore"):
        found = x.astype(kind)
    found = np.where(x >= float(limits.max), kind(limits.max), found)
    found = np.where(x <= float(limits.min), kind(limits.min), found)
    return np.where(np.isnan(x), kind(0), found).astype(kind)


def _clamped(x: Array, kind: Any) -> Array:
    limits, own = np.iinfo(kind), np.iinfo(x.dtype)
    return np.clip(x, max(limits.min, own.min), min(limits.max, own.max)).astype(kind)
