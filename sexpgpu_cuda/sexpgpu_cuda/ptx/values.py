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
    "pred": np.bool_,
}


def bits_of(kind: str) -> int:
    """Of a PTX type; a predicate has one."""
    if kind == "pred":
        return 1
    if kind == "f16x2":
        return 32
    if kind not in NUMBERS and kind != "bf16":
        raise PtxFault("unknown", f"type .{kind}")
    return int(kind.lstrip("busfd"))


def fetch(operand: Operand, bits: int) -> Fetch:
    """How an operand is read: as unsigned of so many bits, wider ones cut, narrower filled up."""
    kind = UNSIGNED.get(bits, np.bool_)
    if isinstance(operand, Immediate):
        value = np.array([operand.value & ((1 << bits) - 1)]).astype(kind)
        return lambda w: value
    if isinstance(operand, Register):
        return _register(operand.name, bits, kind)
    if isinstance(operand, Symbol):
        name = operand.name
        return lambda w: np.array([w.offsets[name]]).astype(kind)
    raise PtxFault("unknown", f"operand {operand}")


def _register(name: str, bits: int, kind: Any) -> Fetch:
    def read(w: Wave) -> Array:
        values = w.read(name, bits)
        return values if values.dtype == kind else values.astype(kind)

    return read


def typed(operand: Operand, kind: str) -> Fetch:
    """An operand as numbers of a PTX type."""
    raw = fetch(operand, bits_of(kind))
    number = NUMBERS[kind]
    if kind == "pred" or kind[0] in "bu":
        return raw
    if kind == "f16x2":
        return lambda w: raw(w).view(number).reshape(-1, 2)
    return lambda w: raw(w).view(number)


def packed(values: Array) -> Array:
    """Numbers to bits: what a register holds."""
    if values.dtype == np.bool_:
        return values
    if values.ndim == 2:  # two halves
        return np.ascontiguousarray(values).view(np.uint32)[:, 0]
    return values.view(UNSIGNED[8 * values.dtype.itemsize])


def target(operand: Operand) -> str:
    """The register an instruction writes."""
    if not isinstance(operand, Register):
        raise PtxFault("unknown", f"destination {operand}")
    return operand.name
