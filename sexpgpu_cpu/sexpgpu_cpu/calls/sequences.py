"""Along one axis in order: argmax, running sums, sorting, searching."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from .frame import WIDE, Frame, around


def _extremum(frame: Frame, greatest: bool) -> None:
    view = frame.call.inputs[0]
    outer, size, inner = around(view.shape, frame.attribute("axis"))
    dtype, result = view.dtype, frame.call.outputs[0].dtype
    unit = frame.unit("SCAN", ("extremum",), T=dtype, U=result, GREATEST=greatest, KIND=0)
    words = [frame.input(0), frame.output(), size, inner]
    frame.add(unit, "extremum", words, outer * inner, size * 1e-9)


def _running(frame: Frame, kind: int) -> None:
    view = frame.call.inputs[0]
    outer, size, inner = around(view.shape, frame.attribute("axis"))
    dtype = WIDE.get(view.dtype, view.dtype)
    unit = frame.unit("SCAN", ("running",), T=dtype, U="i64", GREATEST=True, KIND=kind)
    flags = [int(bool(frame.attribute(name))) for name in ("reverse", "exclusive")]
    words = [frame.input(0, dtype), frame.output(0, dtype), size, inner, *flags]
    frame.add(unit, "running", words, outer * inner, size * 2e-9)


def _order(frame: Frame, descending: bool, values: bool) -> None:
    """argsort: indices; top-k: values and indices."""
    view = frame.call.inputs[0]
    outer, size, inner = around(view.shape, frame.attribute("axis"))
    wanted = frame.attribute("k", size) if values else size
    unit = frame.unit("SORT", ("order", "search"), T=view.dtype, U="i32", DESCENDING=descending)
    indices = frame.output(1 if values else 0)
    words = [frame.input(0), indices, frame.output(0) if values else 0, size, inner, wanted, 0]
    seconds = size * (math.log2(size + 1) + 1) * 4e-9
    frame.add(
        unit, "order", words, outer * inner, seconds, scratch=24 * max(size, 1), scratch_word=6
    )


def _argsort(frame: Frame) -> None:
    _order(frame, bool(frame.attribute("descending")), values=False)


def _top_k(frame: Frame) -> None:
    _order(frame, not frame.attribute("smallest"), values=True)


def _search(frame: Frame) -> None:
    edges, x = frame.call.inputs
    unit = frame.unit("SORT", ("order", "search"), T=x.dtype, U="i32", DESCENDING=False)
    size = edges.shape[-1]
    row = 0 if len(edges.shape) == 1 else size
    last = x.shape[-1] if x.shape else 1
    right = int(bool(frame.attribute("right")))
    words = [frame.input(0), frame.input(1), frame.output(), size, max(last, 1), row, right]
    frame.add(unit, "search", words, math.prod(x.shape), 2e-9 * (size + 2).bit_length())


ROWS: dict[str, Callable[[Frame], None]] = {
    "argmax": partial(_extremum, greatest=True),
    "argmin": partial(_extremum, greatest=False),
    "cumsum": partial(_running, kind=0),
    "cumprod": partial(_running, kind=1),
    "cummax": partial(_running, kind=2),
    "cummin": partial(_running, kind=3),
    "argsort": _argsort,
    "top-k": _top_k,
    "searchsorted": _search,
}
