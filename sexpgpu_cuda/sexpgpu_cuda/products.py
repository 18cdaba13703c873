"""Matrix products: cuBLASLt's calls, whose stand-in on the CPU is NumPy's product.

16-bit floats are multiplied and summed in f32 and rounded once, as the library does it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_core.kernels.kernel import View

from .frame import WIDE, Frame
from .memory import Arena
from .work import LibraryCall


def matmul(frame: Frame) -> None:
    turns = bool(frame.attribute("transpose-x")), bool(frame.attribute("transpose-y"))
    views = (*frame.call.inputs, frame.call.outputs[0])
    if 0 in views[2].shape:
        return
    sides = [frame.side(v) for v in views]
    spans = tuple(s.span(k == 2) for k, s in enumerate(sides))
    addresses = tuple(s.address for s in sides)
    frame.records.append(
        LibraryCall("matmul", _product(views, turns), addresses, spans, frame.number, frame.commit)
    )


def _product(views: tuple[View, ...], turns: tuple[bool, bool]) -> Callable[..., None]:
    def run(arena: Arena, *addresses: int) -> None:
        import numpy as np

        a, b, out = (_array(arena, at, view) for at, view in zip(addresses, views))
        a, b = (np.swapaxes(x, -1, -2) if t else x for x, t in zip((a, b), turns))
        if views[2].dtype in WIDE:
            a, b = a.astype(np.float32), b.astype(np.float32)
        out[...] = np.matmul(a, b).astype(out.dtype)

    return run


def _array(arena: Arena, address: int, view: View) -> Any:
    return arena.strided(address, numpy_dtype(view.dtype), view.shape, view.strides)


ROWS = {"matmul": matmul}
