"""Types of the graph: a dtype and a static shape."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Union

from ..records import NamedTuple

FLOATS = ("f64", "f32", "bf16", "f16")
SIGNED = ("i64", "i32", "i16", "i8")
UNSIGNED = ("u64", "u32", "u16", "u8")
INTEGERS = SIGNED + UNSIGNED
DTYPES = (*FLOATS, *INTEGERS, "bool")
WIDTH = {
    **dict.fromkeys(("f64", "i64", "u64"), 8),
    **dict.fromkeys(("f32", "i32", "u32"), 4),
    **dict.fromkeys(("bf16", "f16", "i16", "u16"), 2),
    **dict.fromkeys(("i8", "u8", "bool"), 1),
}
"""Bytes of an element."""

Attribute = Union[int, float, str, bool, Fraction, None, tuple["Attribute", ...]]  # noqa: UP007
"""Hashable; prints and reads back exactly."""


class Type(NamedTuple):
    """dtype and shape of one result of a node."""

    dtype: str
    shape: tuple[int, ...] = ()

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return WIDTH[self.dtype]

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * WIDTH[self.dtype]

    def __str__(self) -> str:
        return f"{self.dtype} ({' '.join(map(str, self.shape))})"


def is_float(dtype: str) -> bool:
    return dtype in FLOATS


@functools.lru_cache(maxsize=4096)
def broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """NumPy's rule over leading axes and axes of size 1; None where sizes differ."""
    if a == b:
        return a
    if len(a) < len(b):
        a = (1,) * (len(b) - len(a)) + a
    elif len(b) < len(a):
        b = (1,) * (len(a) - len(b)) + b
    shape = []
    for x, y in zip(a, b):
        if x == y or y == 1:
            shape.append(x)
        elif x == 1:
            shape.append(y)
        else:
            return None
    return tuple(shape)


def full_float(dtype: str) -> str:
    """What is computed whole of a dtype: f64 of f64, f32 of all others."""
    return "f64" if dtype == "f64" else "f32"


def numpy_dtype(dtype: str):  # type: ignore[no-untyped-def]
    """NumPy's dtype object; bf16 is ml_dtypes'."""
    import numpy as np

    if dtype == "bf16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    if dtype == "bool":
        return np.dtype(np.bool_)
    kind = {"f": "f", "i": "i", "u": "u"}[dtype[0]]
    return np.dtype(f"{kind}{WIDTH[dtype]}")
