"""Elementwise operations in NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...operation import Attributes
from ...types import INTEGERS, Type, numpy_dtype
from . import Reference


def plain(function: Any) -> Reference:
    return lambda x, a, t: function(*x)


def _sigmoid(x: Any) -> Any:
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def by_element(function: Any) -> Any:
    vectorized = np.vectorize(function, otypes=[np.float64])
    return lambda x: vectorized(x).astype(x.dtype) if x.size else x.copy()


def _cast(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    given, dtype = t[0].dtype, numpy_dtype(t[0].dtype)
    if given == "bool":
        return x[0] != 0
    whole = given in INTEGERS and x[0].dtype.kind not in "iub"
    return _truncated(x[0].astype(np.float64), dtype) if whole else x[0].astype(dtype)


def _truncated(x: Any, dtype: Any) -> Any:
    """To an integer, which is at the end of its range where the number lies beyond it."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    inside = (x > low) & (x < high)
    ends = np.where(x >= high, dtype.type(high), np.where(x <= low, dtype.type(low), dtype.type(0)))
    return np.where(inside, np.where(inside, x, 0.0).astype(dtype), ends)


def _bitcast(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    return x[0].view(numpy_dtype(t[0].dtype))


def _shift(x: Any, count: Any) -> Any:
    bits = 8 * x.dtype.itemsize
    far = np.abs(count.astype(np.int64)) >= bits
    sign = np.where(x < 0, -1, 0).astype(x.dtype)
    by = np.where(far, 0, np.abs(count.astype(np.int64))).astype(x.dtype)
    left = np.where(far, 0, x << by)
    right = np.where(far, sign, x >> by)
    return np.where(count >= 0, left, right).astype(x.dtype)


def _popcount(x: Any) -> Any:
    bits = 8 * x.dtype.itemsize
    unsigned = x.view(f"u{x.dtype.itemsize}").astype(np.uint64)
    counts = sum(((unsigned >> np.uint64(i)) & np.uint64(1)) for i in range(bits))
    return np.asarray(counts).astype(x.dtype)


def _quotient(x: Any, y: Any) -> Any:
    safe = np.where(y == 0, y.dtype.type(1), y)
    found = x // safe + ((x % safe != 0) & ((x < 0) != (safe < 0)))
    return np.where(y == 0, x.dtype.type(0), found.astype(x.dtype))


def fma(x: Any, y: Any, z: Any) -> Any:
    """x y + z, rounded once."""
    if x.dtype == np.float32:
        wide = x.astype(np.float64) * y.astype(np.float64)
        return _odd_sum(wide, z.astype(np.float64)).astype(np.float32)
    return _fma_f64(x, y, z) if x.dtype == np.float64 else x * y + z


def _fma_f64(x: Any, y: Any, z: Any) -> Any:
    """Boldo and Melquiond, Emulation of a FMA and correctly rounded sums, 2008, algorithm 5."""
    p, p_low = _two_product(x, y)
    t, t_low = _two_sum(z, p_low)
    v, v_low = _two_sum(p, t)
    found = v + _odd_sum(t_low, v_low)
    plain = x * y + z
    return np.where(np.isfinite(found), found, plain)


def _two_sum(x: Any, y: Any) -> tuple[Any, Any]:
    """The sum and what rounding it lost (Knuth)."""
    s = np.asarray(x + y)
    back = s - x
    return s, np.asarray((x - (s - back)) + (y - back))


def _two_product(x: Any, y: Any) -> tuple[Any, Any]:
    """The product and what rounding it lost (Dekker); NaN where a part overflows."""
    p = np.asarray(x * y)
    (a, b), (c, d) = _halves(x), _halves(y)
    return p, np.asarray(((a * c - p) + a * d + b * c) + b * d)


def _halves(x: Any) -> tuple[Any, Any]:
    """The upper and the lower 26 bits of a number (Veltkamp)."""
    far = np.float64(134217729.0) * x
    high = far - (far - x)
    return high, x - high


def _odd_sum(p: Any, z: Any) -> Any:
    """p + z rounded to odd in f64, so that rounding to f32 afterwards rounds once."""
    s, error = _two_sum(p, z)
    bits = s.view(np.int64)
    inexact = (error != 0) & np.isfinite(s) & ((bits & 1) == 0)
    toward = np.where((error > 0) == (s > 0), 1, -1)
    return np.where(inexact, bits + toward, bits).view(np.float64)


def _whole(function: Any) -> Reference:
    """Identity on integers."""
    return lambda x, a, t: x[0] if x[0].dtype.kind in "iu" else function(x[0])


TABLE: dict[str, Reference] = {
    "add": plain(np.add),
    "subtract": plain(np.subtract),
    "multiply": plain(np.multiply),
    "divide": plain(np.divide),
    "negate": plain(np.negative),
    "maximum": plain(np.maximum),
    "minimum": plain(np.minimum),
    "abs": plain(np.abs),
    "sign": plain(np.sign),
    "square": plain(np.square),
    "reciprocal": lambda x, a, t: 1 / x[0],
    "sqrt": plain(np.sqrt),
    "rsqrt": lambda x, a, t: 1 / np.sqrt(x[0]),
    "power": plain(np.power),
    "floor": _whole(np.floor),
    "ceiling": _whole(np.ceil),
    "round": _whole(np.rint),
    "truncate": _whole(np.trunc),
    "mod": plain(np.mod),
    "rem": plain(np.fmod),
    "quotient": plain(_quotient),
    "clip": lambda x, a, t: np.minimum(np.maximum(x[0], x[1]), x[2]),
    "fma": plain(fma),
    "atan2": plain(np.arctan2),
    "cast": _cast,
    "bitcast": _bitcast,
    "exp": plain(np.exp),
    "exp2": plain(np.exp2),
    "expm1": plain(np.expm1),
    "log": plain(np.log),
    "log2": plain(np.log2),
    "log1p": plain(np.log1p),
    "sin": plain(np.sin),
    "cos": plain(np.cos),
    "tan": plain(np.tan),
    "asin": plain(np.arcsin),
    "acos": plain(np.arccos),
    "atan": plain(np.arctan),
    "sinh": plain(np.sinh),
    "cosh": plain(np.cosh),
    "tanh": plain(np.tanh),
    "asinh": plain(np.arcsinh),
    "acosh": plain(np.arccosh),
    "atanh": plain(np.arctanh),
    "erf": plain(by_element(math.erf)),
    "erfc": plain(by_element(math.erfc)),
    "sigmoid": plain(_sigmoid),
    "equal": plain(np.equal),
    "not-equal": plain(np.not_equal),
    "less": plain(np.less),
    "less-equal": plain(np.less_equal),
    "greater": plain(np.greater),
    "greater-equal": plain(np.greater_equal),
    "logical-and": plain(np.logical_and),
    "logical-or": plain(np.logical_or),
    "logical-xor": plain(np.logical_xor),
    "logical-not": plain(np.logical_not),
    "is-nan": plain(np.isnan),
    "is-inf": plain(np.isinf),
    "is-finite": plain(np.isfinite),
    "where": lambda x, a, t: np.where(*x),
    "bit-and": plain(np.bitwise_and),
    "bit-or": plain(np.bitwise_or),
    "bit-xor": plain(np.bitwise_xor),
    "bit-not": plain(np.invert),
    "shift": plain(_shift),
    "popcount": plain(_popcount),
}
