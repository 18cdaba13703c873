"""A matrix product's views as cuBLASLt asks for it: column-major matrices, strided batches.

Row-major out = x y is column-major out^T = y^T x^T, so y is the library's A and x its B. What one
strided batch cannot say is several calls.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from sexpgpu_core.kernels.kernel import View


class Matrix(NamedTuple):
    """Column-major: `rows` of `columns`, `leading` elements between columns, `stride` between
    those of a batch; `turned`: the product takes its transpose."""

    rows: int
    columns: int
    leading: int
    stride: int
    turned: bool = False


class Gemm(NamedTuple):
    """d = epilogue(a b), of shape (d.rows, d.columns), summed over `inner`. `calls`: for each call,
    where y, x, the third operand and the results begin, in elements of their views."""

    dtype: str
    epilogue: str
    inner: int
    batch: int
    a: Matrix
    b: Matrix
    d: Matrix
    auxiliary: int
    calls: tuple[tuple[int, ...], ...]

    @property
    def key(self) -> str:
        """What a choice of algorithm depends on, beside the library and the GPU."""
        shapes = (self.d.rows, self.d.columns, self.inner, self.batch)
        leading = (self.a.leading, self.b.leading, self.d.leading, self.auxiliary)
        turns = f"{'NT'[self.a.turned]}{'NT'[self.b.turned]}"
        numbers = "x".join(map(str, shapes)), "x".join(map(str, leading))
        return " ".join((self.epilogue, self.dtype, turns, *numbers))


class _Part(NamedTuple):
    """A view over the batch's axes, rows and columns; strides of 0 where it is broadcast."""

    batch: tuple[int, ...]
    rows: int
    columns: int


def gemm_of(
    operation: str, inputs: Sequence[View], outputs: Sequence[View], turns: tuple[bool, bool]
) -> Gemm:
    """Of one of the library's dtypes. `turns`: which operands are taken transposed."""
    out = outputs[0]
    *sizes, m, n = out.shape
    inner = inputs[0].shape[-2 if turns[0] else -1]
    x, y = (_part(v, len(sizes), t) for v, t in zip(inputs, turns))
    wide = [v for v in (*inputs[2:], *outputs) if len(v.shape) > 1]
    results = [_part(v, len(sizes), False) for v in wide]
    axes = [a for a, size in enumerate(sizes) if size != 1]
    while axes and _is_rows(axes[-1], m, x, y, results):
        axis = axes.pop()
        x, results = _merged(x, axis, m), [_merged(r, axis, m) for r in results]
        m *= sizes[axis]
    alone = operation != "matmul"
    strided = () if alone else _strided(axes, sizes, (x, y, *results))
    batch, outer = 1, [a for a in axes if a not in strided]
    for axis in strided:
        batch *= sizes[axis]
    step = strided[-1] if strided else None
    d = _written(results[-len(outputs)], m, n, step)
    return Gemm(
        out.dtype,
        operation,
        inner,
        batch,
        _read(y, inner, n, step),
        _read(x, m, inner, step),
        d,
        0 if len(wide) == 1 else d.leading,
        _calls(outer, sizes, inputs, outputs, (x, y), results),
    )


def _part(view: View, rank: int, turned: bool) -> _Part:
    lead = rank - (len(view.shape) - 2)
    own = (0 if n == 1 else s for n, s in zip(view.shape[:-2], view.strides))
    rows, columns = view.strides[-2:]
    if turned:
        rows, columns = columns, rows
    return _Part((0,) * lead + tuple(own), rows, columns)


def _is_rows(axis: int, m: int, x: _Part, y: _Part, results: Sequence[_Part]) -> bool:
    """Whether an axis of the batch only has more rows of x."""
    if y.batch[axis]:
        return False
    return all(m == 1 or p.batch[axis] == m * p.rows for p in (x, *results))


def _merged(part: _Part, axis: int, m: int) -> _Part:
    return part._replace(rows=part.batch[axis]) if m == 1 else part


def _strided(axes: list[int], sizes: Sequence[int], parts: Sequence[_Part]) -> tuple[int, ...]:
    """The innermost axes that one stride an operand runs over."""
    found = axes[-1:]
    for axis in reversed(axes[:-1]):
        inner = found[0]
        if any(p.batch[axis] != p.batch[inner] * sizes[inner] for p in parts):
            break
        found.insert(0, axis)
    return tuple(found)


def _read(part: _Part, rows: int, columns: int, step: int | None) -> Matrix:
    """The transpose of a logical matrix, which is what the product takes of it."""
    stride = 0 if step is None else part.batch[step]
    if part.columns == 1 or columns == 1:
        return Matrix(columns, rows, max(part.rows, columns), stride)
    return Matrix(rows, columns, max(part.columns, rows), stride, True)


def _written(part: _Part, rows: int, columns: int, step: int | None) -> Matrix:
    assert part.columns == 1 or columns == 1, part
    stride = 0 if step is None else part.batch[step]
    return Matrix(columns, rows, max(part.rows, columns), stride)


def _calls(
    outer: list[int],
    sizes: Sequence[int],
    inputs: Sequence[View],
    outputs: Sequence[View],
    products: tuple[_Part, _Part],
    results: list[_Part],
) -> tuple[tuple[int, ...], ...]:
    """Offsets of every view, by call."""
    left = list(results)
    parts: list[_Part | None] = [*products]
    for view in (*inputs[2:], *outputs):
        parts.append(left.pop(0) if len(view.shape) > 1 else None)
    ranges = [range(sizes[a]) for a in outer]
    return tuple(
        tuple(0 if p is None else sum(i * p.batch[a] for i, a in zip(at, outer)) for p in parts)
        for at in itertools.product(*ranges)
    )
