"""Matrix products by a kernel of ours: whatever their dtype, strides and end."""

from __future__ import annotations

from sexpgpu_core.kernels.kernel import View

from .frame import Frame
from .tiled import Axis, Product, multiplied
from .tiles import pointers


def plain_product(frame: Frame, turns: tuple[bool, bool]) -> None:
    """`turns`: which operands are taken transposed."""
    call, operation = frame.call, frame.call.node.operation
    *sizes, m, n = call.outputs[0].shape
    names = pointers(operation)
    views = dict(zip(names, (*call.inputs, *call.outputs)))
    turned = dict(zip(names, turns))
    strides = {k: _strides(v, len(sizes) + 2, turned.get(k, False)) for k, v in views.items()}
    inner = call.inputs[0].shape[-2 if turns[0] else -1]
    rows = {k: s[-2] for k, s in strides.items() if k != "y"}
    columns = {k: s[-1] for k, s in strides.items() if k != "x"}
    batch = (Axis(size, {k: s[a] for k, s in strides.items()}) for a, size in enumerate(sizes))
    shared = Axis(inner, {"x": strides["x"][-1], "y": strides["y"][-2]})
    product = Product(tuple(batch), (Axis(m, rows),), (shared,), Axis(n, columns))
    multiplied(frame, operation, product)


def _strides(view: View, rank: int, turned: bool) -> tuple[int, ...]:
    """Over the batch, rows and columns; 0 where it is broadcast."""
    *lead, rows, columns = (0,) * (rank - len(view.shape)) + view.strides
    sizes = (1,) * (rank - len(view.shape)) + view.shape
    own = (0 if n == 1 else s for n, s in zip(sizes, lead))
    return (*own, columns, rows) if turned else (*own, rows, columns)
