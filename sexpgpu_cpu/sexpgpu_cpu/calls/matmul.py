"""matmul: a product of views as they lie; copies only where no axis of an operand is contiguous."""

from __future__ import annotations

from sexpgpu_core.ir.types import WIDTH
from sexpgpu_core.kernels.kernel import View

from ..products import Product, matrix, oriented, product_work
from .frame import WIDE, Frame, row_major


def matmul(frame: Frame) -> None:
    dtype = frame.call.outputs[0].dtype
    if dtype in ("f32", "f64"):
        _real(frame, dtype)
    elif dtype in WIDE:
        _real(frame, WIDE[dtype])
    else:
        _integers(frame)


def _real(frame: Frame, dtype: str) -> None:
    product = oriented(_product(frame, dtype, copied=False))
    if product is None or _views_differ(frame, dtype):
        product = oriented(_product(frame, dtype, copied=True))
    assert product is not None
    for work in product_work(product, frame.number, frame.call.commit, frame.common):
        if work.cells:
            frame.works.append(work)


def _views_differ(frame: Frame, dtype: str) -> bool:
    return any(v.dtype != dtype for v in (*frame.call.inputs, *frame.call.outputs))


def _product(frame: Frame, dtype: str, copied: bool) -> Product:
    call = frame.call
    turns = bool(frame.attribute("transpose-x")), bool(frame.attribute("transpose-y"))
    out = call.outputs[0]
    batch = out.shape[:-2]
    size = WIDTH[dtype]
    views = [*call.inputs, out]
    addresses = [frame.places.address(v.storage) for v in views]
    if copied:
        addresses = [frame.input(0, dtype), frame.input(1, dtype), frame.output(0, dtype)]
        views = [View(0, dtype, v.shape, row_major(v.shape)) for v in views]
    a, b = (matrix(v, p, size, batch, t) for v, p, t in zip(views, addresses, turns))
    c = matrix(views[2], addresses[2], size, batch, False)
    m, n = out.shape[-2:]
    k = views[0].shape[-2 if turns[0] else -1]
    return Product(dtype, batch, m, n, k, a, b, c)


def _integers(frame: Frame) -> None:
    dtype = frame.call.outputs[0].dtype
    p = _product(frame, dtype, copied=False)
    unit = frame.unit("PRODUCT", ("product",), T=dtype)
    strides = [x for q in (p.a, p.b, p.c) for x in (q.row, q.column)]
    size = WIDTH[dtype]
    for offsets in _batches(p):
        at = [q.address + o * size for q, o in zip((p.a, p.b, p.c), offsets)]
        frame.add(unit, "product", [*at, p.m, p.n, p.k, *strides], p.m, p.n * p.k * 2e-9)


def _batches(p: Product) -> list[tuple[int, int, int]]:
    """Offsets in elements of every product of the batch."""
    found = [(0, 0, 0)]
    for n, x, y, z in zip(p.batch, p.a.batch, p.b.batch, p.c.batch):
        found = [(a + i * x, b + i * y, c + i * z) for a, b, c in found for i in range(n)]
    return found


ROWS = {"matmul": matmul}
