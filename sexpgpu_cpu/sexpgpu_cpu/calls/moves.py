"""Moves that fusion leaves to the device: tables, joins, padding, copies of a region."""

from __future__ import annotations

import math

from sexpgpu_core.ir.types import WIDTH

from .frame import Frame, row_major


def table(frame: Frame) -> None:
    """Constant data, kept beside the arena and copied where it is used."""
    view = frame.call.outputs[0]
    data = frame.places.constant(frame.attribute("values"), view.dtype)
    strides = row_major(view.shape)
    frame.strided(view.dtype, data, strides, view.dtype, frame.at(view), view.strides, view.shape)


def concat(frame: Frame) -> None:
    axis, out = frame.attribute("axis"), frame.call.outputs[0]
    start = 0
    for view in frame.call.inputs:
        to = frame.at(out) + start * out.strides[axis] * WIDTH[out.dtype]
        frame.strided(
            view.dtype, frame.at(view), view.strides, out.dtype, to, out.strides, view.shape
        )
        start += view.shape[axis]


def pad(frame: Frame) -> None:
    """Everything filled, then the operand in its place."""
    view, out = frame.call.inputs[0], frame.call.outputs[0]
    frame.fill(frame.attribute("value", 0))
    size = WIDTH[out.dtype]
    inside = frame.attribute("interior") or (0,) * len(out.shape)
    strides = tuple(s * (1 + i) for s, i in zip(out.strides, inside))
    first = sum(p * s for p, s in zip(frame.attribute("low"), out.strides))
    to = frame.at(out) + first * size
    frame.strided(view.dtype, frame.at(view), view.strides, out.dtype, to, strides, view.shape)


def slice_set(frame: Frame) -> None:
    """x with y written from `starts` on."""
    x, y = frame.call.inputs
    out = frame.call.outputs[0]
    frame.strided(x.dtype, frame.at(x), x.strides, out.dtype, frame.at(out), out.strides, x.shape)
    first = sum(p * s for p, s in zip(frame.attribute("starts"), out.strides))
    to = frame.at(out) + first * WIDTH[out.dtype]
    frame.strided(y.dtype, frame.at(y), y.strides, out.dtype, to, out.strides, y.shape)


def flip(frame: Frame) -> None:
    view, out = frame.call.inputs[0], frame.call.outputs[0]
    turned = set(frame.attribute("axes"))
    first = sum((view.shape[a] - 1) * view.strides[a] for a in turned)
    strides = tuple(-s if a in turned else s for a, s in enumerate(view.strides))
    at = frame.at(view) + first * WIDTH[view.dtype]
    frame.strided(view.dtype, at, strides, out.dtype, frame.at(out), out.strides, view.shape)


def copy(frame: Frame) -> None:
    """The operand, dense or not, at the result's place."""
    view, out = frame.call.inputs[0], frame.call.outputs[0]
    if math.prod(view.shape):
        frame.strided(
            view.dtype,
            frame.at(view),
            view.strides,
            out.dtype,
            frame.at(out),
            out.strides,
            view.shape,
        )


ROWS = {
    "table": table,
    "concat": concat,
    "pad": pad,
    "slice-set": slice_set,
    "flip": flip,
    "copy": copy,
}
