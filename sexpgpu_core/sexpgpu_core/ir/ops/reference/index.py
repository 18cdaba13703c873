"""Indexing in NumPy. An index outside raises Problem E-RUN-INDEX, or is dropped."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....diagnostics import problem
from ...operation import Attributes
from ...types import Type
from . import Reference


def _checked(index: Any, size: int, a: Attributes) -> tuple[Any, Any]:
    """Indices made safe, and which of them were inside."""
    wide = index.astype(np.int64) if index.dtype != np.uint64 else index.astype(object)
    inside = np.asarray((wide >= 0) & (wide < size)).astype(bool)
    if (a.get("out") or "error") == "error" and not inside.all():
        bad = int(np.asarray(wide)[~inside].ravel()[0])
        raise problem(
            "E-RUN-INDEX", f"index {bad} of an axis with size {size}", index=bad, size=size
        )
    return np.where(inside, wide, 0).astype(np.int64), inside


def _grid(x: Any, index: Any, axis: int, batch: int) -> tuple[Any, ...]:
    """Index arrays that pick x's elements in the shape that gather gives."""
    grown = index.ndim - batch
    rank = x.ndim - 1 + grown
    found = []
    for a in range(x.ndim):
        if a == axis:
            shape = index.shape[:batch] + (1,) * (axis - batch) + index.shape[batch:]
            found.append(index.reshape(shape + (1,) * (rank - len(shape))))
            continue
        at = a if a < axis else a - 1 + grown
        found.append(np.arange(x.shape[a]).reshape((-1,) + (1,) * (rank - at - 1)))
    return tuple(found)


def _gather(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    array, axis, batch = x[0], a["axis"], a.get("batch-axes") or 0
    index, inside = _checked(x[1], array.shape[axis], a)
    if not array.size:
        return np.zeros(t[0].shape, array.dtype)
    found = np.broadcast_to(array[_grid(array, index, axis, batch)], t[0].shape)
    return np.where(_grid(array, inside, axis, batch)[axis], found, np.zeros((), array.dtype))


def _positions(x: list[Any], a: Attributes) -> tuple[Any, Any, Any]:
    """Flat places in x in ascending position, and the values that go there; dropped ones out."""
    array, y, axis, batch = x[0], x[2], a["axis"], a.get("batch-axes") or 0
    index, inside = _checked(x[1], array.shape[axis], a)
    keep = np.broadcast_to(_grid(array, inside, axis, batch)[axis], y.shape)
    return _flat_places(array, _grid(array, index, axis, batch), keep, y)


def _flat_places(array: Any, grid: tuple[Any, ...], keep: Any, y: Any) -> tuple[Any, Any, Any]:
    if not array.size:
        return array.ravel().copy(), np.zeros(0, np.int64), y.ravel()[:0]
    places = np.ravel_multi_index(np.broadcast_arrays(*grid), array.shape, mode="clip")
    chosen = np.broadcast_to(keep, y.shape).ravel()
    return array.ravel().copy(), places.ravel()[chosen], y.ravel()[chosen]


def _scatter_add(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    out, places, values = _positions(x, a)
    np.add.at(out, places, values)
    return out.reshape(t[0].shape)


def _scatter_set(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    out, places, values = _positions(x, a)
    out[places] = values
    return out.reshape(t[0].shape)


def _scatter_extremum(function: Any) -> Reference:
    def reference(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
        out, places, values = _positions(x, a)
        function.at(out, places, values)
        return out.reshape(t[0].shape)

    return reference


def _along_grid(x: list[Any], a: Attributes) -> tuple[tuple[Any, ...], Any]:
    index, inside = _checked(x[1], x[0].shape[a["axis"]], a)
    grid = list(np.indices(index.shape, sparse=True))
    grid[a["axis"]] = index
    return tuple(grid), inside


def _take_along(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    grid, inside = _along_grid(x, a)
    if not x[0].size:
        return np.zeros(t[0].shape, x[0].dtype)
    return np.where(inside, x[0][grid], np.zeros((), x[0].dtype))


def _along(function: Any) -> Reference:
    def reference(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
        grid, inside = _along_grid(x, a)
        out, places, values = _flat_places(x[0], grid, inside, x[2])
        function(out, places, values)
        return out.reshape(t[0].shape)

    return reference


def _set(out: Any, places: Any, values: Any) -> None:
    out[places] = values


def _argsort(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    array, axis = x[0], a["axis"]
    if not a.get("descending"):
        return np.argsort(array, axis=axis, kind="stable")
    # Stable and descending: sort the mirror image ascending; NaN (first there) goes last.
    n = array.shape[axis]
    mirrored = np.flip(array, axis)
    order = n - 1 - np.flip(np.argsort(mirrored, axis=axis, kind="stable"), axis)
    if array.dtype.kind != "f":
        return order
    last = np.take_along_axis(np.isnan(array), order, axis)
    return np.take_along_axis(order, np.argsort(last, axis=axis, kind="stable"), axis)


def _top_k(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    order = _argsort(x, {"axis": a["axis"], "descending": not a.get("smallest")}, t)
    chosen = np.take(order, range(a["k"]), axis=a["axis"])
    return np.take_along_axis(x[0], chosen, a["axis"]), chosen


def _index_guard(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    return _checked(x[0], a["limit"], {"out": "error"})[0].astype(x[0].dtype)


def _searchsorted(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    side: Any = "right" if a.get("right") else "left"
    edges, values = x
    if edges.ndim == 1:
        return np.searchsorted(edges, values, side)
    rows = (v.reshape(math.prod(v.shape[:-1]), v.shape[-1]) for v in (edges, values))
    found = [np.searchsorted(e, v, side) for e, v in zip(*rows)]
    return np.array(found, np.int32).reshape(values.shape)


TABLE: dict[str, Reference] = {
    "gather": _gather,
    "scatter-add": _scatter_add,
    "scatter-set": _scatter_set,
    "scatter-max": _scatter_extremum(np.maximum),
    "scatter-min": _scatter_extremum(np.minimum),
    "take-along": _take_along,
    "put-along": _along(_set),
    "add-along": _along(np.add.at),
    "argsort": _argsort,
    "top-k": _top_k,
    "searchsorted": _searchsorted,
    "index-guard": _index_guard,
}
