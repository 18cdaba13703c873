"""gather and take-along as kernels with indexed accesses.

An index outside is reported, or reads 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from sexpgpu_core.kernels.kernel import Access, Expr, Kernel, Operand, Store

from .frame import Frame
from .kernels import launched
from .work import Applied

THREADS = 128


def around(shape: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    """Elements before an axis, on it, after it."""
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


class Sizes(NamedTuple):
    """Of a gather: batch axes, axes before the axis, positions, the axis, what is inside."""

    lead: int
    outer: int
    places: int
    size: int
    inner: int


def sizes(frame: Frame) -> Sizes:
    x, index = frame.call.inputs[0].shape, frame.call.inputs[1].shape
    axis, batch = frame.attribute("axis"), frame.attribute("batch-axes", 0)
    outer, size, inner = around(x, axis)
    lead = math.prod(x[:batch])
    return Sizes(lead, outer // lead if lead else 0, math.prod(index[batch:]), size, inner)


def reports(frame: Frame) -> bool:
    return bool(frame.attribute("out", "error") == "error")


def read_kernel(dtype: str, index: str, size: int, inner: int, along: bool, told: bool) -> Kernel:
    """Operands x, index, result. `along`: an index an element, else one a row."""
    one = 1 if inner > 1 else 0
    x = [Expr("load", (), index, access=1), Expr("cast", (0,), "i64")]
    x.append(Expr("literal", (), "i64", literal=size))
    if told:
        x.append(Expr("guard", (1, 2), "i64"))
        x.append(Expr("load", (), dtype, access=0))
    else:
        x += [Expr("bitcast", (e,), "u64") for e in (1, 2)]
        x += [Expr("less", (3, 4), "bool"), Expr("literal", (), "i64", literal=0)]
        x.append(Expr("where", (5, 1, 6), "i64"))
        x += [Expr("load", (), dtype, access=0), Expr("literal", (), dtype, literal=0)]
        x.append(Expr("where", (5, 8, 9), dtype))
    guarded = 3 if told else 7
    return Kernel(
        inner,
        False,
        (Operand(dtype), Operand(index), Operand(dtype, True)),
        (
            Access(0, one, guarded),  # type: ignore[arg-type]
            Access(1, one if along else 0),  # type: ignore[arg-type]
            Access(2, one),  # type: ignore[arg-type]
        ),
        (),
        tuple(x),
        (Store(2, len(x) - 1),),
    )


def _read(
    frame: Frame, kernel: Kernel, outer: tuple[int, int, int], strides: list[tuple[int, int, int]],
    inner: int,
) -> None:  # fmt: skip
    sides = (frame.dense(0), frame.dense(1), frame.output(0))
    places = tuple(s.place(at, inner) for s, at in zip(sides, strides))
    spans = (sides[0].span(False), sides[1].span(False), sides[2].span(True))
    found = Applied(kernel, outer, places, spans)
    frame.records += launched(found, frame.places, frame.number, frame.commit)


def gather(frame: Frame) -> None:
    lead, outer, places, size, inner = sizes(frame)
    x, index = frame.call.inputs[0].dtype, frame.call.inputs[1].dtype
    kernel = read_kernel(x, index, size, inner, False, reports(frame))
    row = size * inner
    strides = [
        (outer * row, row, 0),
        (places, 0, 1),
        (outer * places * inner, places * inner, inner),
    ]
    _read(frame, kernel, (lead, outer, places), strides, inner)


def take_along(frame: Frame) -> None:
    axis = frame.attribute("axis")
    outer, size, inner = around(frame.call.inputs[0].shape, axis)
    places = frame.call.inputs[1].shape[axis]
    x, index = frame.call.inputs[0].dtype, frame.call.inputs[1].dtype
    kernel = read_kernel(x, index, size, inner, True, reports(frame))
    strides = [(0, size * inner, 0), (0, places * inner, inner), (0, places * inner, inner)]
    _read(frame, kernel, (1, outer, places), strides, inner)


ROWS: dict[str, Callable[[Frame], None]] = {"gather": gather, "take-along": take_along}
