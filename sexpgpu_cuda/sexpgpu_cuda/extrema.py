"""argmax and argmin as kernels: the extremum of a row, then the first place that has it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sexpgpu_core.ir.types import is_float
from sexpgpu_core.kernels.kernel import Access, Expr, Kernel, Operand, Store

from .frame import Frame
from .indexing import around
from .kernels import launched
from .work import Applied


def extremum_kernel(dtype: str, result: str, size: int, strided: bool, word: str) -> Kernel:
    """NaN is beyond every number, as in a reduction."""
    x = [Expr("load", (), dtype, access=0), Expr(f"reduce-{word}", (0,), dtype)]
    x.append(Expr("equal", (0, 1), "bool"))
    hit = 2
    if is_float(dtype):
        x += [Expr("is-nan", (0,), "bool"), Expr("is-nan", (1,), "bool")]
        x += [Expr("logical-and", (3, 4), "bool"), Expr("logical-or", (2, 5), "bool")]
        hit = 6
    at = len(x)
    x += [Expr("inner-index", (), "i32"), Expr("literal", (), "i32", literal=size)]
    x += [Expr("where", (hit, at, at + 1), "i32"), Expr("reduce-min", (at + 2,), "i32")]
    x.append(Expr("cast", (at + 3,), result))
    along = 0 if size == 1 else (2 if strided else 1)
    return Kernel(
        size,
        False,
        (Operand(dtype), Operand(result, True)),
        (Access(0, along), Access(1, 0)),  # type: ignore[arg-type]
        (),
        tuple(x),
        (Store(1, len(x) - 1),),
    )


def extremum(frame: Frame, word: str) -> None:
    view = frame.call.inputs[0]
    outer, size, inner = around(view.shape, frame.attribute("axis"))
    source, result = frame.dense(0), frame.output(0)
    kernel = extremum_kernel(view.dtype, result.dtype, size, inner > 1, word)
    places = (source.place((0, size * inner, 1), inner), result.place((0, inner, 1)))
    spans = (source.span(False), result.span(True))
    found = Applied(kernel, (1, outer, inner), places, spans)
    frame.records += launched(found, frame.places, frame.number, frame.commit)


ROWS: dict[str, Callable[[Frame], None]] = {
    "argmax": partial(extremum, word="max"),
    "argmin": partial(extremum, word="min"),
}
