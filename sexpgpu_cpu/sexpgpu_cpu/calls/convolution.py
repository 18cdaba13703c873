"""conv and its gradients: pictures as they lie (see narrow.py), or tiles of rows gathered into a
matrix, multiplied by the emitted kernel.

Tiles and parts are fixed by shapes, so bits do not depend on threads (45.11).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sexpgpu_core.ir.types import WIDTH, Type

from ..host import host
from ..narrow import Narrow, narrow_unit, takes
from ..products import RATE, unit
from .frame import WIDE, Frame, row_major
from .geometry import Geometry, backward, forward

EXPORTED = ("rows", "weights", "spread", "fold")
TILE = 65536
"""Elements of a gathered tile: 256 KB of f32, which stays in L2."""
HEIGHT = (24, 384)
"""Fewest and most rows of a tile, multiples of the micro-kernel's height."""
PARTS = 8
"""Cells that a weight gradient is cut into, about."""
DEPTH = 48
"""Columns of the gathered matrix that a cell of a weight gradient takes, at least."""
HEAD = 256
"""Bytes of scratch before the matrix: the product's argument block."""


def conv(frame: Frame) -> None:
    x, w, out = *frame.call.inputs, frame.call.outputs[0]
    geometry = forward(x.shape[1:-1], out.shape[1:-1], w.shape[:-2], frame.node)
    dtype = _dtype(frame)
    _rows(frame, geometry, dtype, frame.input(1, dtype), x.shape[-1], out.shape)


def conv_input_gradient(frame: Frame) -> None:
    g, w = frame.call.inputs
    shape = frame.call.outputs[0].shape
    geometry = backward(g.shape[1:-1], shape[1:-1], w.shape[:-2], frame.node)
    dtype = _dtype(frame)
    made = _made(frame, geometry, dtype, g.shape[-1], shape[-1])
    if max(frame.attribute("strides")) > 1 and not takes(made, shape[0]):
        _spread(frame)
        return
    _rows(frame, geometry, dtype, _turned(frame, dtype), g.shape[-1], shape)


def _spread(frame: Frame) -> None:
    """With strides: no element of a gathered matrix is multiplied by nothing."""
    g, w = frame.call.inputs
    shape = frame.call.outputs[0].shape
    geometry = forward(shape[1:-1], g.shape[1:-1], w.shape[:-2], frame.node)
    dtype = _dtype(frame)
    groups = frame.attribute("groups")
    depth = geometry.places * w.shape[-2]
    total = math.prod(g.shape[1:-1])
    height = _height(depth, total)
    words = [*geometry.words(), frame.input(0, dtype), frame.input(1, dtype)]
    words += [frame.output(0, dtype), total, height, groups, shape[-1], g.shape[-1], 0, 0]
    words.append(math.prod(shape[1:]))
    scratch = HEAD + height * depth * WIDTH[dtype]
    _add(frame, "spread", dtype, words, shape[0], total * depth * g.shape[-1], scratch)


def _dtype(frame: Frame) -> str:
    dtype = frame.call.outputs[0].dtype
    return WIDE.get(dtype, dtype)


