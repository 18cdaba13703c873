"""Matrix products of a plan to work: views to strides of the emitted kernel or of a BLAS."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from pathlib import Path

from sexpgpu_core.ir.types import WIDTH
from sexpgpu_core.kernels.kernel import View
from sexpgpu_core.records import NamedTuple

from .blas import Provider, provider
from .blas_source import BLAS
from .compilation import ModuleText
from .gemm_shape import cells, grid, packed_grid, panels, prepacked, shape_for
from .host import host
from .loader import CodeUnit, unit_key
from .native.unit import files_digest, native_unit
from .work import Work

RATE = {"f32": 45e9, "f64": 20e9}
"""Multiply-adds a second of one core, about."""

PACK = 0.2e-9
"""Seconds to pack an element, about."""


class Matrix(NamedTuple):
    """One operand: address, strides of its rows and columns and of up to three batch axes, in
    elements."""

    address: int
    row: int
    column: int
    batch: tuple[int, ...]


class Product(NamedTuple):
    """C[b, i, j] = sum over k of A[b, i, k] B[b, k, j]."""

    dtype: str
    batch: tuple[int, ...]
    m: int
    n: int
    k: int
    a: Matrix
    b: Matrix
    c: Matrix

    @property
    def turned(self) -> Product:
        """The same numbers as C^T = B^T A^T."""
        return self._replace(
            m=self.n, n=self.m, a=_transpose(self.b), b=_transpose(self.a), c=_transpose(self.c)
        )


def _transpose(x: Matrix) -> Matrix:
    return x._replace(row=x.column, column=x.row)


def matrix(view: View, address: int, itemsize: int, batch: tuple[int, ...], turn: bool) -> Matrix:
    """A view's last two axes (exchanged if `turn`), its other axes broadcast to `batch`."""
    *outer, row, column = view.strides
    sizes = view.shape[:-2]
    missing = len(batch) - len(sizes)
    strides = [0] * missing + [0 if n == 1 else s for n, s in zip(sizes, outer)]
    if turn:
        row, column = column, row
    return Matrix(address + view.offset * itemsize, row, column, tuple(strides))


def merged(product: Product) -> Product:
    """Batch axes of size 1 dropped, neighbours joined, rows continued, where the operands allow."""
    axes: list[tuple[int, int, int, int]] = []
    for n, x, y, z in zip(product.batch, product.a.batch, product.b.batch, product.c.batch):
        if n == 1:
            continue
        if axes and axes[-1][1:] == (n * x, n * y, n * z):
            axes[-1] = (axes[-1][0] * n, x, y, z)
        else:
            axes.append((n, x, y, z))
    while axes and _more_rows(product, axes[-1]):
        n = axes.pop()[0]
        product = product._replace(m=product.m * n)
    columns = list(zip(*axes)) if axes else [(), (), (), ()]
    return product._replace(
        batch=tuple(columns[0]),
        a=product.a._replace(batch=tuple(columns[1])),
        b=product.b._replace(batch=tuple(columns[2])),
        c=product.c._replace(batch=tuple(columns[3])),
    )


def _more_rows(product: Product, axis: tuple[int, int, int, int]) -> bool:
    """Whether a batch axis only continues the rows: B is the same for all of it."""
    _, a, b, c = axis
    return b == 0 and a == product.m * product.a.row and c == product.m * product.c.row


def takes(product: Product) -> bool:
    """Whether the emitted kernel can run it as it lies: rows of C and rows or columns of B are
    contiguous."""
    rows = product.c.column == 1 or product.n == 1
    return rows and (1 in (product.b.row, product.b.column) or product.n == 1 or product.k == 1)


def oriented(product: Product) -> Product | None:
    """The product or its transpose, whichever the kernel takes; narrow results lie down, for a
    vector along one column is mostly empty. Bits are the same either way."""
    turned = product.turned
    narrow = product.n < 8 <= product.m
    for candidate in (turned, product) if narrow else (product, turned):
        if takes(candidate):
            return candidate
    return None


@functools.cache
def unit(dtype: str) -> CodeUnit:
    """The emitted kernel for f32 or f64 at this machine's width."""
    shape = shape_for(host().width, dtype)
    name = f"gemm_{dtype}"

    def text() -> ModuleText:
        from .gemm_emit import gemm_text

        return ModuleText(gemm_text(name, shape), name)  # in final form: passes gain nothing

    key = unit_key("gemm", files_digest(str(Path(__file__).parent), "gemm_*.py"), repr(shape))
    return CodeUnit(key, (name, f"{name}_pack", f"{name}_packed"), text)


