"""Leaves and operations that hand their operand on, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...operation import Attributes
from ...types import Type, numpy_dtype
from . import Reference


def _iota(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    shape, axis = t[0].shape, a["axis"]
    column = (-1, *(1,) * (len(shape) - axis - 1))
    return np.broadcast_to(np.arange(shape[axis]).reshape(column), shape)


def _table(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    return np.array(a["values"], dtype=numpy_dtype(t[0].dtype)).reshape(t[0].shape)


TABLE: dict[str, Reference] = {
    "constant": lambda x, a, t: np.full(t[0].shape, a["value"], numpy_dtype(t[0].dtype)),
    "iota": _iota,
    "table": _table,
    "stop-gradient": lambda x, a, t: x[0],
    "straight-through": lambda x, a, t: x[0],
    "barrier": lambda x, a, t: x[0],
    "gradient-scale": lambda x, a, t: x[0],
}
