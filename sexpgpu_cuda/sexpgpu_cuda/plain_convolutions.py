"""Convolutions by the kernel of products: of what windows see, the weights, cotangents; no copy of
it is made.

Forward: rows are places of the output, sums run over the window and the channels in. The input's
gradient: rows are places of the input, each sees the outputs whose windows had it. The weight's
gradient: rows are places of the window and channels in, sums run over all outputs, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sexpgpu_core.kernels.kernel import NodeCall, View

from .frame import Frame
from .tiled import Axis, Product, Window, multiplied

Strides = Sequence[int]


class Shape(NamedTuple):
    """A convolution's numbers. `step`, `spread`, `before`: stride, dilation and padding of each
    spatial axis; `taken`, `made`: channels in and out of a group."""

    groups: int
    taken: int
    made: int
    window: tuple[int, ...]
    step: tuple[int, ...]
    spread: tuple[int, ...]
    before: tuple[int, ...]


def plain_convolution(frame: Frame) -> None:
    call = frame.call
    if 0 not in call.outputs[0].shape:
        product = MADE[call.node.operation](call, _shape(call))
        multiplied(frame, "matmul", product)


def _shape(call: NodeCall) -> Shape:
    node = call.node
    kernel = node.get("kernel-shape") or call.inputs[1].shape
    groups = node.get("groups")
    return Shape(
        groups,
        kernel[-2],
        kernel[-1] // groups,
        tuple(kernel[:-2]),
        tuple(node.get("strides")),
        tuple(node.get("dilations")),
        tuple(p[0] for p in node.get("padding")),
    )


def _groups(shape: Shape, x: int, y: int, result: int) -> tuple[Axis, ...]:
    """A group's share of each operand, in elements."""
    return (Axis(shape.groups, {"x": x, "y": y, "result": result}),)


def _over(x: View, result: View, word: str) -> tuple[Axis, ...]:
    """The batch and the spatial axes of a picture; x has the batch, windows do the rest."""
    axes = range(1, len(result.shape) - 1)
    lead = Axis(result.shape[0], {"x": x.strides[0], word: result.strides[0]})
    return (lead, *(Axis(result.shape[a], {"x": 0, word: result.strides[a]}) for a in axes))


def _taps(w: View, shape: Shape, channels: Axis, word: str) -> tuple[Axis, ...]:
    """The window's axes, then channels."""
    found = [Axis(n, {"x": 0, word: s}) for n, s in zip(shape.window, w.strides)]
    return (*found, channels)


def _forward(call: NodeCall, shape: Shape) -> Product:
    (x, w), (out,) = call.inputs, call.outputs
    last, (_, into), outs = x.strides[-1], w.strides[-2:], out.strides[-1]
    channels = Axis(shape.taken, {"x": last, "y": w.strides[-2]})
    return Product(
        _groups(shape, shape.taken * last, shape.made * into, shape.made * outs),
        _over(x, out, "result"),
        _taps(w, shape, channels, "y"),
        Axis(shape.made, {"y": into, "result": outs}),
        _windows(x, shape),
        (1, 0),
    )


def _windows(x: View, shape: Shape, turned: bool = False) -> tuple[Window, ...]:
    """Where on each axis of the input an output's window looks; `turned`: rows are the window."""
    numbers = zip(shape.step, shape.spread, shape.before, x.shape[1:], x.strides[1:])
    return tuple(
        Window(d if turned else s, s if turned else d, -before, n, 1, stride)
        for s, d, before, n, stride in numbers
    )


def _to_input(call: NodeCall, shape: Shape) -> Product:
    (g, w), (out,) = call.inputs, call.outputs
    last, (own, into), outs = g.strides[-1], w.strides[-2:], out.strides[-1]
    numbers = zip(shape.step, shape.spread, shape.before, g.shape[1:], g.strides[1:])
    windows = (Window(1, -d, before, n, s, stride) for s, d, before, n, stride in numbers)
    return Product(
        _groups(shape, shape.made * last, shape.made * into, shape.taken * outs),
        _over(g, out, "result"),
        _taps(w, shape, Axis(shape.made, {"x": last, "y": into}), "y"),
        Axis(shape.taken, {"y": own, "result": outs}),
        tuple(windows),
        (1, 0),
    )


def _to_weight(call: NodeCall, shape: Shape) -> Product:
    (x, g), (out,) = call.inputs, call.outputs
    last, (own, into), channels = x.strides[-1], out.strides[-2:], g.strides[-1]
    return Product(
        _groups(shape, shape.taken * last, shape.made * channels, shape.made * into),
        _taps(out, shape, Axis(shape.taken, {"x": last, "result": own}), "result"),
        _over(x, g, "y"),
        Axis(shape.made, {"y": channels, "result": into}),
        _windows(x, shape, True),
        (0, 1),
    )


MADE: dict[str, Callable[[NodeCall, Shape], Product]] = {
    "conv": _forward,
    "conv-input-gradient": _to_input,
    "conv-weight-gradient": _to_weight,
}
