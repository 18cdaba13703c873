"""Convolution in NumPy: a matrix product for each place of the kernel."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from ...operation import Attributes
from ...types import Type
from . import Reference


def padded(x: Any, padding: Any, value: Any = 0) -> Any:
    """Spatial axes with `value` around."""
    return np.pad(x, ((0, 0), *padding, (0, 0)), constant_values=value)


def windows(
    out: tuple[int, ...], kernel: tuple[int, ...], strides: Any, dilations: Any
) -> Iterator[tuple[tuple[int, ...], tuple[Any, ...]]]:
    """Each place of the kernel with the slices of a padded input that it meets."""
    for place in product(*map(range, kernel)):
        starts = [p * d for p, d in zip(place, dilations)]
        stops = [s + (m - 1) * k + 1 for s, m, k in zip(starts, out, strides)]
        yield place, (slice(None), *map(slice, starts, stops, strides))


def _grouped(x: Any, groups: int) -> Any:
    """(... c) to (groups, rows, c / groups)"""
    rows = x.reshape(math.prod(x.shape[:-1]), groups, x.shape[-1] // groups)
    return np.moveaxis(rows, 1, 0)


def _ungrouped(x: Any, shape: tuple[int, ...]) -> Any:
    return np.moveaxis(x, 0, 1).reshape(shape)


def _by_group(w: Any, groups: int) -> Any:
    """(i/groups o) to (groups, i/groups, o/groups)"""
    return np.moveaxis(w.reshape(w.shape[0], groups, w.shape[1] // groups), 1, 0)


def _conv(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    array, w = padded(x[0], a["padding"]), x[1]
    shape, groups = t[0].shape, a["groups"]
    out = np.zeros((groups, int(np.prod(shape[:-1])), shape[-1] // groups), array.dtype)
    for place, where in windows(shape[1:-1], w.shape[:-2], a["strides"], a["dilations"]):
        out += _grouped(array[where], groups) @ _by_group(w[place], groups)
    return _ungrouped(out, shape)


def _input_gradient(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    g, w = x
    groups = a["groups"]
    out = padded(np.zeros(t[0].shape, g.dtype), a["padding"])
    rows = _grouped(g, groups)
    for place, where in windows(g.shape[1:-1], w.shape[:-2], a["strides"], a["dilations"]):
        back = rows @ np.swapaxes(_by_group(w[place], groups), 1, 2)
        out[where] += _ungrouped(back, out[where].shape)
    inner = [slice(p[0], p[0] + n) for p, n in zip(a["padding"], t[0].shape[1:-1])]
    where = (slice(None), *inner)
    return out[where]


def _weight_gradient(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    array, g = padded(x[0], a["padding"]), x[1]
    groups, shape = a["groups"], t[0].shape
    out = np.zeros(shape, g.dtype)
    rows = _grouped(g, groups)
    for place, where in windows(g.shape[1:-1], shape[:-2], a["strides"], a["dilations"]):
        found = np.swapaxes(_grouped(array[where], groups), 1, 2) @ rows
        out[place] = np.moveaxis(found, 0, 1).reshape(shape[-2:])
    return out


TABLE: dict[str, Reference] = {
    "conv": _conv,
    "conv-input-gradient": _input_gradient,
    "conv-weight-gradient": _weight_gradient,
}
