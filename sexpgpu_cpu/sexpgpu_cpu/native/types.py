"""Types of the subset. Memory holds storage types; a value in a register is i64, i1, f32, f64 or a
pointer. bf16 and f16 are widened to f32 when read and rounded once, to nearest even, when written.
"""

from __future__ import annotations

import struct

from sexpgpu_core.records import NamedTuple

STORED = {
    "f64": "double",
    "f32": "float",
    "bf16": "i16",
    "f16": "half",
    "i64": "i64",
    "u64": "i64",
    "i32": "i32",
    "u32": "i32",
    "i16": "i16",
    "u16": "i16",
    "i8": "i8",
    "u8": "i8",
    "bool": "i8",
}
"""LLVM's type in memory, by dtype."""

REGISTER = {"f64": "f64", "f32": "f32", "bf16": "f32", "f16": "f32"}
"""Type in a register by dtype; every other dtype is i64."""

PRINTED = {"i64": "i64", "i1": "i1", "f32": "float", "f64": "double"}


class Pointer(NamedTuple):
    """A pointer to elements of a dtype."""

    element: str


Kind = str | Pointer


class Term(NamedTuple):
    """A value: its LLVM text and kind. A Python number stays a number until it meets a kind."""

    text: str
    kind: Kind


def register(dtype: str) -> str:
    return REGISTER.get(dtype, "i64")


def printed(kind: Kind) -> str:
    """LLVM's name of a kind."""
    return "ptr" if isinstance(kind, Pointer) else PRINTED[kind]


def literal(value: float, kind: str) -> str:
    """A number as LLVM prints it: floats by the bits of a double, exactly."""
    if kind in ("i64", "i1"):
        return str(int(value))
    if kind == "f32":
        value = struct.unpack("<f", struct.pack("<f", value))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
