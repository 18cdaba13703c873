"""Copies between views as kernels, and the moves that are made of them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sexpgpu_core.ir.types import WIDTH
from sexpgpu_core.kernels.kernel import Access, Expr, Kernel, Operand, Store

from .frame import Frame, Side, row_major
from .kernels import launched
from .work import Applied, Launch, Span

Axes = list[tuple[int, int, int]]
"""(size, step of the source, step of the target), from the outermost."""


def copied(frame: Frame, source: Side, target: Side, shape: tuple[int, ...]) -> None:
    """Every element of a shape from one side to the other, cast where dtypes differ."""
    axes = merged([(n, a, b) for n, a, b in zip(shape, source.strides, target.strides)])
    if 0 not in shape:
        frame.records += list(_copies(frame, source, target, axes))


def merged(axes: Axes) -> Axes:
    """Axes of one element dropped, neighbours joined."""
    found: Axes = []
    for n, a, b in axes:
        if n == 1:
            continue
        if found and found[-1][1:] == (n * a, n * b):
            found[-1] = (found[-1][0] * n, a, b)
        else:
            found.append((n, a, b))
    return found


def _copies(frame: Frame, source: Side, target: Side, axes: Axes) -> Iterator[Launch]:
    inner = axes.pop()[0] if axes and axes[-1][1:] == (1, 1) else 1
    if inner > 4096 and inner % 1024 == 0:  # a thread has a vector: rows need not be long
        axes, inner = [*axes, (inner // 1024, 1024, 1024)], 1024
    if len(axes) > 3:
        n, a, b = axes[0]
        rest: Axes = [*axes[1:], (inner, 1, 1)]
        for i in range(n):
            yield from _copies(frame, source.moved(i * a), target.moved(i * b), list(rest))
        return
    outer = [(1, 0, 0)] * (3 - len(axes)) + axes
    kernel = copy_kernel(source.dtype, target.dtype, inner)
    sizes = (outer[0][0], outer[1][0], outer[2][0])
    places = (
        source.place((outer[0][1], outer[1][1], outer[2][1])),
        target.place((outer[0][2], outer[1][2], outer[2][2])),
    )
    spans = (source.span(False), target.span(True))
    found = Applied(kernel, sizes, places, spans)
    yield from launched(found, frame.places, frame.number, frame.commit)


def copy_kernel(given: str, dtype: str, inner: int) -> Kernel:
    one = 1 if inner > 1 else 0
    expressions = [Expr("load", (), given, access=0)]
    if given != dtype:
        expressions.append(Expr("cast", (0,), dtype))
    return Kernel(
        inner,
        False,
        (Operand(given), Operand(dtype, True)),
        (Access(0, one), Access(1, one)),  # type: ignore[arg-type]
        (),
        tuple(expressions),
        (Store(1, len(expressions) - 1),),
    )


def filled(frame: Frame, side: Side, count: int, value: float) -> None:
    """Dense elements, all of one value."""
    inner = math.gcd(count, 1024)
    one = 1 if inner > 1 else 0
    kernel = Kernel(
        inner,
        False,
        (Operand(side.dtype, True),),
        (Access(0, one),),  # type: ignore[arg-type]
        (side.dtype,),
        (Expr("uniform", (), side.dtype, slot=0),),
        (Store(0, 0),),
    )
    place = side.place((0, 0, inner))
    found = Applied(kernel, (1, 1, count // inner), (place,), (side.span(True),), (value,))
    frame.records += launched(found, frame.places, frame.number, frame.commit)


def table(frame: Frame) -> None:
    out = frame.output(0)
    values = frame.attribute("values")
    address = frame.places.data(values, out.dtype)
    size = WIDTH[out.dtype] * len(values)
    source = Side(
        out.dtype, address, row_major(frame.shape(0)), Span(address, address + size, False)
    )
    copied(frame, source, out, frame.shape(0))


def concat(frame: Frame) -> None:
    axis, out, start = frame.attribute("axis"), frame.output(0), 0
    for k, view in enumerate(frame.call.inputs):
        copied(frame, frame.input(k), out.moved(start * out.strides[axis]), view.shape)
        start += view.shape[axis]


def pad(frame: Frame) -> None:
    """Everything filled, then the operand in its place."""
    view, out = frame.call.inputs[0], frame.output(0)
    filled(frame, out, math.prod(frame.shape(0)), frame.attribute("value", 0))
    inside = frame.attribute("interior") or (0,) * len(view.shape)
    strides = tuple(s * (1 + i) for s, i in zip(out.strides, inside))
    first = sum(p * s for p, s in zip(frame.attribute("low"), out.strides))
    copied(frame, frame.input(0), out.moved(first)._replace(strides=strides), view.shape)


def slice_set(frame: Frame) -> None:
    """x with y written from `starts` on."""
    x, y = frame.call.inputs
    out = frame.output(0)
    copied(frame, frame.input(0), out, x.shape)
    first = sum(p * s for p, s in zip(frame.attribute("starts"), out.strides))
    copied(frame, frame.input(1), out.moved(first), y.shape)


def flip(frame: Frame) -> None:
    view, turned = frame.call.inputs[0], set(frame.attribute("axes"))
    first = sum((view.shape[a] - 1) * view.strides[a] for a in turned)
    strides = tuple(-s if a in turned else s for a, s in enumerate(view.strides))
    source = frame.input(0).moved(first)._replace(strides=strides)
    copied(frame, source, frame.output(0), view.shape)


def copy(frame: Frame) -> None:
    copied(frame, frame.input(0), frame.output(0), frame.call.inputs[0].shape)


ROWS = {
    "table": table,
    "concat": concat,
    "pad": pad,
    "slice-set": slice_set,
    "flip": flip,
    "copy": copy,
}
