"""Pooling and its gradients over (b n... c): channels are the inner loop."""

from __future__ import annotations

import math
from typing import Any

from sexpgpu_core.ir.types import FLOATS, WIDTH

from .frame import WIDE, Frame
from .geometry import backward, forward

EXPORTED = {"MAXIMA": ("greatest", "greatest_gradient"), "MEANS": ("mean", "mean_gradient")}


def _least(dtype: str) -> dict[str, float]:
    """What every element is above, or equal to; and zero."""
    if dtype in FLOATS:
        return {"LEAST": float("-inf"), "ZERO": 0.0}
    return {"LEAST": 0 if dtype[0] == "u" else -(1 << (8 * WIDTH[dtype] - 1)), "ZERO": 0}


def _add(
    frame: Frame, name: str, dtype: str, words: list[int], cells: int, each: float, **more: Any
) -> None:
    family = "MAXIMA" if name in EXPORTED["MAXIMA"] else "MEANS"
    constants = _least(dtype) if family == "MAXIMA" else {}
    unit = frame.unit(family, EXPORTED[family], T=dtype, **constants)
    frame.add(unit, name, words, cells, each * 6e-10 + 1e-8, **more)


def max_pool(frame: Frame) -> None:
    x, out = frame.call.inputs[0], frame.call.outputs[0]
    geometry = forward(x.shape[1:-1], out.shape[1:-1], frame.attribute("sizes"), frame.node)
    words = [*geometry.words(), frame.input(0), frame.output(), x.shape[-1]]
    each = out.shape[-2] * geometry.places * x.shape[-1]
    _add(frame, "greatest", x.dtype, words, math.prod(out.shape[:-2]), each)


def max_pool_gradient(frame: Frame) -> None:
    x, g = frame.call.inputs
    geometry = forward(x.shape[1:-1], g.shape[1:-1], frame.attribute("sizes"), frame.node)
    dtype = WIDE.get(x.dtype, x.dtype)
    windows, size = math.prod(g.shape[1:-1]), math.prod(x.shape[1:])
    read, given = (frame.input(i, dtype) for i in (0, 1))
    words = [*geometry.words(), read, frame.output(0, dtype), x.shape[-1], given, size, 0]
    each = windows * geometry.places * x.shape[-1] * 2
    room = {"scratch": 16 * max(x.shape[-1], 1), "scratch_word": 26}
    _add(frame, "greatest_gradient", dtype, words, x.shape[0], each, **room)


def avg_pool(frame: Frame) -> None:
    x, out = frame.call.inputs[0], frame.call.outputs[0]
    sizes = frame.attribute("sizes")
    geometry = forward(x.shape[1:-1], out.shape[1:-1], sizes, frame.node)
    dtype = WIDE.get(x.dtype, x.dtype)
    words = [*geometry.words(), frame.input(0, dtype), frame.output(0, dtype), x.shape[-1]]
    words.append(_divisor(frame))
    each = geometry.places * x.shape[-1]
    _add(frame, "mean", dtype, words, math.prod(out.shape[:-1]), each)


def avg_pool_gradient(frame: Frame) -> None:
    g, out = frame.call.inputs[0], frame.call.outputs[0]
    sizes, shape = frame.attribute("sizes"), out.shape
    # Mean has no order that turning round the window could change, but its places must agree.
    geometry = backward(g.shape[1:-1], shape[1:-1], sizes, frame.node)
    pooling = forward(shape[1:-1], g.shape[1:-1], sizes, frame.node)
    dtype = WIDE.get(g.dtype, g.dtype)
    words = [*geometry.words(), frame.input(0, dtype), frame.output(0, dtype), g.shape[-1]]
    words += [_divisor(frame), frame.places.constant(pooling.words(), "i64")]
    each = geometry.places * g.shape[-1] * 2
    _add(frame, "mean_gradient", dtype, words, math.prod(shape[:-1]), each)


def _divisor(frame: Frame) -> int:
    """All places of the window where padding counts; 0: the places inside."""
    return math.prod(frame.attribute("sizes")) if frame.attribute("count-padding") else 0


ROWS = {
    "max-pool": max_pool,
    "max-pool-gradient": max_pool_gradient,
    "avg-pool": avg_pool,
    "avg-pool-gradient": avg_pool_gradient,
}