def _turned(frame: Frame, dtype: str) -> int:
    """w (k... i/group o) as (k... turned round, o/group, i): a dense copy."""
    view = frame.call.inputs[1]
    groups = frame.attribute("groups")
    window, (i, o) = view.shape[:-2], view.shape[-2:]
    *lead, step_i, step_o = view.strides
    shape = (*window, o // groups, groups, i)
    read = (*(-s for s in lead), step_o, o // groups * step_o, step_i)
    last = sum((n - 1) * s for n, s in zip(window, lead))
    room = frame.room(Type(dtype, shape).bytes)
    at = frame.at(view) + last * WIDTH[view.dtype]
    frame.strided(view.dtype, at, read, dtype, room, row_major(shape), shape)
    return room


def _rows(
    frame: Frame,
    geometry: Geometry,
    dtype: str,
    weights: int,
    channels: int,
    shape: tuple[int, ...],
) -> None:
    """result rows = gathered rows times weights (place channel/group given), the columns of groups
    beside each other."""
    groups = frame.attribute("groups")
    made = _made(frame, geometry, dtype, channels, shape[-1])
    if takes(made, shape[0]):
        _narrow(frame, made, weights, shape)
        return
    depth = geometry.places * channels // groups
    total = math.prod(shape[:-1])
    height = _height(depth, total)
    words = [*geometry.words(), frame.input(0, dtype), weights, frame.output(0, dtype), total]
    words += [height, groups, channels, shape[-1], 0, 0, shape[-1] // groups, shape[-1]]
    scratch = HEAD + height * depth * WIDTH[dtype]
    flops = min(height, total) * depth * shape[-1] / groups
    _add(frame, "rows", dtype, words, -(-total // height) * groups, flops, scratch)


def _narrow(frame: Frame, made: Narrow, weights: int, shape: tuple[int, ...]) -> None:
    """The same from padded pictures, without a matrix: a cell is a picture."""
    if made.across and made.given > 1:
        matrix, weights = weights, frame.room(made.depth * made.given * made.bytes)
        _swap(frame, made, matrix, weights, (made.depth, made.given))
    words = [frame.input(0, made.dtype), weights, frame.output(0, made.dtype), 0]
    seconds = math.prod(shape[1:]) * made.depth / RATE[made.dtype] + 1e-6
    scratch = {"scratch": made.scratch, "scratch_word": 3}
    frame.add(narrow_unit(made), "narrow", words, shape[0], seconds, **scratch)


def _swap(frame: Frame, made: Narrow, matrix: int, to: int, shape: tuple[int, int]) -> None:
    """Column after column of a matrix of a shape, to another place."""
    rows, columns = shape
    write = row_major((columns, rows))
    frame.strided(made.dtype, matrix, (1, columns), made.dtype, to, write, (columns, rows))


def _made(frame: Frame, geometry: Geometry, dtype: str, channels: int, given: int) -> Narrow:
    width = host().width if dtype == "f32" else max(2, host().width // 2)
    return Narrow(dtype, width, geometry, channels, given, frame.attribute("groups"))


def _narrow_weights(frame: Frame, made: Narrow) -> None:
    """Parts of the pictures, then their sum in order."""
    dtype = made.dtype
    (pictures, *_), shape = (v.shape for v in frame.call.inputs)
    per = -(-pictures // PARTS)
    parts = -(-pictures // per)
    output = frame.output(0, dtype)
    swapped = made.across and made.given > 1
    result = frame.room(made.depth * made.given * made.bytes) if swapped else output
    room, fold = _parts(frame, dtype, parts, result)
    words = [frame.input(0, dtype), frame.input(1, dtype), room, 0, pictures, per]
    seconds = per * math.prod(shape[1:]) * made.depth / RATE[dtype] + 1e-6
    scratch = {"scratch": made.scratch, "scratch_word": 3}
    frame.add(narrow_unit(made), "narrow_weights", words, parts, seconds, **scratch)
    fold()
    if swapped:
        _swap(frame, made, result, output, (made.given, made.depth))


def _parts(frame: Frame, dtype: str, parts: int, result: int) -> tuple[int, Callable[[], None]]:
    """Room for parts of the result, and what adds the work of their sum."""
    size = math.prod(frame.call.outputs[0].shape)
    if parts == 1:
        return result, lambda: None
    room = frame.room(parts * size * WIDTH[dtype])
    words = [room, result, size, parts]

    def fold() -> None:
        code = frame.unit("CONVOLUTION", EXPORTED, T=dtype)
        frame.add(code, "fold", words, -(-size // 1024), parts * 4e-7)

    return room, fold


def _height(depth: int, total: int) -> int:
    low, high = HEIGHT
    height = min(max(TILE // max(depth, 1), low), high) // 12 * 12
    return max(1, min(height, total))


def conv_weight_gradient(frame: Frame) -> None:
    x, g = frame.call.inputs
    shape = frame.call.outputs[0].shape
    geometry = forward(x.shape[1:-1], g.shape[1:-1], shape[:-2], frame.node)
    dtype = _dtype(frame)
    groups = frame.attribute("groups")
    made = _made(frame, geometry, dtype, x.shape[-1], g.shape[-1])
    if takes(made, x.shape[0]):
        _narrow_weights(frame, made)
        return
    lines = geometry.window[0] * geometry.window[1]
    width = geometry.window[2] * shape[-2]
    run = min(lines, -(-DEPTH // width))
    runs = -(-lines // run)
    total = math.prod(g.shape[:-1])
    height = _height(run * width, total)
    tiles = -(-total // height)
    parts = max(1, min(-(-PARTS // (runs * groups)), tiles))
    per = -(-tiles // parts)
    parts = -(-tiles // per)
    room, fold = _parts(frame, dtype, parts, frame.output(0, dtype))
    words = [*geometry.words(), frame.input(0, dtype), frame.input(1, dtype), room, total]
    words += [height, groups, x.shape[-1], g.shape[-1], 0, 0, parts, per, run, runs]
    words.append(height * run * width)
    scratch = HEAD + (height + g.shape[-1] // groups) * run * width * WIDTH[dtype]
    flops = per * height * run * width * g.shape[-1] / groups
    _add(frame, "weights", dtype, words, parts * runs * groups, flops, scratch)
    fold()


def _add(
    frame: Frame, name: str, dtype: str, words: list[int], cells: int, flops: float, scratch: int
) -> None:
    product = unit(dtype)
    seconds = flops / RATE[dtype] + 1e-6
    frame.add(
        frame.unit("CONVOLUTION", EXPORTED, T=dtype),
        name,
        words,
        cells,
        seconds,
        scratch=scratch,
        scratch_word=29,
        links=((30, product, product.names[0]),),
    )


def _of_some(lower: Callable[[Frame], None]) -> Callable[[Frame], None]:
    """A sum over no elements is 0."""

    def row(frame: Frame) -> None:
        if any(0 in view.shape for view in frame.call.inputs):
            frame.fill(0.0)
        else:
            lower(frame)

    return row


ROWS = {
    "conv": _of_some(conv),
    "conv-input-gradient": _of_some(conv_input_gradient),
    "conv-weight-gradient": _of_some(conv_weight_gradient),
}
