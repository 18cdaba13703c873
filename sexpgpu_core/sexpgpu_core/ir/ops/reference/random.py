"""Philox in NumPy, over all places of a tensor at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...box_muller import normal
from ...operation import Attributes
from ...philox import MULTIPLIERS, ROUNDS, WEYL, site_key
from ...types import Attribute, Type, numpy_dtype
from . import Reference
from .elementwise import TABLE as ELEMENTWISE

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def philox(key: tuple[int, int], counters: list[Any]) -> list[Any]:
    """Four arrays of u32 from four arrays of counter words."""
    x = [np.asarray(c).astype(np.uint64) & _LOW for c in counters]
    k0, k1 = key
    for _ in range(ROUNDS):
        p0, p1 = np.uint64(MULTIPLIERS[0]) * x[0], np.uint64(MULTIPLIERS[1]) * x[2]
        x = [
            (p1 >> _HALF) ^ x[1] ^ np.uint64(k0),
            p1 & _LOW,
            (p0 >> _HALF) ^ x[3] ^ np.uint64(k1),
            p0 & _LOW,
        ]
        k0, k1 = (k0 + WEYL[0]) & 0xFFFFFFFF, (k1 + WEYL[1]) & 0xFFFFFFFF
    return [w.astype(np.uint32) for w in x]


def _words(x: list[Any], a: Attributes, shape: tuple[int, ...]) -> list[Any]:
    """The four words of each counter, (rows, columns / 4): the word of a place is column mod 4."""
    axis = a.get("batch-axis")
    offset = 0
    if axis is not None:
        offset = (a.get("row-offset") or 0) + (int(x[1]) if len(x) > 1 else 0)
    rows, columns = _grid(a, shape)
    row = np.arange(rows, dtype=np.uint64)[:, None] + np.uint64(offset)
    column = np.arange(-(-columns // 4), dtype=np.uint64)[None, :]
    step = np.uint64(int(x[0]) & 0xFFFFFFFF)
    counter = np.broadcast_arrays(column, row, step, int(x[2]) if len(x) > 2 else 0)
    return philox(site_key(a["seed"], a["domain"], a["site"]), list(counter))


def _grid(a: Attributes, shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows, along the batch axis, and columns of a tensor."""
    axis = a.get("batch-axis") or 0
    rest = shape[:axis] + shape[axis + 1 :]
    return shape[axis] if shape else 1, int(np.prod(rest, dtype=np.int64))


def _placed(four: list[Any], a: Attributes, shape: tuple[int, ...]) -> Any:
    """What the four words of each counter gave, as the tensor."""
    rows, columns = _grid(a, shape)
    values = np.stack(four, axis=-1).reshape(rows, 4 * four[0].shape[1])[:, :columns]
    if not shape:
        return values.reshape(())
    axis = a.get("batch-axis") or 0
    rest = shape[:axis] + shape[axis + 1 :]
    return np.moveaxis(values.reshape(rows, *rest), 0, axis)


def _bits(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    return _placed(_words(x, a, t[0].shape), a, t[0].shape)


def _uniform(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    return _fraction(_bits(x, a, t))


def _fraction(bits: Any) -> Any:
    return (bits >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)


class _Arrays:
    """The arithmetic of NumPy, an IEEE operation a step."""

    def number(self, value: Attribute, dtype: str) -> Any:
        return numpy_dtype(dtype).type(value)

    def apply(self, op: str, operands: tuple[Any, ...], dtype: str) -> Any:
        if op == "shift-right":
            return operands[0] >> operands[1]
        return ELEMENTWISE[op](list(operands), {}, (Type(dtype),))


def _normal(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    words = _words(x, a, t[0].shape)
    pairs = [
        normal(_Arrays(), first, second, np.array(odd))
        for first, second in (words[:2], words[2:])
        for odd in (False, True)
    ]
    return _placed(pairs, a, t[0].shape)


TABLE: dict[str, Reference] = {
    "random-bits": _bits,
    "random-uniform": _uniform,
    "random-normal": _normal,
    "random-bernoulli": lambda x, a, t: _uniform(x, a, t) < np.float32(a["p"]),
}
