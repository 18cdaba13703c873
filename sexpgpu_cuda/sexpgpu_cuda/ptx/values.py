"""Operands to arrays of bits, and bits to numbers of a PTX type and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .faults import PtxFault
from .memory import UNSIGNED
from .text import Immediate, Operand, Register, Symbol
from .wave import Wave

Array = Any
Fetch = Callable[[Wave], Array]

NUMBERS: dict[str, Any] = {
    **{f"u{n}": UNSIGNED[n] for n in (8, 16, 32, 64)},
    **{f"b{n}": UNSIGNED[n] for n in (8, 16, 32, 64)},
    **{f"s{n}": getattr(np, f"int{n}") for n in (8, 16, 32, 64)},
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "f16x2": np.float16,
    "s16x2": np.int16,
    "u16x2": np.uint16,
    "pred": np.bool_,
}


def bits_of(kind: str) -> int:
    """Of a PTX type; a predicate has one."""
    if kind == "pred":
        return 1
    if kind.endswith("x2"):
        return 32
    if kind not in NUMBERS and kind != "bf16":
        raise PtxFault("unknown", f"type .{kind}")
    return int(kind.lstrip("busfd"))


def fetch(operand: Operand, bits: int, number: Any = None) -> Fetch:
    """How an operand is read: as unsigned of so many bits, wider ones cut, narrower filled up;
    `number`: these bits are of such numbers."""
    kind = UNSIGNED.get(bits, np.bool_)
    if isinstance(operand, Immediate):
        value = np.array([operand.value & ((1 << bits) - 1)]).astype(kind).view(number or kind)
        return lambda w: value
    if isinstance(operand, Register):
        return _register(operand.name, bits, np.dtype(kind), number)
    if isinstance(operand, Symbol):
        name = operand.name
        return lambda w: np.array([w.offsets[name]]).astype(kind)
    raise PtxFault("unknown", f"operand {operand}")


def _register(name: str, bits: int, kind: Any, number: Any) -> Fetch:
    """One call deep: this is where the time goes."""

    def read(w: Wave) -> Array:
        values = w.registers.get(name)
        if values is None:
            values = w.read(name, bits)
        elif w.active is not None and len(values) != 1:
            values = values[w.active]
        if values.dtype is not kind:
            values = values.astype(kind)
        return values if number is None else values.view(number)

    return read


def typed(operand: Operand, kind: str) -> Fetch:
    """An operand as numbers of a PTX type."""
    bits, number = bits_of(kind), NUMBERS.get(kind)
    if number is None:
        raise PtxFault("unknown", f"numbers of .{kind}")
    if kind.endswith("x2"):
        raw = fetch(operand, bits)
        return lambda w: raw(w).view(number).reshape(-1, 2)
    if kind == "pred" or kind[0] in "bu":
        return fetch(operand, bits)
    return fetch(operand, bits, number)


def packed(values: Array) -> Array:
    """Numbers to bits: what a register holds."""
    if values.ndim == 2:  # two halves
        return np.ascontiguousarray(values).view(np.uint32)[:, 0]
    kind = PACKED[values.dtype]
    return values if kind is None else values.view(kind)


PACKED: dict[Any, Any] = {
    np.dtype(f"{letter}{size}"): None if letter == "u" else UNSIGNED[8 * size]
    for letter, sizes in (("u", (1, 2, 4, 8)), ("i", (1, 2, 4, 8)), ("f", (2, 4, 8)))
    for size in sizes
}
PACKED[np.dtype(bool)] = None
"""What numbers become as bits; None where they are bits."""


def target(operand: Operand) -> str:
    """The register an instruction writes."""
    if not isinstance(operand, Register):
        raise PtxFault("unknown", f"destination {operand}")
    return operand.name
