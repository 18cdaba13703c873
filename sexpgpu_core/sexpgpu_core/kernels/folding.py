"""Folds over outer rows: partial rows on the fixed grid, and the calls that finish them in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..ir.types import Type
from .build import Output, Shaped
from .kernel import FOLD_ROWS, Access, Expr, Kernel, KernelCall, Operand, Place, Store, View

Temporary = Callable[[Type], View]


def fold_calls(shaped: Shaped, folds: list[Output], temporary: Temporary) -> Iterator[KernelCall]:
    """The calls of a built cluster; a fold of more than one part is finished by further calls."""
    calls = shaped.calls()
    if not folds:
        yield from calls
        return
    for call in calls:
        yield from _folded(call, temporary)


def _folded(call: KernelCall, temporary: Temporary) -> Iterator[KernelCall]:
    """Send the folds of a call to partial rows, then add those up."""
    kernel = call.kernel
    kept, rows = call.outer[0], call.outer[1] * call.outer[2]
    parts = -(-rows // FOLD_ROWS)
    if parts <= 1:
        yield call
        return
    finals = []
    operands, places = list(call.operands), list(call.places)
    for store in kernel.stores:
        if store.fold == "none":
            continue
        access = kernel.accesses[store.access]
        width = kernel.inner if access.inner else 1
        dtype = kernel.operands[access.operand].dtype
        partial = temporary(Type(dtype, (kept, parts, width)))
        finals.append(
            (
                store.fold,
                dtype,
                width,
                partial,
                call.operands[access.operand],
                places[store.access],
                access.inner,
            )
        )
        operands[access.operand] = partial.storage
        places[store.access] = (parts * width, width, 0, 0, 1)
    yield KernelCall(
        kernel, tuple(operands), call.outer, tuple(places), call.scalars, call.commit, call.nodes
    )
    for kind, dtype, width, partial, storage, place, inner in finals:
        yield from _finish(
            kind, dtype, width, kept, parts, partial, storage, place, inner, call, temporary
        )


def _finish(
    kind: str,
    dtype: str,
    width: int,
    kept: int,
    parts: int,
    partial: View,
    storage: int,
    place: Place,
    inner: int,
    call: KernelCall,
    temporary: Temporary,
) -> Iterator[KernelCall]:
    kernel = Kernel(
        width,
        True,
        (Operand(dtype), Operand(dtype, True)),
        (Access(0, 1 if inner else 0), Access(1, inner)),  # type: ignore[arg-type]
        (),
        (Expr("load", (), dtype, access=0),),
        (Store(1, 0, kind),),  # type: ignore[arg-type]
    )
    source, step = partial, width
    while parts > 1:
        more = -(-parts // FOLD_ROWS)
        read = (parts * step, step, 0, 0, 0)
        if more == 1:
            yield KernelCall(
                kernel, (source.storage, storage), (kept, parts, 1), (read, place), nodes=call.nodes
            )
            return
        target = temporary(Type(dtype, (kept, more, width)))
        middle = Kernel(
            width,
            True,
            kernel.operands,
            (Access(0, 1 if inner else 0), Access(1, 1 if inner else 0)),
            (),
            kernel.expressions,
            kernel.stores,
        )
        write = (more * width, width, 0, 0, 0)
        yield KernelCall(
            middle,
            (source.storage, target.storage),
            (kept, parts, 1),
            (read, write),
            nodes=call.nodes,
        )
        source, parts = target, more
