"""Matrix products that cuBLASLt has not, of integers: a thread has an element of the result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from sexpgpu_core.kernels import elements
from sexpgpu_core.kernels.target import Register, memory_kind, register_kind

from .frame import Frame
from .target import PtxTarget
from .written import Written, items, launch

OPERANDS = ("x", "y", "result")


class Product(NamedTuple):
    """`batch`: axes before the rows."""

    dtype: str
    batch: int


def _offset(t: PtxTarget, r: Mapping[str, Register], name: str, at: list[Register]) -> Register:
    found = t.constant("i32", 0)
    for axis, index in enumerate(at):
        found = t.binary("add", found, t.binary("mul", index, r[f"{name}_{axis}"]))
    return found


def _multiplied(t: PtxTarget, form: Product, r: Mapping[str, Register]) -> None:
    rest, kind = items(t, r["items"]), memory_kind(form.dtype)
    at: list[Register] = []
    for axis in reversed(range(form.batch + 2)):
        at.insert(0, t.binary("urem", rest, r[f"size_{axis}"]))
        rest = t.binary("udiv", rest, r[f"size_{axis}"])
    zero = t.constant("i32", 0)
    *batch, row, column = at
    x = _offset(t, r, "x", [*batch, row, zero])
    y = _offset(t, r, "y", [*batch, zero, column])
    steps = r[f"x_{form.batch + 1}"], r[f"y_{form.batch}"]

    def add(k: Register, total: Register) -> list[Register]:
        pair = []
        for name, start, step in (("x", x, steps[0]), ("y", y, steps[1])):
            place = t.binary("add", start, t.binary("mul", k, step))
            pair.append(elements.load(t, t.address(r[name], place, kind), form.dtype, 1))
        product = elements.element(t, "multiply", form.dtype, form.dtype, pair)
        return [elements.element(t, "add", form.dtype, form.dtype, [total, product])]

    start = t.constant(register_kind(form.dtype), 0)
    total = t.repeat(r["inner"], [start], add)[0]
    place = t.address(r["result"], _offset(t, r, "result", at), kind)
    t.store(elements.to_memory(t, form.dtype, total), place)


def _kernel(batch: int) -> Written:
    axes = range(batch + 2)
    names = [f"size_{a}" for a in axes] + [f"{o}_{a}" for o in OPERANDS for a in axes]
    return Written(_multiplied, OPERANDS, ("items", "inner", *names))


def multiplied(frame: Frame, turns: tuple[bool, bool]) -> None:
    """A launch for a product of two operands, whatever their strides."""
    shape = frame.call.outputs[0].shape
    batch = len(shape) - 2
    strides = []
    for view, turned in zip(frame.call.inputs, turns):
        lead = batch - (len(view.shape) - 2)
        own = [0 if n == 1 else s for n, s in zip(view.shape[:-2], view.strides)]
        last = view.strides[:-3:-1] if turned else view.strides[-2:]
        strides.append([*[0] * lead, *own, *last])
    strides.append([*frame.call.outputs[0].strides])
    inner = frame.call.inputs[0].shape[-2 if turns[0] else -1]
    numbers = (math.prod(shape), inner, *shape, *(s for row in strides for s in row))
    sides = tuple((frame.side(v), False) for v in frame.call.inputs)
    sides = (*sides, (frame.output(0), True))
    form = Product(frame.call.outputs[0].dtype, batch)
    launch(frame, _kernel(batch), form, sides, numbers)
