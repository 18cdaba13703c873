"""gather, scatter and their kin: additions in ascending position, columns shared out (45.13)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from .frame import WIDE, Frame, around, row_major

COLUMNS = 32
"""Columns of a scatter's cell: two cache lines of f32."""


def _reports(frame: Frame) -> int:
    return int(frame.attribute("out", "error") == "error")


def _gathered(frame: Frame) -> tuple[int, int, int, int, int]:
    """B, O, P, N, I of a gather: batch axes, axes before the axis, positions, axis, inner."""
    x, index = frame.call.inputs[0].shape, frame.call.inputs[1].shape
    axis, batch = frame.attribute("axis"), frame.attribute("batch-axes") or 0
    outer, size, inner = around(x, axis)
    lead = math.prod(x[:batch])
    return lead, outer // lead if lead else 0, math.prod(index[batch:]), size, inner


def gather(frame: Frame) -> None:
    lead, outer, places, size, inner = _gathered(frame)
    dtype, index = frame.call.inputs[0].dtype, frame.call.inputs[1].dtype
    unit = frame.unit("GATHER", ("gather",), T=dtype, J=index, ADD=False, SIDE=0)
    words = [frame.input(0), frame.input(1), frame.output(), outer, places, size, inner]
    words += [_reports(frame), 0]
    cells = lead * outer * places if inner else 0
    frame.add(unit, "gather", words, cells, 1e-8 + inner * 2e-10, error=8)


def _scatter(frame: Frame, add: bool = False, side: int = 0) -> None:
    """Sums, the greatest (side 1), the least (-1), or what was written last."""
    lead, outer, places, size, inner = _gathered(frame)
    dtype, index = frame.call.inputs[0].dtype, frame.call.inputs[1].dtype
    wide = WIDE.get(dtype, dtype) if add else dtype
    result = frame.output(0, wide)
    _start(frame, wide, result)
    unit = frame.unit("GATHER", ("scatter",), T=wide, J=index, ADD=add, SIDE=side)
    columns = min(inner, COLUMNS)
    blocks = -(-inner // columns) if columns else 0
    words = [frame.input(2, wide), frame.input(1), result, outer, places, size, inner]
    words += [_reports(frame), 0, columns, blocks]
    cells = lead * outer * blocks
    frame.add(unit, "scatter", words, cells, places * (5e-9 + columns * 3e-10), error=8)


def _start(frame: Frame, dtype: str, result: int) -> None:
    """The first operand copied to the result, which the rest changes."""
    view = frame.call.inputs[0]
    frame.strided(
        view.dtype,
        frame.at(view),
        view.strides,
        dtype,
        result,
        row_major(view.shape),
        view.shape,
    )


def take_along(frame: Frame) -> None:
    axis = frame.attribute("axis")
    outer, size, inner = around(frame.call.inputs[0].shape, axis)
    places = frame.call.inputs[1].shape[axis]
    dtype, index = frame.call.inputs[0].dtype, frame.call.inputs[1].dtype
    unit = frame.unit("GATHER", ("take_along",), T=dtype, J=index, ADD=False, SIDE=0)
    words = [frame.input(0), frame.input(1), frame.output(), outer, places, size, inner]
    words += [_reports(frame), 0]
    frame.add(unit, "take_along", words, outer * places, 4e-9 * (1 + inner), error=8)


def put_along(frame: Frame) -> None:
    _along(frame, add=False)


def add_along(frame: Frame) -> None:
    _along(frame, add=True)


def _along(frame: Frame, add: bool) -> None:
    axis = frame.attribute("axis")
    outer, size, inner = around(frame.call.inputs[0].shape, axis)
    places = frame.call.inputs[1].shape[axis]
    dtype, index = frame.call.inputs[0].dtype, frame.call.inputs[1].dtype
    wide = WIDE.get(dtype, dtype) if add else dtype
    result = frame.output(0, wide)
    _start(frame, wide, result)
    unit = frame.unit("GATHER", ("put_along",), T=wide, J=index, ADD=add, SIDE=0)
    words = [frame.input(2, wide), frame.input(1), result, outer, places, size, inner]
    words += [_reports(frame), 0]
    frame.add(unit, "put_along", words, outer, 4e-9 * places * (1 + inner), error=8)


ROWS: dict[str, Callable[[Frame], None]] = {
    "gather": gather,
    "scatter-add": partial(_scatter, add=True),
    "scatter-set": _scatter,
    "scatter-max": partial(_scatter, side=1),
    "scatter-min": partial(_scatter, side=-1),
    "take-along": take_along,
    "put-along": put_along,
    "add-along": add_along,
}
