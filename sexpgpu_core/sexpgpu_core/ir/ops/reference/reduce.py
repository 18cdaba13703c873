"""Reductions in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...operation import Attributes
from ...types import Type
from . import Reference


def _along(function: Any, same_dtype: bool = False) -> Reference:
    def reference(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
        more = {"dtype": x[0].dtype} if same_dtype else {}
        return function(x[0], axis=a["axes"], keepdims=bool(a.get("keep")), **more)

    return reference


def _index(function: Any) -> Reference:
    return lambda x, a, t: function(x[0], axis=a["axis"]).reshape(t[0].shape)


def _running(function: Any, start: int | None = None) -> Reference:
    def reference(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
        array, axis = x[0], a["axis"]
        if not array.shape[axis]:
            return array
        if a.get("reverse"):
            array = np.flip(array, axis)
        if a.get("exclusive"):
            first = np.full_like(np.take(array, [0], axis), start)
            kept = np.take(array, range(array.shape[axis] - 1), axis)
            array = np.concatenate([first, kept], axis)
        found = function(array, axis=axis, dtype=array.dtype)
        return np.flip(found, axis) if a.get("reverse") else found

    return reference


def _quantile(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    return np.quantile(x[0], a["q"], axis=a["axes"], keepdims=bool(a.get("keep")))


TABLE: dict[str, Reference] = {
    "reduce-sum": _along(np.sum, same_dtype=True),
    "reduce-product": _along(np.prod, same_dtype=True),
    "reduce-max": _along(np.max),
    "reduce-min": _along(np.min),
    "reduce-any": _along(np.any),
    "reduce-all": _along(np.all),
    "quantile": _quantile,
    "argmax": _index(np.argmax),
    "argmin": _index(np.argmin),
    "cumsum": _running(np.cumsum, 0),
    "cumprod": _running(np.cumprod, 1),
    "cummax": _running(np.maximum.accumulate),
    "cummin": _running(np.minimum.accumulate),
}
