"""Shape operations in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...operation import Attributes
from ...types import Type
from . import Reference


def _slice(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    return x[0][tuple(map(slice, a["starts"], a["stops"], a["steps"]))]


def _slice_set(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    out = x[0].copy()
    out[tuple(slice(s, s + n) for s, n in zip(a["starts"], x[1].shape))] = x[1]
    return out


def _pad(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    out = np.full(t[0].shape, a["value"], x[0].dtype)
    steps = [1 + i for i in a.get("interior") or (0,) * x[0].ndim]
    ends = [s + (n - 1) * k + 1 if n else s for s, n, k in zip(a["low"], x[0].shape, steps)]
    out[tuple(map(slice, a["low"], ends, steps))] = x[0]
    return out


TABLE: dict[str, Reference] = {
    "broadcast-to": lambda x, a, t: np.broadcast_to(x[0], t[0].shape),
    "reshape": lambda x, a, t: x[0].reshape(t[0].shape),
    "permute": lambda x, a, t: np.transpose(x[0], a["axes"]),
    "slice": _slice,
    "slice-set": _slice_set,
    "pad": _pad,
    "concat": lambda x, a, t: np.concatenate(x, axis=a["axis"]),
    "flip": lambda x, a, t: np.flip(x[0], a["axes"]),
}
