"""Folds over outer rows: partial rows on the fixed grid, and the calls that finish them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..ir.types import Type
from ..records import NamedTuple
from .axes import Shaped
from .build import Output
from .kernel import FOLD_ROWS, Access, Expr, Fold, Kernel, KernelCall, Operand, Place, Store, View

FOLDS: dict[str, Fold] = {
    "reduce-sum": "sum",
    "reduce-max": "max",
    "reduce-min": "min",
    "reduce-product": "product",
    "reduce-any": "any",
    "reduce-all": "all",
}
"""By operation."""
Temporary = Callable[[Type], View]
Cells = Callable[[int, int, int], int]
"""Rows of a cell, of how many outer rows are kept, how many are folded, and elements a row."""


def fixed(kept: int, rows: int, inner: int) -> int:
    return FOLD_ROWS


class Pending(NamedTuple):
    """Partial rows of one fold, and where their sum goes."""

    kind: Fold
    dtype: str
    width: int
    source: int
    target: int
    place: Place
    inner: int


def fold_calls(
    shaped: Shaped, folds: list[Output], temporary: Temporary, cells: Cells
) -> Iterator[KernelCall]:
    """The calls of a built cluster; folds of more than one part are finished by further calls."""
    for call in shaped.calls():
        rows = call.outer[1] * call.outer[2]
        if not folds:
            yield call
            continue
        cell = cells(call.outer[0], rows, call.kernel.inner)
        call.kernel = call.kernel._replace(cell=cell)
        if rows > cell:
            yield from _folded(call, -(-rows // cell), temporary, cells)
        else:
            yield call


def _folded(
    call: KernelCall, parts: int, temporary: Temporary, cells: Cells
) -> Iterator[KernelCall]:
    """Send the folds of a call to partial rows, then add those up."""
    kernel, kept = call.kernel, call.outer[0]
    pending: dict[int, list[Pending]] = {}
    operands, places = list(call.operands), list(call.places)
    for store in kernel.stores:
        if store.fold == "none":
            continue
        access = kernel.accesses[store.access]
        width = kernel.inner if access.inner else 1
        dtype = kernel.operands[access.operand].dtype
        partial = temporary(Type(dtype, (kept, parts, width))).storage
        target, place = call.operands[access.operand], call.places[store.access]
        pending.setdefault(width, []).append(
            Pending(store.fold, dtype, width, partial, target, place, access.inner)
        )
        operands[access.operand] = partial
        places[store.access] = (parts * width, width, 0, 0, 1)
    yield KernelCall(
        kernel, tuple(operands), call.outer, tuple(places), call.scalars, call.commit, call.nodes
    )
    for group in pending.values():
        yield from _finished(group, kept, parts, call.nodes, temporary, cells)


def _finished(
    group: list[Pending],
    kept: int,
    parts: int,
    nodes: tuple[int, ...],
    temporary: Temporary,
    cells: Cells,
) -> Iterator[KernelCall]:
    """Partial rows of one width folded again, in order, until one is left."""
    width = group[0].width
    while parts > (cell := cells(kept, parts, width)):
        more = -(-parts // cell)
        place = (more * width, width, 0, 0, 1)
        inner = 1 if width > 1 else 0
        between = [
            p._replace(
                target=temporary(Type(p.dtype, (kept, more, width))).storage,
                place=place,
                inner=inner,
            )
            for p in group
        ]
        yield _finish(between, kept, parts, nodes, cell)
        group = [p._replace(source=b.target) for p, b in zip(group, between)]
        parts = more
    yield _finish(group, kept, parts, nodes, cell)


def _finish(
    group: list[Pending], kept: int, parts: int, nodes: tuple[int, ...], cell: int
) -> KernelCall:
    """One kernel that folds several partials of one width."""
    count, width = len(group), group[0].width
    inner = 1 if width > 1 else 0
    reads = tuple(Operand(p.dtype) for p in group)
    writes = tuple(Operand(p.dtype, True) for p in group)
    kernel = Kernel(
        width,
        True,
        reads + writes,
        tuple(Access(i, inner) for i in range(count))  # type: ignore[arg-type]
        + tuple(Access(count + i, p.inner) for i, p in enumerate(group)),  # type: ignore[arg-type]
        (),
        tuple(Expr("load", (), p.dtype, access=i) for i, p in enumerate(group)),
        tuple(Store(count + i, i, p.kind) for i, p in enumerate(group)),
        cell,
    )
    read = (parts * width, width, 0, 0, 1)
    return KernelCall(
        kernel,
        tuple(p.source for p in group) + tuple(p.target for p in group),
        (kept, parts, 1),
        (read,) * count + tuple(p.place for p in group),
        nodes=nodes,
    )
