"""What instructions compute, on arrays of numbers: one rounding each, IEEE, nothing flushed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .memory import UNSIGNED

Array = Any
Compute = Callable[..., Array]


def quotient(a: Array, b: Array) -> Array:
    """Floats: IEEE. Integers: toward zero; by zero it is all ones, as on the device."""
    if a.dtype.kind == "f":
        return a / b
    zero = b == 0
    safe = np.where(zero, b.dtype.type(1), b)
    if a.dtype.kind == "u":
        found = a // safe
    else:
        small = (safe == -1) & (a == np.iinfo(a.dtype).min)
        down = np.where(small, 0, a) // safe
        part = (down * safe != a) & ((a < 0) != (safe < 0))
        found = down + part.astype(a.dtype)
        found = np.where(small, a, found)
    return np.where(zero, a.dtype.type(-1) if a.dtype.kind == "i" else ~b, found).astype(a.dtype)


def remainder(a: Array, b: Array) -> Array:
    """Sign of a; by zero it is a."""
    with np.errstate(over="ignore"):
        return np.where(b == 0, a, a - quotient(a, b) * b).astype(a.dtype)


def high(a: Array, b: Array) -> Array:
    """The upper half of a product."""
    bits = 8 * a.dtype.itemsize
    if bits < 64:
        wide = np.int64 if a.dtype.kind == "i" else np.uint64
        return (a.astype(wide) * b.astype(wide) >> wide(bits)).astype(a.dtype)
    pairs = np.broadcast_arrays(a, b)
    found = [(int(x) * int(y)) >> 64 for x, y in zip(*(p.ravel() for p in pairs))]
    unsigned = [f & (2**64 - 1) for f in found]
    return np.array(unsigned, np.uint64).view(a.dtype).reshape(pairs[0].shape)


def widened(a: Array, b: Array) -> Array:
    """The whole product, twice as wide."""
    wide = np.dtype(f"{a.dtype.kind}{2 * a.dtype.itemsize}")
    return a.astype(wide) * b.astype(wide)


def lesser(a: Array, b: Array) -> Array:
    """A NaN loses against a number; -0 is below 0."""
    if a.dtype.kind != "f":
        return np.minimum(a, b)
    return np.where((a == b) & np.signbit(b), b, np.fmin(a, b))


def greater(a: Array, b: Array) -> Array:
    if a.dtype.kind != "f":
        return np.maximum(a, b)
    return np.where((a == b) & np.signbit(a), b, np.fmax(a, b))


def shift_left(a: Array, count: Array) -> Array:
    """As many bits as there are, or more, leave nothing."""
    bits = 8 * a.dtype.itemsize
    near = np.minimum(count, bits - 1).astype(a.dtype)
    return np.where(count < bits, a << near, a.dtype.type(0))


def shift_right(a: Array, count: Array) -> Array:
    """Signed: the sign stays."""
    bits = 8 * a.dtype.itemsize
    near = np.minimum(count, bits - 1).astype(a.dtype)
    down = a >> near
    return down if a.dtype.kind == "i" else np.where(count < bits, down, a.dtype.type(0))


def rotated(low: Array, up: Array, count: Array, left: bool, wrap: bool) -> Array:
    """shf: 32 bits of the 64 of (up, low), moved by count."""
    count = (count & 31 if wrap else np.minimum(count, 32)).astype(np.uint64)
    wide = (up.astype(np.uint64) << np.uint64(32)) | low.astype(np.uint64)
    moved = (wide << count) >> np.uint64(32) if left else wide >> count
    return moved.astype(np.uint32)


def permuted(a: Array, b: Array, selector: Array) -> Array:
    """prmt: four bytes picked of eight; a selector's bit 3 takes the sign of the byte."""
    wide = (b.astype(np.uint64) << np.uint64(32)) | a.astype(np.uint64)
    found = np.zeros(np.broadcast_shapes(a.shape, b.shape, selector.shape), np.uint32)
    for k in range(4):
        nibble = (selector >> np.uint32(4 * k)) & np.uint32(15)
        byte = (wide >> ((nibble & np.uint32(7)).astype(np.uint64) * np.uint64(8))) & np.uint64(255)
        sign = np.where(byte >> np.uint64(7) != 0, np.uint64(255), np.uint64(0))
        byte = np.where(nibble & np.uint32(8), sign, byte)
        found |= byte.astype(np.uint32) << np.uint32(8 * k)
    return found


def extracted(a: Array, start: Array, length: Array) -> Array:
    """bfe: `length` bits from `start` on, the sign continued where it is signed."""
    bits = 8 * a.dtype.itemsize
    start, length = start & 255, np.minimum(length & 255, bits)
    wide = a.astype(np.int64 if a.dtype.kind == "i" else np.uint64)
    moved = shift_right(wide, start)
    room = (64 - length).astype(moved.dtype)
    found = shift_right(shift_left(moved, room), room)
    return np.where(length == 0, 0, found).astype(a.dtype)


def inserted(a: Array, b: Array, start: Array, length: Array) -> Array:
    """bfi: the low bits of a in b, from `start` on."""
    one = b.dtype.type(1)
    mask = shift_left(shift_left(one * np.ones_like(b), length & 255) - one, start & 255)
    return (b & ~mask) | (shift_left(a, start & 255) & mask)


def population(a: Array) -> Array:
    return np.unpackbits(bytes_of(a), axis=-1).sum(-1).astype(np.uint32)


def leading(a: Array) -> Array:
    """Zeros above the highest one."""
    ones = np.unpackbits(bytes_of(a), axis=-1)
    return np.where(ones.any(-1), ones.argmax(-1), ones.shape[-1]).astype(np.uint32)


def reversed_bits(a: Array) -> Array:
    """brev."""
    ones = np.unpackbits(bytes_of(a), axis=-1)[..., ::-1]
    return (
        np.ascontiguousarray(np.packbits(ones, axis=-1))
        .view(a.dtype.newbyteorder(">"))[..., 0]
        .astype(a.dtype)
    )


def bytes_of(a: Array) -> Array:
    """Of each number, the highest first."""
    big = np.ascontiguousarray(a.astype(a.dtype.newbyteorder(">")))
    return big.view(np.uint8).reshape(*a.shape, -1)


def with_sign(sign: Array, x: Array) -> Array:
    """copysign: PTX names the sign's operand first."""
    return np.copysign(x, sign)


def logic3(a: Array, b: Array, c: Array, table: int) -> Array:
    """lop3: each bit by a table of eight."""
    found = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), UNSIGNED[32])
    for k in range(8):
        if table >> k & 1:
            found |= (a if k & 4 else ~a) & (b if k & 2 else ~b) & (c if k & 1 else ~c)
    return found


COMPARE: dict[str, Compute] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: ~unordered(a, b) & (a != b),
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "num": lambda a, b: ~unordered(a, b),
    "nan": lambda a, b: unordered(a, b),
}
COMPARE.update({n: COMPARE[o] for n, o in (("lo", "lt"), ("ls", "le"), ("hi", "gt"), ("hs", "ge"))})


def unordered(a: Array, b: Array) -> Array:
    """Whether one of them is NaN."""
    if a.dtype.kind != "f":
        return np.zeros(np.broadcast_shapes(a.shape, b.shape), bool)
    return np.isnan(a) | np.isnan(b)


def compare(word: str, a: Array, b: Array) -> Array:
    """`ltu` and its like hold too where one is NaN."""
    if word in COMPARE:
        return COMPARE[word](a, b)
    return COMPARE[word[:-1]](a, b) | unordered(a, b)