def product_work(
    product: Product, call: int, commit: bool, common: Callable[[int], int]
) -> list[Work]:
    """A piece of work for each index of the batch axes beyond the third, or two: panels of B, then
    the product over them, in room that `common` gives. Spans are the caller's to set."""
    works = []
    for part in _three_axes(merged(product)):
        works += _work(part, common)
    for work in works:
        work.call, work.commit = call, commit
    return works


def _three_axes(product: Product) -> list[Product]:
    if len(product.batch) <= 3:
        return [product]
    itemsize = 4 if product.dtype == "f32" else 8
    parts = []
    for i in range(product.batch[0]):
        inside = [
            x._replace(address=x.address + i * x.batch[0] * itemsize, batch=x.batch[1:])
            for x in (product.a, product.b, product.c)
        ]
        parts += _three_axes(
            product._replace(batch=product.batch[1:], a=inside[0], b=inside[1], c=inside[2])
        )
    return parts


def _work(product: Product, common: Callable[[int], int]) -> list[Work]:
    library = provider()
    if not library.emitted and product.k:
        work = _library_work(product, library)
        if work is not None:
            return [work]
    return _emitted_work(product, common)


def _emitted_work(p: Product, common: Callable[[int], int]) -> list[Work]:
    code = unit(p.dtype)
    shape = shape_for(host().width, p.dtype)
    batch = math.prod(p.batch)
    standing = p.a.column != 1
    before = prepacked(p.m, p.n, p.k, batch)
    if before:
        number, size = panels(p.n, p.k, shape.columns)
        rows, columns = packed_grid(p.m, p.n, standing)
        packed = common(size * WIDTH[p.dtype])
        words = _words(p, rows, columns, packed)
        seconds = p.n * p.k / number * PACK
        pack = [Work(code, code.names[1], words, number, seconds)]
    else:
        rows, columns = grid(p.m, p.n, p.k, shape.columns, standing)
        words, pack = _words(p, rows, columns, 0), []
    cut = cells(p.m, p.n, rows, columns, batch)
    seconds = p.m * p.n * p.k * batch / RATE[p.dtype] / max(cut, 1) + 2e-7
    return [*pack, Work(code, code.names[2 if before else 0], words, cut, seconds)]


def _words(p: Product, rows: int, columns: int, packed: int) -> list[int]:
    """The argument block: see gemm_shape.SLOTS."""
    sizes = _sizes(p)
    words = [p.a.address, p.b.address, p.c.address, p.m, p.n, p.k]
    words += [p.a.row, p.a.column, p.b.row, _across(p), p.c.row, sizes[1], sizes[2]]
    return [*words, *_batch_strides(p), rows, columns, packed]


def _sizes(p: Product) -> tuple[int, ...]:
    return (1,) * (3 - len(p.batch)) + p.batch


def _batch_strides(p: Product) -> list[int]:
    lead = [0] * (3 - len(p.batch))
    return [s for x in (p.a, p.b, p.c) for s in (*lead, *x.batch)]


def _across(p: Product) -> int:
    """B's column stride; the kernel packs along rows where it is 1. A single column is a row."""
    return 1 if p.n == 1 and p.b.row != 1 else p.b.column


ROWS, COLUMNS = 192, 256
"""Tiles of a product by a BLAS: multiples of its micro-kernels, so bits are the same at any
number of threads (45, M3)."""


def _library_work(p: Product, library: Provider) -> Work | None:
    """Tiles by a BLAS; None where it cannot address an operand as it lies."""
    a = _leading(p.a, p.m, p.k)
    b = _leading(p.b, p.k, p.n)
    if a is None or b is None or p.c.column != 1 or p.c.row < p.n:
        return None
    tall = p.m >= p.n
    rows, columns = (ROWS, p.n) if tall else (p.m, COLUMNS)
    sizes = _sizes(p)
    batch = sizes[0] * sizes[1] * sizes[2]
    words = [library.address(p.dtype), p.a.address, p.b.address, p.c.address, p.m, p.n, p.k]
    words += [a[1], b[1], p.c.row, a[0], b[0], rows, columns, sizes[1], sizes[2]]
    words += [*_batch_strides(p), p.a.row, p.b.column]
    code = native_unit("blas", BLAS, ("tiles",), {"T": p.dtype, "LONG": library.long})
    number = cells(p.m, p.n, rows, columns, batch)
    seconds = p.m * p.n * p.k * batch / RATE[p.dtype] / max(number, 1) + 5e-7
    return Work(code, "tiles", words, number, seconds)


def _leading(x: Matrix, rows: int, columns: int) -> tuple[int, int] | None:
    """CBLAS transposition and leading dimension of an operand of rows x columns."""
    if x.column == 1 and x.row >= max(columns, 1):
        return 111, x.row
    if x.row == 1 and x.column >= max(rows, 1):
        return 112, x.column
    return None
