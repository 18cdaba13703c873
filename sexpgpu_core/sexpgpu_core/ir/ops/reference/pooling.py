"""Pooling in NumPy, a place of the window at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...operation import Attributes
from ...types import Type
from . import Reference
from .convolution import padded, windows


def _dilations(a: Attributes) -> Any:
    return a.get("dilations") or (1,) * len(a["sizes"])


def _least(dtype: Any) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _max_windows(x: Any, a: Attributes, out: tuple[int, ...]) -> Any:
    """(places of the window, *pooled shape)"""
    return _by_place(padded(x, a["padding"], _least(x.dtype)), a, out)


def _by_place(wide: Any, a: Attributes, out: tuple[int, ...]) -> Any:
    found = windows(out, a["sizes"], a["strides"], _dilations(a))
    return np.stack([wide[where] for _, where in found])


def _first_greatest(x: Any, a: Attributes, out: tuple[int, ...]) -> Any:
    """The place of each window that gave its maximum: never padding, though all be -inf."""
    values = _max_windows(x, a, out)
    inside = _by_place(padded(np.ones(x.shape, bool), a["padding"], False), a, out)
    return (inside & ((values == values.max(axis=0)) | (values != values))).argmax(axis=0)


def _max_pool(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    return _max_windows(x[0], a, t[0].shape[1:-1]).max(axis=0)


def _max_gradient(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    array, g = x
    out = g.shape[1:-1]
    first = _first_greatest(array, a, out)
    back = padded(np.zeros_like(array), a["padding"])
    for i, (_, where) in enumerate(windows(out, a["sizes"], a["strides"], _dilations(a))):
        back[where] += np.where(first == i, g, 0)
    return _inner(back, a, array.shape)


def _inner(x: Any, a: Attributes, shape: tuple[int, ...]) -> Any:
    cut = [slice(p[0], p[0] + n) for p, n in zip(a["padding"], shape[1:-1])]
    where = (slice(None), *cut)
    return x[where]


def _counts(a: Attributes, shape: tuple[int, ...], out: tuple[int, ...], dtype: Any) -> Any:
    """How many elements each window counts: (1 . out 1)."""
    ones = np.ones((1, *shape[1:-1], 1), dtype)
    wide = padded(ones, a["padding"], 1 if a.get("count-padding") else 0)
    found = windows(out, a["sizes"], a["strides"], _dilations(a))
    return np.maximum(sum(wide[where] for _, where in found), 1)


def _avg_pool(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    out = t[0].shape[1:-1]
    wide = padded(x[0], a["padding"])
    found = windows(out, a["sizes"], a["strides"], _dilations(a))
    return sum(wide[where] for _, where in found) / _counts(a, x[0].shape, out, x[0].dtype)


def _avg_gradient(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    out, shape = x[0].shape[1:-1], t[0].shape
    share = x[0] / _counts(a, shape, out, x[0].dtype)
    back = padded(np.zeros(shape, x[0].dtype), a["padding"])
    for _, where in windows(out, a["sizes"], a["strides"], _dilations(a)):
        back[where] += share
    return _inner(back, a, shape)


TABLE: dict[str, Reference] = {
    "max-pool": _max_pool,
    "max-pool-gradient": _max_gradient,
    "avg-pool": _avg_pool,
    "avg-pool-gradient": _avg_gradient,
}
